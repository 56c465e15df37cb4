"""A data set from the rows of a user's file: bits or real numbers, shuffled and split."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import InputError
from ..tables import named, refuse_first, refuse_missing
from .base import Dataset, in_three
from .fasta import AMINO_ACIDS, is_fasta, read_rows
from .files import read_columns, read_labelled
from .loader_options import Seed, both_spellings

MOST = 254  # largest value of a unit
FEW = 32  # distinct values that still look like grey levels
INDEX_ROWS = 10  # with fewer rows, a column that counts up may be data
Columns = tuple[str, ...] | None  # their names, if there is a header


def from_file(
    name: str,
    split: tuple[float, float, float] = (0.8, 0.1, 0.1),
    seed: Seed = 0,
    threshold: float | None = None,
    real: bool = False,
    whole: bool = False,
    signs: bool = False,
    labels: Literal["first", "last"] | None = None,
    alphabet: str | None = None,
) -> Dataset:
    """Rows of a user's file, shuffled with a seed and split.

    Args:
        split: the shares of train, valid and test, which add up to 1.
        seed: of the shuffle before the split.
        threshold: make rows binary by value > threshold.
        real: keep rows as real numbers, for models with real visible units.
        whole: keep rows as whole numbers from 0, for models whose units have several values.
        signs: keep rows of -1 and +1, for models with spins.
        labels: that column holds class labels (or an index) and is kept apart from the rows.
        alphabet: letters of the sequences in a FASTA file, the gap first; by default the gap and the twenty amino acids.
    """
    if min(split) < 0 or split[0] <= 0 or abs(sum(split) - 1) > 1e-6:
        raise InputError(f"split={split}: give the shares of train, valid and test, which add up to 1, for example (0.8, 0.1, 0.1)")
    letters = (alphabet or AMINO_ACIDS) if is_fasta(name) else None
    if letters is not None and (threshold is not None or labels is not None or real):
        raise InputError(f"{name} holds sequences of letters: leave out threshold, real and labels")
    if letters is None and alphabet is not None:
        raise InputError(f"{name} holds numbers, not sequences: leave out alphabet")
    table, classes, columns = _read(name, letters, labels)
    rows = table if letters else _rows(table.reshape(len(table), -1), name, columns, threshold, real, whole, signs)
    order = np.random.default_rng(seed).permutation(len(rows))
    bounds = np.round(np.cumsum(split)[:2] * len(rows)).astype(int)
    parts = np.split(order, bounds)
    if len(parts[0]) == 0:
        raise InputError(f"split={split} leaves none of the {len(rows)} rows of {name} for training: raise its first share")
    kept = None if classes is None else [classes[part] for part in parts]
    source = f"{name}, split {tuple(split)} with seed {seed}" + ("" if threshold is None else f", value > {threshold:g}")
    side = int(np.sqrt(rows.shape[1]))
    square = (side, side) if side * side == rows.shape[1] else None
    shape = None if letters or whole else (table.shape[1], table.shape[2]) if table.ndim == 3 else square
    data = in_three(Path(name).name, [rows[part] for part in parts], shape, source, classes=kept)
    return data._replace(alphabet=letters, columns=columns)


def _read(name: str, letters: str | None, labels: str | None) -> tuple[np.ndarray, np.ndarray | None, Columns]:
    """The table, the labels and the names of the columns, as far as there are any."""
    if labels is not None:
        return read_labelled(name, labels)
    table, columns = (read_rows(name, letters), None) if letters else read_columns(name)
    if columns is not None and not columns[0] and len(table) > 1 and _counts_up(table)[0]:  # as pandas writes it
        raise InputError(f"{name}: {_index_column(table, 0, columns)}")
    return table, None, columns


def _rows(table: np.ndarray, name: str, columns: Columns, threshold: float | None, real: bool, whole: bool, signs: bool) -> np.ndarray:
    """The table as bits, signs, whole or real numbers. A value that is not a number never becomes one."""
    refuse_missing(table, name, columns)
    if real and threshold is None:
        with np.errstate(over="ignore"):
            rows = table.astype(np.float32)
        why = ", which single precision does not hold: drop that row, or scale the column"
        refuse_first(~np.isfinite(rows), table, name, why, columns)
        return rows
    if table.dtype.kind == "f":
        refuse_first(~np.isfinite(table), table, name, ", which is not a finite number: drop that row", columns)
    if threshold is not None:
        if len(table) >= INDEX_ROWS and (counting := _counts_up(table)).any():
            raise InputError(f"{name}: {_index_column(table, int(np.argmax(counting)), columns)}")
        return (table > threshold).astype(np.float32 if real else np.uint8)
    if whole:
        why = f", expected whole numbers from 0 to {MOST}: number the values of each column from 0"
        refuse_first((table < 0) | (table > MOST) | (table != np.floor(table)), table, name, why, columns)
        return table.astype(np.uint8)
    if signs:
        refuse_first((table != -1) & (table != 1), table, name, ", expected -1 or 1", columns)
        return table.astype(np.int8)
    wrong = (table != 0) & (table != 1)
    if wrong.any():
        raise InputError(f"{name} is not binary: {_why_not_binary(table, wrong, columns)}")
    return table.astype(np.uint8)


def _why_not_binary(table: np.ndarray, wrong: np.ndarray, names: Columns) -> str:
    """What its values look like, and what to do if they are that."""
    columns = np.flatnonzero(wrong.any(0))
    if len(table) > 2:
        rising = [
            c for c in columns if (np.diff(table[:, c].astype(np.float64)) > 0).all() and (table[:, c] == np.floor(table[:, c])).all()
        ]
        if rising:
            return _index_column(table, int(rising[0]), names)
    row, column = np.argwhere(wrong)[0]
    found = f"it has {table[row, column]:g} at row {row}, column {column}{named(int(column), names)}"
    distinct = np.unique(table)
    if set(distinct) <= {-1, 1}:
        return f"it holds -1 and 1: pass {both_spellings('threshold', 0.0)}, or for a model of spins {both_spellings('signs', True)}"
    if len(columns) == 1 and table.shape[1] > 2 and column in (0, table.shape[1] - 1):
        place = "first" if column == 0 else "last"
        return f"{found}, the only column with such values: if it holds labels, pass {both_spellings('labels', place)}"
    kinds = f"for a model of real numbers, {both_spellings('real', True)}"
    if (distinct == np.floor(distinct)).all() and distinct[0] >= 0 and distinct[-1] <= MOST:
        kinds += f"; for one of categories, {both_spellings('whole', True)}"
    if _looks_grey(table, distinct, columns):
        highest = float(distinct[-1])
        level = both_spellings("threshold", (1 if highest <= 1 else 255 if highest <= 255 and len(distinct) > FEW else highest) / 2)
        return f"{found}: if the values are grey levels, pass {level}; {kinds}"
    return f"{found}: pass, {kinds}; otherwise turn each column into 0 and 1 first"


def _looks_grey(table: np.ndarray, distinct: np.ndarray, columns: np.ndarray) -> bool:
    """One scale for most columns that vary: from 0 to 1, bytes, or a few levels."""
    varying = int((table != table[0]).any(0).sum())
    bytes_ = distinct[-1] <= 255 and (distinct == np.floor(distinct)).all()
    return bool(distinct[0] >= 0 and 2 * len(columns) >= varying and (distinct[-1] <= 1 or bytes_ or len(distinct) <= FEW))


def _counts_up(table: np.ndarray) -> np.ndarray:
    """Which columns hold 0, 1, 2, ... or 1, 2, 3, ..."""
    place = np.arange(len(table))
    found = np.isin(table[0], (0, 1)) & (table[-1] == table[0] + place[-1])  # most columns are ruled out by their two ends
    found[found] = (table[:, found] == table[0, found] + place[:, None]).all(0)
    return found


def _index_column(table: np.ndarray, column: int, names: Columns) -> str:
    start = ", ".join(f"{value:g}" for value in table[:3, column])
    last = table.shape[1] - 1
    place = "first" if column == 0 else "last" if column == last else ""
    way = f"move it out of the rows with {both_spellings('labels', place)}" if place else "cut it from the file"
    return f"column {column}{named(column, names)} counts up ({start}, ...) and is probably an index: {way}"
