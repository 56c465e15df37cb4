"""Data frames of pandas, polars and pyarrow as tables, without importing any of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, cast, runtime_checkable

import numpy as np

from .columns import Names, Table, is_missing, is_number, is_word, named
from .errors import InputError

NOTHING = ("NAType", "NaTType")  # pandas.NA and pandas.NaT
EXACT = 2**53  # whole numbers up to here are exact as floats


@runtime_checkable
class Series(Protocol):
    """A column, of whichever package."""

    def to_numpy(self) -> np.ndarray: ...


def is_frame(data: object) -> bool:
    """Whether this is a data frame or a table with columns."""
    cls = type(data)  # asking a lazy frame itself would compute its columns
    return (hasattr(cls, "columns") and hasattr(cls, "dtypes")) or (hasattr(cls, "column_names") and hasattr(cls, "schema"))


def read_frame(frame: object, name: str) -> Table:
    """The cells of a frame: numbers, bools and words, in columns of any type that holds them.

    Args:
        frame: of pandas or polars, or a pyarrow.Table.
        name: what messages call it.
    """
    names, column_of = _access(frame, name)
    read = [_cells(column_of(place), f"{name}: column {place}{named(place, names)}") for place in range(len(names))]
    n = len(read[0])
    words = {place: column for place, column in enumerate(read) if column.dtype == object}
    numbers = [np.zeros(n) if place in words else column for place, column in enumerate(read)]
    kinds = {column.dtype.kind for place, column in enumerate(read) if place not in words}
    return Table(np.stack(numbers, 1) if not words and kinds <= set("bu") else np.stack(numbers, 1).astype(np.float64), names, words)


def _access(frame: object, name: str) -> tuple[Names, Callable[[int], Series]]:
    """The names of the columns, and how to get one."""
    if hasattr(frame, "iloc"):
        column_of = lambda place: frame.iloc[:, place]  # noqa: E731
    elif hasattr(frame, "to_series"):
        column_of = frame.to_series
    elif hasattr(frame, "column"):
        column_of = frame.column
    else:
        raise InputError(f"{name} is a {type(frame).__name__} without its values: pass a frame that holds them, such as frame.collect()")
    labels = frame.column_names if hasattr(frame, "column_names") else getattr(frame, "columns", ())
    names = tuple(" ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in cast(Sequence[object], labels))
    if not names or len(cast(Sequence[object], column_of(0))) == 0:
        raise InputError(f"{name} is a frame of {len(names)} columns without values: pass at least one row and one column")
    return names, column_of


def _cells(series: Series, column: str) -> np.ndarray:
    """The numbers of a column, or its words (an object array, None where one is missing)."""
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "b":
        return np.where(values, "True", "False").astype(object)
    if values.dtype.kind in "iu" and values.size and max(abs(int(values.min())), abs(int(values.max()))) > EXACT:
        raise InputError(f"{column} has whole numbers beyond 2**53, which may be keys, not values: leave it out, or scale it")
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.ndim != 1 or values.dtype.kind not in "OUST":
        raise InputError(f"{column} holds {values.dtype} values: turn it into numbers or words first, or leave it out")
    return _mixed(values.astype(object).tolist(), column)


def _mixed(values: list[object], column: str) -> np.ndarray:
    """Numbers or words from Python's values; both in one column are refused."""
    cells = [_cell(value, column, row) for row, value in enumerate(values)]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {float, str}:
        odd = next(row for row, cell in enumerate(cells) if type(cell) is not type(next(c for c in cells if c is not None)))
        raise InputError(f"{column} holds numbers and words, such as {values[odd]!r:.40} at row {odd}: make them all one or the other")
    if kinds == {str}:
        return np.asarray([*cells, None], object)[:-1]
    return np.asarray([np.nan if cell is None else cell for cell in cells], np.float64)


def _cell(value: object, column: str, row: int) -> float | str | None:
    if value is None or type(value).__name__ in NOTHING:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | float | np.integer | np.floating | Decimal | Fraction):
        if isinstance(value, int | np.integer) and abs(int(value)) > EXACT:
            raise InputError(f"{column} has a whole number beyond 2**53 at row {row}, which may be a key: leave it out, or scale it")
        number = float(value)
        return None if math.isnan(number) else number
    if isinstance(value, str):
        return text_cell(value.strip(), f"{column}, row {row}")
    raise InputError(f"{column} has a {type(value).__name__} at row {row}: turn it into numbers or words first, or leave it out")


def text_cell(cell: str, place: str) -> float | str | None:
    """A cell of text: a number, a word, or None where there is no value."""
    if is_missing(cell):
        return None
    if is_number(cell):
        return float(cell)
    if is_word(cell):
        return cell
    raise InputError(f"{place} is {cell[:40]!r}, which is neither a number nor a word: write numbers with a decimal point and nothing else")
