"""What was understood of data, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import flag, shown
from ..columns import Kind, column_kinds
from ..errors import InputError
from .base import Dataset
from .cells import listed


def describe(data: Dataset, several_kinds: bool = False) -> list[str]:
    """How many rows and columns there are and what they hold; then what was decided when they were read.

    Args:
        data: what `mpf.load_dataset` returned.
        several_kinds: columns of real numbers may be of several kinds, as for a mixed RBM.

    >>> from minprobflow.data import load_dataset
    >>> describe(load_dataset("digits"))
    ['1,797 rows (1,200 train, 297 valid, 300 test), 64 binary columns; 11 have one value in all training rows']
    """
    if not isinstance(data, Dataset):
        raise InputError(f"data is {shown(data)}: pass what mpf.load_dataset returned")
    several_kinds = flag("several_kinds", several_kinds)
    sizes = [len(part) for part in (data.train, data.valid, data.test)]
    parts = ", ".join(f"{n:,} {part}" for n, part in zip(sizes, ("train", "valid", "test"), strict=True))
    constant = int((data.train == data.train[0]).all(0).sum()) if len(data.train) > 1 else 0
    remark = f"; {constant} {'has' if constant == 1 else 'have'} one value in all training rows" if constant else ""
    lines = [f"{sum(sizes):,} rows ({parts}), {_columns(data, several_kinds)}{remark}"]
    if data.columns is not None:
        lines.append(f"columns {listed([name or '(no name)' for name in data.columns])}")
    return [*lines, *data.notes]


def _columns(data: Dataset, several_kinds: bool) -> str:
    width = data.train.shape[1]
    if data.alphabet is not None:
        return f"{width} letters of {data.alphabet}"
    if data.train.dtype.kind == "f" and data.words is None and not several_kinds:
        return f"{width} column{'' if width == 1 else 's'} of real numbers"
    return _counted(column_kinds(np.concatenate([data.train, data.valid, data.test]), data.words))


def _counted(kinds: Sequence[Kind]) -> str:
    found = [
        f"{sum(kind.kind == wanted for kind in kinds)} {text}"
        for wanted, text in (("binary", "binary"), ("signs", "of -1 and +1"), ("categories", "of categories"), ("real", "of real numbers"))
        if any(kind.kind == wanted for kind in kinds)
    ]
    counts = sorted({kind.n_values for kind in kinds if kind.kind == "categories"})
    several = f" ({counts[0]}{f' to {counts[-1]}' if counts[1:] else ''} values)" if counts else ""
    texts = [text + several if "categories" in text else text for text in found]
    if len(texts) > 1:
        return f"{len(kinds)} columns: {', '.join(texts)}"
    number, _, what = texts[0].partition(" ")
    noun = "column" if number == "1" else "columns"
    return f"{number} {what} {noun}" if what == "binary" else f"{number} {noun} {what}"
