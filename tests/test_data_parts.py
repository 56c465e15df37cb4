"""Tables in several files, frames and Parquet files that could be misread, and names of columns."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_data_tables import FRAME, ROWS, WORDS, N

import minprobflow as mpf
from minprobflow.columns import ColumnNames, column_kinds
from minprobflow.data import csv_text, read_rows

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# several files


def test_each_part_may_have_a_file_of_its_own():
    parts = FRAME[:40], FRAME[40:50][FRAME.columns[::-1]], FRAME[50:]
    for name, part in zip(("train.csv", "valid.csv", "test.csv"), parts, strict=True):
        part.to_csv(name)
    for data in (
        mpf.load_dataset("train.csv", valid="valid.csv", test=Path("test.csv")),
        mpf.load_dataset(parts[0], valid=pl.from_pandas(parts[1]), test="test.csv"),
    ):
        np.testing.assert_array_equal(data.train, ROWS[:40][np.random.default_rng(0).permutation(40)])
        np.testing.assert_array_equal(data.valid, ROWS[40:50])
        np.testing.assert_array_equal(data.test, ROWS[50:])
        assert data.words == WORDS
    some = mpf.load_dataset("train.csv", test="test.csv", split=(0.6, 0.2, 0.2))
    assert [len(part) for part in some[1:4]] == [30, 10, 10]


def test_words_have_one_number_in_all_parts():
    data = mpf.load_dataset(pd.DataFrame({"a": ["x", "z"] * 4}), valid=pd.DataFrame({"a": ["y"]}), test=pd.DataFrame({"a": ["z"]}))
    assert data.words == (("x", "y", "z"),) and data.valid.tolist() == [[1]] and data.test.tolist() == [[2]]


def test_labels_are_taken_from_every_part():
    frame = FRAME[["owner", "flag", "colour"]]
    data = mpf.load_dataset(frame[:40].assign(id=3), valid=frame[40:50], test=frame[50:], labels="last", drop="id")
    np.testing.assert_array_equal(data.labels.valid, ROWS[40:50, 3])
    np.testing.assert_array_equal(data.labels.test, ROWS[50:, 3])
    np.testing.assert_array_equal(data.test, ROWS[50:][:, [0, 4]])
    with pytest.raises(mpf.InputError, match="labels are words in some of train, valid and test"):
        mpf.load_dataset(frame, valid=frame.assign(colour=2), labels="last")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (FRAME.rename(columns={"sex": "gender"}), "it lacks 'sex', and has 'gender', which the pandas frame does not have"),
        (FRAME.assign(age=3), r"'age' is there.*drop"),
        (FRAME.assign(owner=1), r"column 0 \('owner'\) holds numbers in the pandas frame of valid, but words in the pandas frame:"),
        (FRAME.assign(owner=None), r"column 0 \('owner'\) has no value in any row: leave it out with drop='owner'"),
    ],
)
def test_parts_with_other_columns_are_refused(other, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset(FRAME, valid=other)


def test_parts_of_other_width_are_refused():
    np.save("a.npy", ROWS[:, :2])
    np.save("b.npy", ROWS[:, :3])
    with pytest.raises(mpf.InputError, match=r"b\.npy has 3 columns, but a\.npy has 2"):
        mpf.load_dataset("a.npy", test="b.npy", whole=True)


def test_one_npz_may_hold_the_parts():
    bits = ROWS[:, [0, 1, 2, 4]]
    np.savez("parts.npz", train=bits[:40], valid=bits[40:50], test=bits[50:])
    data = mpf.load_dataset("parts.npz")
    assert sorted(map(tuple, data.train)) == sorted(map(tuple, bits[:40])) and data.name == "parts.npz"
    np.testing.assert_array_equal(data.valid, bits[40:50])
    np.testing.assert_array_equal(data.test, bits[50:])
    assert len(mpf.load_dataset("parts.npz:test").train) == 8
    with pytest.raises(mpf.InputError, match="has an array 'test' of its own"):
        mpf.load_dataset("parts.npz", test="parts.npz:valid")
    np.savez("two.npz", train=bits[:40], test=bits[40:])
    assert [len(part) for part in mpf.load_dataset("two.npz")[1:4]] == [36, 4, 20]
    np.savez("more.npz", train=bits, test=bits, weights=bits)
    with pytest.raises(mpf.InputError, match="holds the arrays train, test, weights: name one"):
        mpf.load_dataset("more.npz")


# frames and Parquet


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), r"column 5 \('day'\) holds datetime64.* values: turn it into numbers or words"),
        (FRAME.assign(box=[[1]] * N), r"\('box'\) has a list at row 0"),
        (FRAME.assign(key=2**60), r"\('key'\) has whole numbers beyond 2\*\*53"),
        (FRAME.assign(key=[2**70] * N), r"\('key'\) has a whole number beyond 2\*\*53 at row 0"),
        (FRAME.assign(mix=["a", 1] * (N // 2)), r"\('mix'\) holds numbers and words, such as 1 at row 1"),
        (FRAME.assign(gap=[None] + [1] * (N - 1)), r"1 missing value .*at row 0, column 5 \('gap'\)"),
        (FRAME.assign(gap=pd.array([pd.NA] + [True] * (N - 1), dtype="boolean")), r"1 missing value"),
        (pl.LazyFrame({"a": [1]}), r"such as frame\.collect\(\)"),
        (FRAME[:0], "without values"),
        (pl.DataFrame({"a": [0, None, 1]}), r"1 missing value \(33%\)"),
    ],
)
def test_frames_that_could_be_misread_are_refused(frame, message):
    with warnings.catch_warnings(), pytest.raises(mpf.InputError, match=message):
        warnings.simplefilter("error")
        mpf.load_dataset(frame)


@pytest.mark.parametrize("library", [pd, pl])
def test_functions_take_frames_of_numbers_and_answers(library):
    model = mpf.BernoulliRBM.init(0, 3, 2)
    frame = library.DataFrame({"a": ["yes", "NO"], "b": [True, False], "c": [1, 0]})
    expected = model.space.check(np.asarray([[1, 1, 1], [0, 0, 0]]))
    np.testing.assert_array_equal(model.space.check(frame), expected)
    nullable = frame.astype({"c": "Int64"}) if library is pd else frame
    np.testing.assert_array_equal(model.space.check(nullable), expected)
    words = library.DataFrame({"a": ["x", "z"], "b": [True, False], "c": [1, 0]})
    with pytest.raises(mpf.InputError, match=r"column 0 \('a'\) holds words such as 'x': pass the frame to mpf\.load_dataset"):
        model.space.check(words)
    gap = library.DataFrame({"a": ["yes", None], "b": [True, False], "c": [1, 0]})
    with pytest.raises(mpf.InputError, match="1 missing value"):
        model.space.check(gap)


def test_parquet_without_pyarrow_says_what_to_install():
    FRAME.to_parquet("t.parquet")
    code = "import sys; sys.modules['pyarrow'] = None\nimport minprobflow as mpf; mpf.load_dataset('t.parquet')"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "InputError: t.parquet is a Parquet file, which needs pyarrow: pip install 'minprobflow[parquet]'" in failed.stderr


def test_parquet_is_capped(monkeypatch):
    pd.DataFrame({"a": np.zeros(1_000_000, np.int8), "b": 1}).to_parquet("t.parquet")
    assert Path("t.parquet").stat().st_size < 100_000
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", "1MB")
    with pytest.raises(mpf.InputError, match=r"t\.parquet unpacks to 15\.3 MiB, and the cap is"):
        mpf.load_dataset("t.parquet")
    Path("t.parquet").write_bytes(Path("t.parquet").read_bytes()[:-20])
    with pytest.raises(mpf.InputError, match=r"t\.parquet cannot be read"):
        mpf.load_dataset("t.parquet")


def test_reading_frames_and_text_imports_neither_pandas_nor_polars():
    Path("t.csv").write_text("a,b\n0,yes\n1,no\n")
    code = "import sys, minprobflow as mpf; mpf.load_dataset('t.csv'); assert not {'pandas', 'polars', 'pyarrow', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# names


def test_named_columns_are_no_image():
    bits = (RNG.random((N, 4)) < 0.5).astype(int)
    assert mpf.load_dataset(pd.DataFrame(bits, columns=[*"abcd"])).image_shape is None
    assert mpf.load_dataset(pd.DataFrame(bits, columns=[f"pixel{i}" for i in range(4)])).image_shape == (2, 2)
    assert mpf.load_dataset(pd.DataFrame(bits, columns=[f"q{i}" for i in (1, 2, 4, 8)])).image_shape is None


COLUMNS = ColumnNames(("owner", "sex", "n"), (("no", "yes"), ("female", "male"), ()))


def test_rows_as_csv_are_read_back_as_they_were():
    rows = np.asarray([[1, 0, 2.5], [0, 1, 7]])
    Path("t.csv").write_text(csv_text(rows, COLUMNS))
    assert Path("t.csv").read_text() == '"owner","sex","n"\n"yes","female",2.5\n"no","male",7\n'
    np.testing.assert_array_equal(read_rows("t.csv", columns=COLUMNS), rows)
    with pytest.raises(mpf.InputError, match="values in column 0 without a word"):
        csv_text(rows + 1, COLUMNS)
    assert csv_text(np.asarray([[1, 0]]), None) == "1,0\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("n,sex,owner\n3,male,YES\n", [[1, 1, 3]]),  # by name
        (",owner,sex,n,age\n0,1,male,3,50\n1,0,male,2,60\n", [[1, 1, 3], [0, 1, 2]]),  # an index; 0 and 1 for answers; a column too many
        ("yes,male,3\nno,male,3\n", [[1, 1, 3], [0, 1, 3]]),  # no header
        ("1,1,3\n", [[1, 1, 3]]),
    ],
)
def test_rows_to_evaluate_on_are_matched_with_the_model(text, rows):
    Path("t.csv").write_text(text)
    np.testing.assert_array_equal(read_rows("t.csv", columns=COLUMNS), rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("owner,gender,n\nyes,male,3\n", r"are not those of the model: it lacks 'sex', and has 'gender', which the model does not have"),
        ("owner,sex,n\nyes,other,3\n", r"column 1 \('sex'\) has 'other', but the model knows only 'female', 'male'"),
        ("owner,sex,n\nyes,1,3\n", r"column 1 \('sex'\) holds numbers, but the words 'female', 'male' in the model"),
        ("owner,sex,n\nyes,male,red\n", r"column 2 \('n'\) holds words, but numbers in the model"),
        ("owner,sex,n\nyes,,3\n", r"1 missing value .*: drop those rows, or fill them in"),
    ],
)
def test_rows_with_other_columns_or_words_are_refused(text, message):
    Path("t.csv").write_text(text)
    with pytest.raises(mpf.InputError, match=message):
        read_rows("t.csv", columns=COLUMNS)


def test_kinds_follow_the_words_where_a_category_is_not_in_the_rows():
    kinds = column_kinds(np.asarray([[0, 1], [1, 0]]), (("a", "b", "c"), ()))
    assert [tuple(kind) for kind in kinds] == [("categories", 3), ("binary", 0)]
