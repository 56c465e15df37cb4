"""Model files of earlier releases still load: one of each kind is kept in tests/old_files."""

import json
import pathlib
import warnings

import numpy as np
import pytest

import minprobflow as mpf

FOLDER = pathlib.Path(__file__).with_name("old_files")
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def test_all_are_looked_at():
    assert {path.name for path in FOLDER.glob("*.safetensors")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_file_gives_the_same_free_energies(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # version 1 is announced: test_files.py
        model = mpf.load(FOLDER / name)
    np.testing.assert_allclose(model.free_energy(EXPECTED[name]["states"]), EXPECTED[name]["free_energies"], rtol=1e-5)
