"""Data sets by name, or from a user's file."""

from __future__ import annotations

import difflib
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..plugins import discover
from .base import REGISTRY, Dataset, DatasetSpec, check_options, in_three
from .files import read_labelled, read_table


def datasets() -> dict[str, DatasetSpec]:
    """Every data set known by name."""
    discover(sys.modules[__package__])
    return dict(sorted(REGISTRY.items()))


def load_dataset(name: str, **options: Any) -> Dataset:
    """Load a data set by its name, or the rows of a file.

    Args:
        name: one of `mpf.data.datasets()`, or the path of a .npy, .npz, .csv, .csv.gz, .mat, IDX or text file.
        **options: of the data set (see its module), or of a file: `split` (three shares), `seed` (of the shuffle before the
            split), `threshold` (rows are made binary by value > threshold), `real` (rows stay real numbers), `labels` ("first" or
            "last": that column holds labels).

    >>> load_dataset("digits").train.shape
    (1200, 64)
    """
    known = datasets()
    if name in known:
        check_options(options, tuple(inspect.signature(known[name].load).parameters), name)
        return known[name].load(**options)
    if any(mark in name for mark in "./\\:") or Path(name).exists():
        check_options(options, tuple(inspect.signature(from_file).parameters)[1:], name)
        return from_file(name, **options)
    near = difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(f"unknown data set {name!r}{hint}: the known ones are {', '.join(known)}; or give the path of a file")


def from_file(
    name: str,
    split: tuple[float, float, float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    threshold: float | None = None,
    real: bool = False,
    labels: str | None = None,
) -> Dataset:
    """Rows of a user's file, shuffled with a seed and split."""
    if len(split) != 3 or min(split) < 0 or split[0] <= 0 or abs(sum(split) - 1) > 1e-6:
        raise InputError(f"split={split}: give the shares of train, valid and test, which add up to 1, for example (0.8, 0.1, 0.1)")
    table, classes = (read_table(name), None) if labels is None else read_labelled(name, labels)
    rows = table.reshape(len(table), -1) if table.ndim > 2 else table
    if threshold is not None:
        rows = rows > threshold
    _check(rows, name, real)
    order = np.random.default_rng(seed).permutation(len(rows))
    bounds = np.round(np.cumsum(split)[:2] * len(rows)).astype(int)
    parts = np.split(order, bounds)
    kept = None if classes is None else [classes[part] for part in parts]
    source = f"{name}, split {tuple(split)} with seed {seed}" + ("" if threshold is None else f", value > {threshold:g}")
    side = int(np.sqrt(rows.shape[1]))
    square = (side, side) if side * side == rows.shape[1] else None
    shape = (table.shape[1], table.shape[2]) if table.ndim == 3 else square
    return in_three(Path(name).name, [rows[part].astype(np.float32 if real else np.uint8) for part in parts], shape, source, classes=kept)


def _check(rows: np.ndarray, name: str, real: bool) -> None:
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(f"{name} holds an array of shape {rows.shape}: expected a table with one example a row")
    if not real and not np.isin(rows, (0, 1)).all():
        raise InputError(
            f"{name} is not binary: pass threshold=, for example threshold={np.nanmax(rows) / 2:g}, or labels= if a column holds labels, "
            "or real=True for a model of real numbers"
        )
