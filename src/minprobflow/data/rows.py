"""Rows to evaluate a model on, from a file with the columns that it was trained on; and rows of a model as a file."""

from __future__ import annotations

import csv
import io

import numpy as np
from jaxtyping import Num

from ..columns import ColumnNames, checked_columns
from ..errors import InputError
from ..tables import table
from .cells import coded_like, complete, matched, without_index
from .fasta import AMINO_ACIDS, is_fasta, read_fasta
from .files import read_cells, text_path


def read_rows(name: str, alphabet: str | None = None, columns: ColumnNames | None = None) -> np.ndarray:
    """The rows of a file: of an alignment, the values of its letters in the alphabet (by default `AMINO_ACIDS`); else its numbers.

    Args:
        name: the file.
        alphabet: of an alignment.
        columns: those that the rows must have; words get the numbers that they have there.
    """
    return read_like(name, alphabet, columns)[0]


def read_like(name: str, alphabet: str | None, columns: ColumnNames | None) -> tuple[np.ndarray, list[str]]:
    """The rows of a file with the columns of a model, and notes on what was left out."""
    if is_fasta(text_path(name)):
        return read_fasta(name, alphabet or AMINO_ACIDS).rows, []
    read = read_cells(name)
    if read.numbers.ndim > 2:
        return read.numbers, []
    read, notes = without_index(read, name)
    names, words = (None, None) if columns is None else checked_columns(columns, _size(columns))
    if names is not None and read.names is not None:
        read, found = matched(read, names, name, "the model", len(names))
        notes += found
    read, _ = complete(read, name, drop=False, droppable=False)
    if words is not None and read.numbers.shape[1] != len(words):
        words = None  # of another width: the model says so
    return coded_like(read, words, name, "the model"), notes


def csv_text(rows: Num[np.ndarray, "n D"], columns: ColumnNames | None) -> str:
    """Rows as the text of a CSV file: a header of names, if there are any, and words where values have them.

    >>> print(csv_text(np.asarray([[1, 0], [2, 1]]), ColumnNames(("age", "owner"), ((), ("no", "yes")))), end="")
    "age","owner"
    1,"no"
    2,"yes"
    """
    values = table(rows, "rows")
    names, words = (None, None) if columns is None else checked_columns(columns, values.shape[1])
    cells: list[list[float | str]] = [list(map(_short, column)) for column in values.T.tolist()]
    for place, known in enumerate(words or ()):
        if known:
            if not np.isin(values[:, place], range(len(known))).all():
                raise InputError(f"rows have values in column {place} without a word: they go from 0 to {len(known) - 1}")
            cells[place] = [known[int(x)] for x in values[:, place]]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")  # a quoted word cannot be misread
    if names is not None:
        writer.writerow(names)
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _short(x: bool | int | float) -> int | float:
    return int(x) if float(x).is_integer() else float(f"{x:.9g}")


def _size(columns: object) -> int:
    """How many columns are meant, if any are."""
    return next((len(part) for part in columns if part is not None), 0) if isinstance(columns, ColumnNames) else 0
