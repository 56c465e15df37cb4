"""Options of data sets mean the same as Python values and as text from a shell."""

import subprocess
import sys

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.data import Dataset, DatasetSpec, datasets, options
from minprobflow.data.base import REGISTRY

BITS = (np.random.default_rng(0).random((40, 6)) < 0.4).astype(np.uint8)


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", BITS)


@pytest.mark.parametrize(
    ("value", "grey"),
    [(word, False) for word in (False, "False", "false", "no", "off", "0", 0, '"False"', "'no'", np.False_)]
    + [(word, True) for word in (True, "True", "yes", "on", "1", 1, '"true"', np.True_)],
)
def test_every_spelling_of_true_and_false_is_understood(value, grey):
    assert mpf.load_dataset("digits", grey=value).train.dtype == (np.float32 if grey else np.uint8)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("digits", {"grey": "maybe"}, "option grey='maybe' of data set 'digits': expected true or false"),
        ("digits", {"grey": 2}, "expected true or false"),
        ("digits", {"grey": None}, "expected true or false"),
        ("digits", {"grye": True}, "data set 'digits' has no option 'grye' .did you mean 'grey'"),
        ("nltcs", {"grey": True}, "it has none"),
        ("mnist", {"seed": -1}, r"option seed=-1 of data set 'mnist': expected a whole number from 0 to 2\*\*63 - 1"),
        ("mnist", {"binarise": 1}, "expected threshold or stochastic"),
        ("fashion-mnist", {"binarise": "sometimes"}, "expected threshold or stochastic"),
        ("caltech101-silhouettes", {"polarity": "up"}, "expected original or inverted"),
        ("rows.npy", {"seed": -1}, r"option seed=-1 of rows\.npy: expected a whole number from 0"),
        ("rows.npy", {"seed": "-1"}, "whole number from 0"),
        ("rows.npy", {"seed": 2**70}, r"to 2\*\*63 - 1"),
        ("rows.npy", {"seed": 10**5000}, "seed=int of"),
        ("rows.npy", {"seed": 1.5}, "seed=1.5.*whole number"),
        ("rows.npy", {"seed": True}, "whole number"),
        ("rows.npy", {"split": 0.8}, "split=0.8 of .*expected 3 finite numbers, such as 0.8,0.1,0.1"),
        ("rows.npy", {"split": "a"}, "3 finite numbers"),
        ("rows.npy", {"split": "a,b,c"}, "3 finite numbers"),
        ("rows.npy", {"split": (0.5, 0.5)}, "3 finite numbers"),
        ("rows.npy", {"split": [np.nan] * 3}, "3 finite numbers"),
        ("rows.npy", {"split": (-0.5, 1, 0.5)}, "add up to 1"),
        ("rows.npy", {"split": [1e-9, 0.5, 0.5]}, "leaves none of the 40 rows of rows.npy for training"),
        ("rows.npy", {"threshold": "a"}, "threshold='a'.*finite number or none"),
        ("rows.npy", {"threshold": np.nan}, "finite number"),
        ("rows.npy", {"threshold": "inf"}, "finite number"),
        ("rows.npy", {"threshold": True}, "finite number"),
        ("rows.npy", {"labels": 3}, "labels=3 of .*expected first, last or none"),
        ("rows.npy", {"labels": "middle"}, "first, last or none"),
        ("rows.npy", {"real": "sometimes"}, "true or false"),
    ],
)
def test_wrong_values_are_refused_with_what_was_expected(name, options, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset(name, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ({"split": "0.6,0.2,0.2"}, {"split": (0.6, 0.2, 0.2)}),
        ({"split": "[0.6, 0.2, 0.2]"}, {"split": (0.6, 0.2, 0.2)}),
        ({"split": np.asarray([0.6, 0.2, 0.2])}, {"split": (0.6, 0.2, 0.2)}),
        ({"seed": "7"}, {"seed": 7}),
        ({"seed": 7.0}, {"seed": np.int64(7)}),
        ({"threshold": "0.5", "real": "no"}, {"threshold": 0.5}),
        ({"labels": "'first'"}, {"labels": "first"}),
        ({"labels": "none", "threshold": "null"}, {"labels": None, "threshold": None}),
    ],
)
def test_text_gives_the_same_data_as_values(text, value):
    found, expected = mpf.load_dataset("rows.npy", **text), mpf.load_dataset("rows.npy", **value)
    assert found.source == expected.source
    for part in ("train", "valid", "test"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_options_are_listed_with_type_default_and_meaning():
    listed = {option.name: option for option in options()}
    assert list(listed)[:8] == ["split", "seed", "threshold", "real", "whole", "signs", "labels", "alphabet"]
    assert list(listed)[8:] == ["drop", "missing", "valid", "test"]
    assert listed["split"].default == (0.8, 0.1, 0.1) and listed["real"].type == "true or false"
    assert listed["labels"][1:3] == ("first, last or none", None)
    assert options("rows.npy") == options()
    for name in datasets():
        assert all(option.meaning and "\n" not in option.meaning for option in options(name)), name
    assert [option.name for option in options("caltech101-silhouettes")] == ["polarity", "orientation"]
    assert options("nltcs") == []
    with pytest.raises(mpf.InputError, match="did you mean 'mnist'"):
        options("mnits")


def test_listing_options_does_not_import_jax():
    code = "import sys; from minprobflow.data import options; options('mnist'); options(); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_plug_in_declares_its_options_by_annotation(monkeypatch):
    def load(size: int, scale: float = 1.0, other=None) -> Dataset:
        """Blocks.

        Args:
            size: how many
                blocks.
            scale: of each.
        """
        assert (type(size), type(scale)) == (int, float)
        return Dataset("blocks", np.full((size, 1), scale), BITS, BITS, None, str(other), {}, None)

    monkeypatch.setitem(REGISTRY, "blocks", DatasetSpec("blocks", "", (1, 1, 1), 1, (), load))
    made = mpf.load_dataset("blocks", size="3", scale="2", other=[1])
    assert made.train.tolist() == [[2.0]] * 3 and made.source == "[1]"
    assert [option[1:] for option in options("blocks")][:2] == [
        ("a whole number", None, "how many blocks."),
        ("a finite number", 1.0, "of each."),
    ]
