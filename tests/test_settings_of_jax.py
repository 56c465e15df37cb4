"""The library gives the same bits under JAX's settings."""

import os
import pathlib
import subprocess
import sys

import pytest
import settings_of_jax

import minprobflow as mpf

SCRIPT = pathlib.Path(__file__).parent / "settings_of_jax.py"
SRC = str(pathlib.Path(mpf.__file__).parents[1])


def digests(**settings):
    environment = {**os.environ, "PYTHONPATH": SRC, **settings}
    out = subprocess.run([sys.executable, str(SCRIPT)], check=True, env=environment, capture_output=True, text=True, timeout=600)
    return out.stdout.splitlines()


@pytest.fixture(scope="module")
def plain():
    lines = list(settings_of_jax.lines())  # here, not in another process: what other tests have compiled need not be compiled again
    assert len(lines) == 16
    assert not [line for line in lines if "Error" in line]
    return lines


def test_neither_another_generator_nor_strict_ranks_change_a_bit(plain):
    assert digests(JAX_DEFAULT_PRNG_IMPL="rbg", JAX_NUMPY_RANK_PROMOTION="raise") == plain
