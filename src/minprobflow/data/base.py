"""What a data set is, and how data sets are found by name.

A module of this folder (or a file of a folder named in MINPROBFLOW_PLUGINS) that calls `register` adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Num, UInt8

from ..columns import ColumnNames, Names, Words
from ..errors import InputError


class Labels(NamedTuple):
    """Class labels of the three parts."""

    train: Int[np.ndarray, " train"]
    valid: Int[np.ndarray, " valid"]
    test: Int[np.ndarray, " test"]


class Dataset(NamedTuple):
    """Rows of 0 and 1, of whole numbers, or of real numbers (float32), in three parts. Choose on `valid`, report on `test`."""

    name: str
    train: Num[np.ndarray, "train D"]
    valid: Num[np.ndarray, "valid D"]
    test: Num[np.ndarray, "test D"]
    image_shape: tuple[int, int] | None
    source: str
    sha256: dict[str, str]  # of the files it came from
    labels: Labels | None
    alphabet: str | None = None  # of sequences: the letter of each value
    columns: Names | None = None  # their names, if the file has a header
    words: Words | None = None  # of each column, those of 0, 1, ...; none where it holds numbers
    notes: tuple[str, ...] = ()  # what was decided when it was read

    @property
    def column_names(self) -> ColumnNames | None:
        """What the columns are called and the words for their values, for `mpf.save`."""
        return None if self.columns is None and self.words is None else ColumnNames(self.columns, self.words)


def in_three(
    name: str,
    parts: Sequence[np.ndarray],
    image_shape: tuple[int, int] | None,
    source: str,
    files: Sequence[SourceFile] = (),
    classes: Sequence[np.ndarray] | None = None,
) -> Dataset:
    """A data set from lists of its three parts; `files` are those that it came from."""
    train, valid, test = parts
    labels = None if classes is None else Labels(classes[0], classes[1], classes[2])
    return Dataset(name, train, valid, test, image_shape, source, {file.name: file.sha256 for file in files}, labels)


class SourceFile(NamedTuple):
    """A published file: its place in the data folder, its checksum, where to download it."""

    name: str
    sha256: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetSpec:
    """A data set that can be loaded by name."""

    name: str
    about: str
    sizes: tuple[int, int, int]
    width: int
    files: tuple[SourceFile, ...]
    """what must be in the data folder; none for an embedded set"""
    load: Callable[..., Dataset]
    alternatives: tuple[tuple[SourceFile, ...], ...] = ()
    """other files that do as well"""
    n_values: int = 2
    """values that a unit can have"""

    def is_present(self) -> bool:
        """Whether its files are in the data folder (they are checked when used)."""
        from .folder import is_present

        return any(all(map(is_present, files)) for files in (self.files, *self.alternatives))


REGISTRY: dict[str, DatasetSpec] = {}


def register(spec: DatasetSpec) -> DatasetSpec:
    """Make a data set known by its name."""
    REGISTRY[spec.name] = spec
    return spec


def binarise(pixels: UInt8[np.ndarray, "n D"], how: str = "threshold", seed: int = 0) -> UInt8[np.ndarray, "n D"]:
    """Grey values 0 to 255 as bits: above half intensity ("threshold"), or one with probability value/255 ("stochastic")."""
    if how == "threshold":
        return (pixels > 127).astype(np.uint8)
    if how == "stochastic":
        uniform = np.random.default_rng(seed).integers(255, size=pixels.shape, dtype=np.uint8)  # 0 to 254
        return (uniform < pixels).astype(np.uint8)
    raise InputError(f"binarise={how!r}: use threshold or stochastic")
