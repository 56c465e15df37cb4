"""Users' files: nothing in them is misread, and messages fit what they hold."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.data.cells import complete
from minprobflow.data.text import parse_text

RNG = np.random.default_rng(0)
BITS = (RNG.random((40, 6)) < 0.4).astype(float)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(rows, name="rows.csv"):
    np.savetxt(name, rows, delimiter=",", fmt="%g")
    return name


def parsed(content):
    """Numbers and names of a text file without words."""
    table, notes = complete(parse_text(content, "rows.csv"), "rows.csv", drop=False)
    assert not table.words and not notes
    return table.numbers, table.names


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
        mpf.InputError,
        match=r"2 missing values \(0\.83%\) in 2 of 40 rows, by column: 1 1, 2 1; the first on line 4, cell 3: drop those.*complete rows",
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
        (
            "0,1,1\n0,,1\n,,1\n",
            r"3 missing values \(33%\) in 2 of 3 rows, by column: 1 2, 0 1; the first on line 2, cell 2: drop those rows",
        ),
        ("0\t1\t1\n0\t\t1\n1\t1\t1\n", r"1 missing value \(11%\) in 1 of 3 rows; the first on line 2, cell 2"),
        ("0,1,1\n0,yes,1\n", "line 2, cell 2 is 'yes'"),
        ("0,1,1\n\n0,1\n", "line 3 has 2 values, but line 1 has 3"),
        ("0,5;1\n1;1\n", "line 1, cell 1 is '0,5': write decimal points, not commas"),
        ("NA,NA\n0,1\n1,1\n", r"2 missing values .* the first on line 1, cell 1: drop those rows"),
        ("# nothing\n\n", "empty"),
        ("010\n01\n", "different lengths"),
    ],
)
def test_text_that_could_be_misread_is_refused_by_line(text, message):
    with pytest.raises(mpf.InputError, match=message):
        parsed(text.encode())


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
    rows, columns = parsed(text.encode())
    np.testing.assert_array_equal(rows, [[0, 1], [1, 0]])
    assert columns is None


# headers


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("age,sex", ("age", "sex")),
        ('"age","sex"', ("age", "sex")),
        (' "age, in years" , sex ', ("age, in years", "sex")),
        ('"1","2"', ("1", "2")),  # quotes make a name of anything
        ('"the ""age""",x', ('the "age"', "x")),
        (",sex", ("", "sex")),
        ("item #,item # 2", ("item #", "item # 2")),
        ("año,年齢", ("año", "年齢")),
        ("1st,2nd", ("1st", "2nd")),
        ("a;b,c", ("a;b", "c")),
        ("a" * 200_000 + ",b", ("a" * 200_000, "b")),
    ],
)
def test_a_header_is_skipped_and_its_names_are_kept(header, columns):
    for text in (f"{header}\n0,1\n1,0\n", f"\ufeff{header}\r\n0,1\r\n1,0\r\n", f"# of a survey\n\n{header}\n\n0,1\n1,0"):
        rows, found = parsed(text.encode())
        np.testing.assert_array_equal(rows, [[0, 1], [1, 0]])
        assert found == columns


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("age;sex\n0;1\n1;0\n", ("age", "sex")),
        ('"age;sex";"a, b"\n0;1\n1;0\n', ("age;sex", "a, b")),
        ("age, in years;sex\n0;1\n1;0\n", ("age, in years", "sex")),
        ("age\tsex\n0\t1\n1\t0\n", ("age", "sex")),
        ("age in years\tsex\n0\t1\n1\t0\n", ("age in years", "sex")),
        ("\tsex\n0\t1\n1\t0\n", ("", "sex")),
        ("age  sex\n0 1\n1 0\n", ("age", "sex")),
        ('"age in years" sex\n0 1\n1 0\n', ("age in years", "sex")),
        ("0;1\n1;0\n", None),
    ],
)
def test_every_separator_may_have_a_header(text, columns):
    rows, found = parsed(text.encode())
    np.testing.assert_array_equal(rows, [[0, 1], [1, 0]])
    assert found == columns


def test_a_single_column_has_one_name():
    rows, columns = parsed(b"age in years\n3\n4\n")
    assert rows.tolist() == [[3], [4]] and columns == ("age in years",)


def test_numbers_above_the_rows_are_a_row():
    rows, columns = parsed(b"2020,2021\n0,1\n")
    assert rows.tolist() == [[2020, 2021], [0, 1]] and columns is None
    rows, columns = parsed(b"1e3,inf\n0,1\n")
    assert rows.tolist() == [[1000, np.inf], [0, 1]] and columns is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", r"has a header \(line 1\) and no examples"),
        ("# rows\na,b\n\n", r"has a header \(line 2\) and no examples"),
        (",\n0,1\n", r"2 missing values \(50%\) in 1 of 2 rows, .*the first on line 1, cell 1"),
        ('"",""\n0,1\n', r"2 missing values \(50%\) .*the first on line 1, cell 1"),
        ("a,b\n0,1,1\n0,0,1\n", r"the header \(line 1\) has 2 names, but line 2 has 3 values.*row\.names = FALSE"),
        ("a\n0,1,1\n0,0,1\n", r"the header \(line 1\) has 1 name, but line 2 has 3 values: name each column once, or delete the header$"),
        ("a,b,c,d\n0,1,1\n", "has 4 names, but line 2 has 3 values: name each column once, or delete the header$"),
        ("a,b,\n0,1\n", "has 3 names, but line 2 has 2 values"),
        ('"a,b\n0,1\n', "has 1 name, but line 2 has 2 values|line 1, cell 1"),
        ("a,b\n0,1\n0,yes\n", r"line 3, cell 2 \('b'\) is 'yes': write numbers only"),
        ("a,b\n0,1\na,b\n0,1\n", r"line 3, cell 1 \('a'\) is 'a'"),
        ("a,b\nm,kg\n0,1\n", r"line 2, cell 1 \('a'\) is 'm'"),
        ("a,b\n0,1\n0,NA\n", r"1 missing value \(25%\) in 1 of 2 rows; the first on line 3, cell 2 \('b'\): drop those rows"),
        ("a,b\n0,1\n,\n", r"2 missing values .*by column: 0 \('a'\) 1, 1 \('b'\) 1; the first on line 3, cell 1 \('a'\): drop those rows"),
        ("a,b\n0,1\n0\n", "line 3 has 1 values, but line 2 has 2"),
        ("a,b\n0,1#1\n", "line 2 has a #"),
        ("a,2020\n0,1\n", "line 1, cell 1 is 'a': .*if the line is a header, put all its names in quotes"),
        ("a;b\n0,5;1\n", r"line 2, cell 1 \('a'\) is '0,5': write decimal points, not commas"),
        ("a,b\n0 1\n", "has 1 name, but line 2 has 2 values"),
        ("bits\n01\n10\n", "header above bits without separators: delete it"),
        ("0,1\n5\n6\n", "line 2 has 1 values, but line 1 has 2"),  # no header: it has no letter
    ],
)
def test_what_could_be_a_header_but_does_not_fit_is_refused(text, message):
    for content in (text, "\ufeff" + text.replace("\n", "\r\n")):
        with pytest.raises(mpf.InputError, match=message):
            parsed(content.encode())


def test_a_file_with_a_header_is_the_data_set_without_it():
    Path("named.csv").write_text("a,b,c,d,e,f\n" + Path(saved(BITS)).read_text())
    data, plain = mpf.load_dataset("named.csv"), mpf.load_dataset("rows.csv")
    np.testing.assert_array_equal(data.train, plain.train)
    assert data.columns == tuple("abcdef") and plain.columns is None
    assert mpf.load_dataset("named.csv", labels="first").columns == tuple("bcdef")
    assert mpf.load_dataset("named.csv", labels="last").columns == tuple("abcde")


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (np.nan, {}, r"the first on line 5, cell 3 \('age'\)"),
        (np.inf, {}, r"inf at row 3, column 2 \('age'\), which is not a finite number"),
        (1e300, {"real": True}, r"row 3, column 2 \('age'\), which single precision"),
        (0.5, {"whole": True}, r"0\.5 at row 3, column 2 \('age'\), expected whole numbers"),
        (0.5, {}, r"it has 0\.5 at row 3, column 2 \('age'\)"),
    ],
)
def test_messages_name_the_column(value, options, message):
    Path("named.csv").write_text("a,b,age,d,e,f\n" + Path(saved(with_value(value))).read_text())
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset("named.csv", **options)


@pytest.mark.parametrize("options", [{}, {"real": True}, {"whole": True}, {"threshold": 0.5}])
@pytest.mark.parametrize("index", [[0, 1, 2, 3, 4], [7, 0, 12, 3, 1], ['"x 1"', '"x 2"', '"x 3"', '"x 4"', '"x 5"']])
@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_that_pandas_writes_is_no_column(options, index, name):
    rows = "".join(f"{i},{','.join(f'{value:g}' for value in row)}\n" for i, row in zip(index, BITS[:5], strict=True))
    Path("named.csv").write_text(f"{name},a,b,c,d,e,f\n" + rows)
    data = mpf.load_dataset("named.csv", **options)
    if not index[0]:  # an index of numbers may also be taken for labels
        assert mpf.load_dataset("named.csv", labels="first", **options).columns == tuple("abcdef")
    assert data.columns == tuple("abcdef") and data.notes == ("column 0 has no name and numbers or names the rows: left out",)
    np.testing.assert_array_equal(np.unique(np.concatenate(data[1:4]), axis=0), np.unique(BITS[:5], axis=0))


@pytest.mark.parametrize("options", [{}, {"real": True}, {"whole": True}])
def test_a_first_column_without_a_name_that_is_no_index_is_refused(options):
    Path("named.csv").write_text(",a\n" + "7,1\n7,0\n2,0\n")
    with pytest.raises(mpf.InputError, match=r"column 0 has no name: .*drop='0' .*else give it a name"):
        mpf.load_dataset("named.csv", **options)
    assert mpf.load_dataset("named.csv", drop=0, **options).columns == ("a",)


# values that are not bits: what they look like decides the advice


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            np.insert(BITS, 0, np.arange(40), 1),
            r"column 0 counts up \(0, 1, 2, \.\.\.\) and is probably an index.*--data-option labels=first",
        ),
        (np.insert(BITS, 6, np.arange(1, 41), 1), r"column 6 counts up \(1, 2, 3, \.\.\.\).*labels='last'"),
        (
            np.insert(BITS, 3, np.arange(40) * 7 + 5, 1),
            r"column 3 counts up \(5, 12, 19, \.\.\.\).*leave it out with drop='3' \(on the command line: --data-option drop=3\)",
        ),
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
