"""Tables as people have them: quotes, words, an index, frames, Parquet, several files. Every spelling of a table gives the same rows."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import minprobflow as mpf
from minprobflow.columns import vocabulary
from minprobflow.data import describe
from minprobflow.data.files import read_cells, read_table
from minprobflow.data.text import parse_text

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "owner": RNG.choice(["Yes", "no"], N),
        "a, b": RNG.integers(0, 2, N),
        "sex": RNG.choice(["male", "female"], N),
        "colour": RNG.choice(["red", "green", "dark blue"], N),
        "flag": RNG.integers(0, 2, N).astype(bool),
    }
)
WORDS = (("no", "Yes"), (), ("female", "male"), ("dark blue", "green", "red"), ("False", "True"))
ROWS = np.column_stack(
    [
        FRAME["owner"] == "Yes",
        FRAME["a, b"],
        FRAME["sex"] == "male",
        FRAME["colour"].map({"dark blue": 0, "green": 1, "red": 2}),
        FRAME["flag"],
    ]
).astype(np.uint8)
ALL = {"split": (1.0, 0.0, 0.0)}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def in_order(data):
    """The rows of a data set in the order of its file."""
    rows = np.empty_like(data.train)
    rows[np.random.default_rng(0).permutation(len(rows))] = data.train
    return rows


def written(how):
    if how in ("pandas", "nullable", "categories", "objects"):
        types = {"nullable": {"a, b": "Int8", "flag": "boolean"}, "categories": dict.fromkeys(("owner", "sex", "colour"), "category")}
        return FRAME.astype(object) if how == "objects" else FRAME.astype(types.get(how, {}))
    if how in ("polars", "arrow"):
        frame = pl.from_pandas(FRAME)
        return frame if how == "polars" else frame.to_arrow()
    name = f"table.{'parquet' if 'parquet' in how else 'tsv' if how == 'tabs' else 'csv'}"
    if how == "parquet with an index":
        FRAME.set_index(np.random.default_rng(1).permutation(N)).to_parquet(name)
    elif how == "parquet":
        FRAME.to_parquet(name)
    elif how == "UTF-16":
        FRAME.to_csv(name, sep="\t", index=False, encoding="utf-16")
    else:
        options = {"semicolons": {"sep": ";"}, "tabs": {"sep": "\t"}, "quotes": {"quoting": 1}, "quoted words": {"quoting": 2}}.get(how, {})
        FRAME.to_csv(name, index=how == "an index", **options)
    return name


HOW = ["plain", "an index", "semicolons", "tabs", "quotes", "quoted words", "UTF-16", "parquet", "parquet with an index"]
HOW += ["pandas", "nullable", "categories", "objects", "polars", "arrow"]


@pytest.mark.parametrize("how", HOW)
def test_every_spelling_gives_the_same_rows_names_and_words(how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = mpf.load_dataset(written(how), **ALL)
    np.testing.assert_array_equal(in_order(data), ROWS)
    assert data.columns == tuple(FRAME.columns) and data.words == WORDS and data.train.dtype == np.uint8
    assert ("left out" in str(data.notes)) == ("index" in how)
    assert "sex: female = 0, male = 1" in data.notes and not any("owner" in note for note in data.notes)


def test_what_was_understood_is_said():
    lines = describe(mpf.load_dataset(FRAME, split=(0.5, 0.25, 0.25)))
    assert lines[0] == "60 rows (30 train, 15 valid, 15 test), 5 columns: 4 binary, 1 of categories (3 values)"
    assert lines[1] == "columns 'owner', 'a, b', 'sex', 'colour', 'flag'" and "colour: dark blue = 0, green = 1, red = 2" in lines
    bits = FRAME[["owner", "a, b"]].assign(always=1)
    assert describe(mpf.load_dataset(bits))[0].endswith("3 binary columns; 1 has one value in all training rows")
    real = pd.DataFrame({"x": RNG.normal(size=N), "n": RNG.integers(0, 4, N), "b": RNG.integers(0, 2, N)})
    data = mpf.load_dataset(real, real=True)
    assert describe(data)[0].endswith("3 columns of real numbers")
    assert describe(data, several_kinds=True)[0].endswith("3 columns: 1 binary, 1 of categories (4 values), 1 of real numbers")


# words


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["yes", "no"], ("no", "yes")),
        (["YES", "No", "yes", "yes"], ("No", "yes")),  # the commonest spelling
        (["TRUE", "TRUE"], ("FALSE", "TRUE")),
        (["No"], ("No", "Yes")),
        (["T", "F"], ("F", "T")),
        (["y", "n"], ("n", "y")),
        (["on", "Off"], ("Off", "on")),
        (["f", "m"], ("f", "m")),
        (["zebra", "Apple"], ("Apple", "zebra")),
        (["yes", "no", "maybe"], ("maybe", "no", "yes")),
        (["c", "t", "y", "a"], ("a", "c", "t", "y")),
    ],
)
def test_words_have_the_numbers_that_one_expects(cells, words):
    assert vocabulary(cells, "column 0", "") == words


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["yes", "n"], "spells answers in several ways"),
        (["true", "no"], "several ways"),
        (["yes", "y", "maybe"], "several ways"),
        (["Male", "male", "female"], "'Male' and 'male': spell a word in one way"),
        (["f", "f"], "'f' in every row, which says nothing: WAY OUT"),
        ([f"name {i % 33}" for i in range(99)], "33 different words in 99 rows .*WAY OUT, or sort them"),
        ([f"name {i}" for i in range(10)], "10 different words in 10 rows"),
    ],
)
def test_words_that_could_be_misread_are_refused(cells, message):
    with pytest.raises(mpf.InputError, match=message):
        vocabulary(cells, "column 0", "WAY OUT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n0,yes\n1,1\n1,no\n0,no\n", r"line 3, cell 2 \('b'\) is '1': most cells of its column are words"),
        ("a,b\n0,1\n1,0x1\n", "is '0x1': write numbers only"),
        ('a,b\n0,"1,000"\n1,"2,000"\n', "is '1,000': write numbers only"),
        ("a;b\n0;1.000,5\n", "is '1.000,5'"),
        ("a,b\n0,５\n", "is '５'"),  # noqa: RUF001
        ("a,b\n0,12%\n1,30%\n", "is '12%'"),
        ('a,b\n0,"x\n1,"y\n', "line 2 has a quote that does not end there"),
        ("red small\nblue large\nred large\n", "words may hold spaces"),
        ("year,2020\nfoo,1\nbar,2\nfoo,3\n", "line 1 may be a header or an example"),
        ('"1","0"\n"5","7"\n', "line 1 holds numbers in quotes, as the lines below do"),
        ("red,owner\nred,0\nblue,1\n", "line 1 may be a header or an example: some of its words are values"),
        ("a,b\n0,flat #3\n1,flat #4\n", "line 2 has a # after its first character"),
    ],
)
def test_text_that_could_be_misread_is_refused(text, message):
    with pytest.raises(mpf.InputError, match=message):
        parse_text(text.encode(), "t.csv")


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("yes,no\nno,yes\nno,no\n", None, [[1, 0], [0, 1], [0, 0]]),  # no header: its words are values
        ("owner,car\nno,yes\nyes,no\n", ("owner", "car"), [[0, 1], [1, 0]]),
        ('"1","0"\n"0","1"\n"1","1"\n', None, [[1, 0], [0, 1], [1, 1]]),  # quoted throughout, and no header
        ('"7","0"\n1,0\n0,1\n', ("7", "0"), [[1, 0], [0, 1]]),
        ('"2020","2021"\n"no","yes"\n"yes","no"\n', ("2020", "2021"), [[0, 1], [1, 0]]),
        ("yes no\nno yes\n", None, [[1, 0], [0, 1]]),
        ("a\tb c\nyes\tdark blue\nno\tred\n", ("a", "b c"), [[1, 0], [0, 1]]),
        ('a,b\n"flat #3",yes\n"flat #4",no\n', ("a", "b"), [[0, 1], [1, 0]]),
        ("answer\nyes\nno\n", ("answer",), [[1], [0]]),
        ("true,TRUE\nFalse,true\n", None, [[1, 1], [0, 1]]),
    ],
)
def test_headers_of_words_are_told_from_examples(text, names, rows):
    Path("t.csv").write_text(text)
    data = mpf.load_dataset("t.csv", **ALL)
    assert data.columns == names
    np.testing.assert_array_equal(in_order(data), rows)


def test_an_answer_below_its_own_word_is_an_example():
    with pytest.raises(mpf.InputError, match=r"t\.csv has a header"):
        parse_text(b"yes,no\n", "t.csv")


def test_an_error_of_a_spreadsheet_is_missing_and_no_comment():
    Path("t.csv").write_text("a;b\n1;0\n#N/A;1\n0;#DIV/0!\n")
    assert read_cells("t.csv").numbers.shape == (3, 2)
    with pytest.raises(mpf.InputError, match=r"2 missing values \(33%\) in 2 of 3 rows, .*the first on line 3, cell 1 \('a'\)"):
        mpf.load_dataset("t.csv")


def test_a_separator_at_the_end_of_each_line_is_an_empty_column():
    Path("t.csv").write_text("a;b;\n1;0;\n0;1;\n")
    with pytest.raises(mpf.InputError, match=r"column 2 has no value in any row: leave it out with drop='2'"):
        mpf.load_dataset("t.csv")
    assert mpf.load_dataset("t.csv", drop="2").columns == ("a", "b")


def test_text_that_is_not_utf8_says_how_to_save_it():
    Path("t.csv").write_bytes("größe,b\n0,1\n".encode("cp1252"))
    with pytest.raises(mpf.InputError, match=r"t\.csv is not UTF-8 text .* save it as UTF-8"):
        mpf.load_dataset("t.csv")


def test_words_are_no_numbers_for_who_wants_numbers():
    Path("t.csv").write_text("a,b\n0,yes\n1,no\n")
    with pytest.raises(mpf.InputError, match=r"t.csv holds words, such as 'yes' in column 1 \('b'\)"):
        read_table("t.csv")


# options


@pytest.mark.parametrize("blank", ["", "NA", "nan", "?", "null", "-", "None"])
def test_blanks_are_counted_located_and_dropped_only_on_demand(blank):
    lines = FRAME[["owner", "sex"]].to_csv(index=False).splitlines()
    lines[3], lines[7] = f"{blank},male", f"Yes,{blank}"
    Path("t.csv").write_text("\n".join(lines))
    with pytest.raises(
        mpf.InputError, match=r"2 missing values \(1\.7%\) in 2 of 60 rows.*first on line 4, cell 1 \('owner'\).*missing=drop"
    ):
        mpf.load_dataset("t.csv")
    data = mpf.load_dataset("t.csv", missing="drop", **ALL)
    kept = np.delete(np.arange(N), [2, 6])
    order = np.random.default_rng(0).permutation(N - 2)
    np.testing.assert_array_equal(data.train, ROWS[kept][order][:, [0, 2]])
    assert data.notes[0] == "t.csv has 2 missing values (1.7%): 2 of 60 rows left out"


def test_a_table_without_a_complete_row_is_refused():
    with pytest.raises(mpf.InputError, match=r"2 missing values .* in 2 of 2 rows"):
        mpf.load_dataset(pd.DataFrame({"a": [None, 1], "b": [0, None]}), missing="drop")


@pytest.mark.parametrize(("drop", "left"), [("sex", 4), (["a, b", "flag"], 3), ("0, 4", 3), (0, 4), ("'owner'", 4), ("", 5)])
def test_columns_are_left_out_by_name_or_number(drop, left):
    assert mpf.load_dataset(FRAME, drop=drop).train.shape[1] == left


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        ("age", "has no column 'age' to drop: it has 'owner', 'a, b'"),
        ("7", "no column '7'"),
        (-1, "no column '-1'"),
        ([*"01234"], "leaves no column"),
        ([1.5], "expected names"),
        (None, "expected names"),
    ],
)
def test_columns_that_cannot_be_left_out_are_refused(drop, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset(FRAME, drop=drop)


def test_labels_may_be_words():
    data = mpf.load_dataset(FRAME[["owner", "flag", "colour"]], labels="last", **ALL)
    np.testing.assert_array_equal(data.train, ROWS[np.random.default_rng(0).permutation(N)][:, [0, 4]])
    np.testing.assert_array_equal(data.labels.train, ROWS[np.random.default_rng(0).permutation(N), 3])
    assert data.notes == ("labels: dark blue = 0, green = 1, red = 2",) and data.columns == ("owner", "flag")


def test_a_threshold_leaves_words_alone():
    frame = FRAME[["owner", "sex"]].assign(age=RNG.integers(18, 80, N))
    rows = in_order(mpf.load_dataset(frame, threshold=40, **ALL))
    np.testing.assert_array_equal(rows, np.column_stack([ROWS[:, [0, 2]], frame["age"] > 40]))
    with pytest.raises(mpf.InputError, match="colour has several words, which no threshold makes bits"):
        mpf.load_dataset(FRAME, threshold=0.5)
    with pytest.raises(mpf.InputError, match="owner holds words, not -1 and 1"):
        mpf.load_dataset(FRAME, signs=True)
