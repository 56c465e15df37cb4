"""What the columns of a table hold: numbers or words, which values, of which kind. Numpy only.

Text files, data frames and Parquet files all come through here, so that a cell means the same wherever it stands.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .errors import InputError

MAX_CATEGORIES = 32
"""more words than this are names or free text; whole numbers from 0 to one less are taken for categories where nobody says what they are"""
PAIRS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"))
"""words for 0 and 1, in any case"""
SAME = (("yes", "y"), ("no", "n"), ("true", "t"), ("false", "f"))  # two spellings of one answer
ALONE = ("yes", "no", "true", "false")  # words whose opposite is clear even if it does not occur
ERRORS = ("#n/a", "#na", "#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!")  # of spreadsheets
MISSING = frozenset(("", "-", ".", "?", "<na>", "n/a", "na", "nan", "nat", "nil", "none", "null", *ERRORS))
MISSING_ROWS = (
    "drop those rows, give missing a category of its own (mpf.CategoricalRBM), "
    "or train on the complete rows and fill in the others with mpf.impute"
)
FEW_ROWS = 10  # in so few rows, values that are all different may be chance
BAND = re.compile(r"\d[\d.]*\s*[-\u2013]\s*\d[\d.]*|[<>\u2264\u2265]=?\s*\d[\d.]*|\d[\d.]*\s*\+")  # 18-25, <18, 65+
NUMERAL = re.compile(r"[-+]?(\d[\d_.,]*([ed][-+]?\d*)?[jlf]?|0[xob][\da-f]*)", re.IGNORECASE)  # a number that this is not a table of

Names = tuple[str, ...]
Words = tuple[tuple[str, ...], ...]
"""of each column the words of 0, 1, ...; none where it holds numbers"""


class Table(NamedTuple):
    """The cells of a file or a frame, one example per row. Words have no numbers yet."""

    numbers: np.ndarray
    """NaN where a number is missing, 0 in columns of words; images may have more axes"""
    names: Names | None = None
    words: Mapping[int, np.ndarray] = {}
    """by column: its words, None where one is missing"""
    lines: Sequence[int] | None = None
    """the line of each row in a text file"""

    def taken(self, rows: np.ndarray) -> Table:
        """These rows of it."""
        lines = None if self.lines is None else [self.lines[row] for row in np.arange(len(self.numbers))[rows]]
        return Table(self.numbers[rows], self.names, {column: words[rows] for column, words in self.words.items()}, lines)

    def of_columns(self, columns: Sequence[int]) -> Table:
        """These columns of it."""
        names = None if self.names is None else tuple(self.names[column] for column in columns)
        words = {place: self.words[column] for place, column in enumerate(columns) if column in self.words}
        return Table(self.numbers[:, list(columns)], names, words, self.lines)

    def place(self, row: int, column: int) -> str:
        """Where a cell is, in words."""
        if self.lines is None:
            return f"at row {row}, column {column}{named(column, self.names)}"
        return f"on line {self.lines[row]}, cell {column + 1}{named(column, self.names)}"

    def missing(self) -> np.ndarray:
        """Which cells have no value."""
        found = np.isnan(self.numbers) if self.numbers.dtype.kind == "f" else np.zeros(self.numbers.shape, bool)
        for column, words in self.words.items():
            found[:, column] = words == None  # noqa: E711
        return found


class ColumnNames(NamedTuple):
    """What columns are called, and the words for their values. Model files hold it, so that samples come out in the user's words."""

    names: Names | None
    words: Words | None


class Kind(NamedTuple):
    """What a column holds."""

    kind: Literal["binary", "signs", "categories", "real"]
    n_values: int = 0
    """of a column of categories"""


def checked_columns(columns: object, size: int) -> ColumnNames:
    """Names and words of `size` columns, if they are that."""
    if isinstance(columns, ColumnNames) and columns != (None, None):
        names, words = columns
        right_names = names is None or (_are_texts(names) and len(names) == size)
        if right_names and (words is None or (isinstance(words, tuple) and len(words) == size and all(map(_are_texts, words)))):
            return columns
    raise InputError(f"columns={_shown(columns)}: pass the column_names of a data set, with a name or words for each of {size} columns")


def named(column: int, columns: Sequence[str] | None) -> str:
    """The name of a column in brackets, if it has one, to follow its number in a message.

    >>> f"column 2{named(2, ('id', 'sex', 'age'))}"
    "column 2 ('age')"
    """
    return f" ({columns[column][:40]!r})" if columns is not None and column < len(columns) and columns[column] else ""


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value.

    >>> [is_missing(cell) for cell in ("", "N/A", "?", "0", "no")]
    [True, True, True, False, False]
    """
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it: with a decimal point, and nothing between thousands."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()


def is_word(cell: str) -> bool:
    """Whether a cell can be the word for a value: text, or a band of numbers, but nothing that may be meant as a number.

    >>> [is_word(cell) for cell in ("yes", "18-25", "1st", "1,000", "0x1", "12%")]
    [True, True, True, False, False, False]
    """
    if not cell.isprintable() or NUMERAL.fullmatch(cell):
        return False
    return any(map(str.isalpha, cell)) or BAND.fullmatch(cell) is not None


def vocabulary(cells: Iterable[str], column: str, way_out: str) -> tuple[str, ...]:
    """The words of 0, 1, ... in a column: no before yes, false before true; others by the alphabet.

    Args:
        cells: its words, missing ones left out.
        column: what messages call it.
        way_out: how to leave the column out.

    >>> vocabulary(["Yes", "no", "Yes"], "column 0", ""), vocabulary(["male", "female"], "column 0", "")
    (('no', 'Yes'), ('female', 'male'))
    """
    counts = Counter(cells)
    folded: dict[str, list[str]] = {}
    for word, _ in counts.most_common():
        folded.setdefault(word.casefold(), []).append(word)
    for pair in PAIRS:
        if folded.keys() <= set(pair) and (len(folded) == 2 or folded.keys() <= set(ALONE)):
            low, high = (folded.get(word, [None])[0] for word in pair)
            return low or _opposite(pair[0], high or ""), high or _opposite(pair[1], low or "")
    every, same = {word for pair in PAIRS for word in pair}, [pair for pair in SAME if set(pair) <= folded.keys()]
    if same or (len(folded) > 1 and folded.keys() <= every):
        raise InputError(f"{column} spells answers in several ways ({_listed(counts)}): use one pair, such as no and yes")
    for spellings in folded.values():
        if len(spellings) > 1:
            raise InputError(f"{column} has {spellings[0][:40]!r} and {spellings[1][:40]!r}: spell a word in one way, or it is two values")
    if len(folded) == 1:
        raise InputError(f"{column} has the word {next(iter(counts))[:40]!r} in every row, which says nothing: {way_out}")
    total = counts.total()
    if len(folded) > MAX_CATEGORIES or (len(folded) == total and total >= FEW_ROWS):
        raise InputError(
            f"{column} has {len(folded):,} different words in {total:,} rows ({_listed(counts)}), too many for categories: "
            f"{way_out}, or sort them into at most {MAX_CATEGORIES} groups"
        )
    return tuple(spellings[0] for _, spellings in sorted(folded.items()))


def codes(cells: np.ndarray, words: tuple[str, ...]) -> np.ndarray | str:
    """The numbers of a column's words, in any case; or the first word that is not one of them."""
    folded = {word.casefold(): place for place, word in enumerate(words)}
    places = {cell: folded.get(cell.casefold(), -1) for cell in set(cells)}
    found = [places[cell] for cell in cells]
    return str(cells[found.index(-1)]) if -1 in found else np.asarray(found, np.float64)


def column_kinds(rows: np.ndarray, words: Words | None = None) -> list[Kind]:
    """What each column holds: bits, signs, categories (words, or whole numbers from 0 to 31), else real numbers.

    >>> [kind.kind for kind in column_kinds(np.asarray([[0, 2, 0.5, -1], [1, 0, 1.5, 1]]))]
    ['binary', 'categories', 'real', 'signs']
    """
    low, high = rows.min(0), rows.max(0)
    whole = np.ones(len(low), bool) if rows.dtype.kind in "biu" else (rows == np.floor(rows)).all(0)
    signs = (low == -1) & (high <= 1)
    if signs.any():
        signs[signs] = (rows[:, signs] != 0).all(0) & whole[signs]
    found: list[Kind] = []
    for column in range(len(low)):
        if words is not None and len(words[column]) > 2:
            found.append(Kind("categories", len(words[column])))
        elif whole[column] and low[column] >= 0 and high[column] <= 1:
            found.append(Kind("binary"))
        elif signs[column]:
            found.append(Kind("signs"))
        elif whole[column] and low[column] >= 0 and high[column] < MAX_CATEGORIES:
            found.append(Kind("categories", int(high[column]) + 1))
        else:
            found.append(Kind("real"))
    return found


def _opposite(word: str, given: str) -> str:
    """The word in the style of its opposite."""
    return word.upper() if given.isupper() and len(given) > 1 else word.capitalize() if given[:1].isupper() else word


def _are_texts(part: object) -> bool:
    return isinstance(part, tuple) and all(isinstance(text, str) for text in part)


def _shown(value: object) -> str:
    try:
        text = reprlib.repr(value)
    except Exception:  # whatever foreign objects do
        return type(value).__name__
    return type(value).__name__ if " at 0x" in text else text


def _listed(counts: Counter[str]) -> str:
    shown = ", ".join(repr(word[:40]) for word, _ in counts.most_common(4))
    return shown + (", ..." if len(counts) > 4 else "")
