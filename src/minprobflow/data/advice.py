"""What values that are not bits look like, and what to do if they are that."""

from __future__ import annotations

import numpy as np

from ..columns import Names, named
from .loader_options import both_spellings, dropping

MOST = 254  # largest value of a unit
FEW = 32  # distinct values that still look like grey levels or labels
SIDE_BY_SIDE = "columns of several kinds side by side, the model mixed-rbm and real=True (on the command line: --model mixed-rbm)"


def why_not_binary(table: np.ndarray, wrong: np.ndarray, names: Names | None) -> str:
    """What its values look like, and what to do if they are that."""
    columns = np.flatnonzero(wrong.any(0))
    if len(table) > 2:
        rising = [
            c for c in columns if (np.diff(table[:, c].astype(np.float64)) > 0).all() and (table[:, c] == np.floor(table[:, c])).all()
        ]
        if rising:
            return index_column(table, int(rising[0]), names)
    row, column = np.argwhere(wrong)[0]
    found = f"it has {table[row, column]:g} at row {row}, column {column}{named(int(column), names)}"
    distinct = np.unique(table)
    if set(distinct) <= {-1, 1}:
        return f"it holds -1 and 1: pass {both_spellings('threshold', 0.0)}, or for a model of spins {both_spellings('signs', True)}"
    values, out = table[:, column], dropping(int(column), names)
    if len(columns) == 1 and table.shape[1] > 2:
        whole = (values == np.floor(values)).all() and len(np.unique(values)) <= FEW
        place = {0: "first", table.shape[1] - 1: "last"}.get(int(column)) if whole else None
        label = f"if it holds labels, pass {both_spellings('labels', place)}; " if place else ""
        return f"{found}, the only column with such values: {label}for {SIDE_BY_SIDE}; or leave it out with {out}"
    kinds = f"for a model of real numbers, {both_spellings('real', True)}"
    if (distinct == np.floor(distinct)).all() and distinct[0] >= 0 and distinct[-1] <= MOST:
        kinds += f"; for one of categories, {both_spellings('whole', True)}"
    if _looks_grey(table, distinct, columns):
        highest = float(distinct[-1])
        level = both_spellings("threshold", (1 if highest <= 1 else 255 if highest <= 255 and len(distinct) > FEW else highest) / 2)
        return f"{found}: if the values are grey levels, pass {level}; {kinds}"
    return f"{found}: pass, {kinds}; for {SIDE_BY_SIDE}; otherwise turn each column into 0 and 1 first, or leave it out with {out}"


def _looks_grey(table: np.ndarray, distinct: np.ndarray, columns: np.ndarray) -> bool:
    """One scale for most columns that vary: from 0 to 1, bytes, or a few levels."""
    varying = int((table != table[0]).any(0).sum())
    bytes_ = distinct[-1] <= 255 and (distinct == np.floor(distinct)).all()
    return bool(distinct[0] >= 0 and 2 * len(columns) >= varying and (distinct[-1] <= 1 or bytes_ or len(distinct) <= FEW))


def counts_up(table: np.ndarray) -> np.ndarray:
    """Which columns hold 0, 1, 2, ... or 1, 2, 3, ..."""
    place = np.arange(len(table))
    found = np.isin(table[0], (0, 1)) & (table[-1] == table[0] + place[-1])  # most columns are ruled out by their two ends
    found[found] = (table[:, found] == table[0, found] + place[:, None]).all(0)
    return found


def index_column(table: np.ndarray, column: int, names: Names | None) -> str:
    """What to say of a column that numbers the rows."""
    start = ", ".join(f"{value:g}" for value in table[:3, column])
    last = table.shape[1] - 1
    place = "first" if column == 0 else "last" if column == last else ""
    out = dropping(int(column), names)
    way = (
        f"move it out of the rows with {both_spellings('labels', place)}, or leave it out with {out}"
        if place
        else f"leave it out with {out}"
    )
    return f"column {column}{named(column, names)} counts up ({start}, ...) and is probably an index: {way}"
