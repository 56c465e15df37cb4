"""Users' files: nothing in them is misread, and messages fit what they hold."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.data.text import parse_text

RNG = np.random.default_rng(0)
BITS = (RNG.random((40, 6)) < 0.4).astype(float)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(rows, name="rows.csv"):
    np.savetxt(name, rows, delimiter=",", fmt="%g")
    return name


def with_value(value, row=3, column=2):
    rows = BITS.copy()
    rows[row, column] = value
    return rows


# missing and infinite values


@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}, {"real": True}])
def test_missing_values_never_become_numbers(options):
    rows = with_value(np.nan)
    rows[9, 1] = np.nan
    with pytest.raises(
        mpf.InputError, match=r"2 missing values \(NaN\), the first at row 3, column 2: drop those rows.*complete rows"
    ) as caught:
        mpf.load_dataset(saved(rows), **options)
    assert "threshold" not in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}, {"real": True}])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_never_become_numbers(value, options):
    with pytest.raises(mpf.InputError, match=r"has -?inf at row 3, column 2"):
        mpf.load_dataset(saved(with_value(value)), **options)


def test_real_numbers_beyond_single_precision_are_refused():
    with pytest.raises(mpf.InputError, match=r"1e\+300 at row 3, column 2, which single precision does not hold"):
        mpf.load_dataset(saved(with_value(1e300)), real=True)


# text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,1\n0,1#,1\n", "line 2 has a # after its first character: values after it would be lost"),
        ("# rows\n\n0,1,1\n0,1,1 # two\n", "line 4 has a #"),
        ("q0,q1\n0,1\n1,1\n", r"line 1 looks like a header \('q0', 'q1'\): delete it"),
        (",q0,q1\n0,0,1\n1,1,1\n", r"line 1 looks like a header \('q0', 'q1'\)"),
        ("# rows\nq0 q1\n0 1\n1 1\n", "line 2 looks like a header"),
        ("0,1,1\n0,,1\n,,1\n", r"3 missing values \(empty cells\), the first on line 2, cell 2: drop those rows"),
        ("0\t1\t1\n0\t\t1\n1\t1\t1\n", r"1 missing value \(empty cells\), the first on line 2, cell 2"),
        ("0,1,1\n0,yes,1\n", "line 2, cell 2 is 'yes'"),
        ("0,1,1\n\n0,1\n", "line 3 has 2 values, but line 1 has 3"),
        ("0;1\n1;1\n", "line 1 looks like a header|line 1, cell 1 is '0;1'"),
        ("# nothing\n\n", "empty"),
        ("010\n01\n", "different lengths"),
    ],
)
def test_text_that_could_be_misread_is_refused_by_line(text, message):
    with pytest.raises(mpf.InputError, match=message):
        parse_text(text.encode(), "rows.csv")


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,0\n",
        "# a, comment\n0 1\n1 0\n",
        "\ufeff0,1\r\n1,0\r\n",
        "  # late\n0\t1\n1\t0",
        "01\n# bits\n10\n",
        "0,1\r1,0\r",
        " 0, 1\n 1, 0\n",
    ],
)
def test_comment_lines_and_line_ends_do_not_change_the_rows(text):
    np.testing.assert_array_equal(parse_text(text.encode(), "rows.csv"), [[0, 1], [1, 0]])


# values that are not bits: what they look like decides the advice


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            np.insert(BITS, 0, np.arange(40), 1),
            r"column 0 counts up \(0, 1, 2, \.\.\.\) and is probably an index.*--data-option labels=first",
        ),
        (np.insert(BITS, 6, np.arange(1, 41), 1), r"column 6 counts up \(1, 2, 3, \.\.\.\).*labels='last'"),
        (np.insert(BITS, 3, np.arange(40) * 7 + 5, 1), r"column 3 counts up \(5, 12, 19, \.\.\.\).*cut it from the file"),
        (RNG.integers(256, size=(40, 6)), r"threshold=127\.5 \(on the command line: --data-option threshold=127\.5\).*real=true\)"),
        (RNG.random((40, 6)), r"threshold=0\.5 \(on the command line: --data-option threshold=0\.5\)"),
        (BITS * 16, r"threshold=8 \(on the command line: --data-option threshold=8\)"),
        (2 * BITS - 1, r"holds -1 and 1: pass threshold=0 \(on the command line: --data-option threshold=0\)"),
        (
            np.insert(BITS, 6, RNG.integers(2, 10, 40), 1),
            r"column 6, the only column with such values: if it holds labels, pass labels='last'",
        ),
        (RNG.normal(size=(40, 6)), r"real=True \(on the command line: --data-option real=true\)"),
        (np.column_stack([RNG.integers(18, 90, (40, 1)), BITS, 1e4 * RNG.random((40, 1))]), "turn each column into 0 and 1"),
    ],
)
def test_the_advice_fits_the_values(rows, message):
    with pytest.raises(mpf.InputError, match=message) as caught:
        mpf.load_dataset(saved(rows))
    if "threshold=" not in message:
        assert "threshold=" not in str(caught.value)


def test_the_advice_for_an_index_works():
    name = saved(np.insert(BITS, 0, np.arange(40), 1))
    with pytest.raises(mpf.InputError, match="probably an index"):
        mpf.load_dataset(name, threshold=0.5)  # else the index would become a column of ones
    data = mpf.load_dataset(name, labels="first")
    np.testing.assert_array_equal(data.train, BITS[data.labels.train])


# names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x" * 5000, r"unknown data set 'xxx.*5,002 characters"),
        ("x/" + "x" * 5000, "not a file name|no file"),
        ("a\0b.npy", r"a\\x00b\.npy"),
        (".", "is a folder: give the path of a file"),
        (Path("digits"), "there is no file digits"),
        (" ", "unknown data set ' '"),
    ],
)
def test_names_that_lead_nowhere_are_refused(name, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset(name)


@pytest.mark.parametrize("name", [None, 3, b"rows.npy", ["rows.npy"]])
def test_what_is_not_a_name_is_refused(name):
    with pytest.raises(mpf.InputError, match=r"pass text or a pathlib\.Path"):
        inspect.unwrap(mpf.load_dataset)(name)  # as users call it: without the type checks that tests run with


def test_a_path_object_is_a_file():
    data = mpf.load_dataset(Path(saved(BITS)), seed=2)
    np.testing.assert_array_equal(data.train, mpf.load_dataset("rows.csv", seed=2).train)
    assert data.name == "rows.csv"
