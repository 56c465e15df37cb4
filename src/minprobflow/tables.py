"""Turning what a caller passes into a numpy array of numbers, or saying why it is not one. Numpy only.

Every function that takes rows or parameters comes through here, so that a mask, a ragged list or a whole data set is treated
alike everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Num

from .columns import MISSING_ROWS, PAIRS, codes, named
from .errors import InputError
from .frames import is_frame, read_frame

DENSE_BYTES = 2**30  # a sparse matrix that takes more than this when dense is refused


@runtime_checkable
class Sparse(Protocol):
    """A sparse matrix, of whichever package."""

    shape: tuple[int, ...]
    dtype: np.dtype
    nnz: int

    def toarray(self) -> np.ndarray: ...


def numbers(
    data: object, name: str, wanted: str = "numbers", masked_as_nan: bool = False, remedy: str = MISSING_ROWS
) -> Num[np.ndarray, ...]:
    """`data` as an array of bool, integer or float, of any shape.

    Args:
        data: an array, a nested list, a masked array, a sparse matrix, or a data frame of numbers, bools and words such as yes and no.
        name: what messages call it.
        wanted: what messages ask for.
        masked_as_nan: return masked entries as NaN instead of refusing them.
        remedy: what to do about masked entries.

    >>> numbers([[0, 1], [1, 0]], "data").shape
    (2, 2)
    """
    array = _array(data, name, wanted)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values: pass {wanted}, as bool, integer or float")
    if masked_as_nan:
        return np.where(np.ma.getmaskarray(array), np.nan, np.asarray(array, np.float64))
    refuse_masked(array, name, remedy)
    return np.asarray(array)


def table(data: object, name: str, wanted: str = "numbers") -> Num[np.ndarray, "n width"] | Bool[np.ndarray, "n width"]:
    """`data` as rows of numbers: two axes, at least one entry, nothing masked."""
    array = numbers(data, name, wanted)
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}, expected a table (examples, units): "
            "reshape images with x.reshape(len(x), -1), a single example with x[None]"
        )
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): pass at least one example and one unit")
    return array


def refuse_masked(array: object, name: str, remedy: str = MISSING_ROWS) -> None:
    """Raise if `array` is a masked array with a masked entry: numpy drops the mask without a word when it converts one."""
    if isinstance(array, np.ma.MaskedArray):
        _refuse_at(np.ma.getmaskarray(array), name, "masked", remedy)


def refuse_missing(array: Num[np.ndarray, ...], name: str, columns: Sequence[str] | None = None) -> None:
    """Raise if any entry is NaN: where the first one is, how many there are, and what can be done."""
    if array.dtype.kind == "f":
        _refuse_at(np.isnan(array), name, "NaN", MISSING_ROWS, columns)


@contextmanager
def within_memory(name: str, remedy: str) -> Iterator[None]:
    """Report a lack of memory as an `InputError` that says how much was needed and what to do."""
    try:
        yield
    except MemoryError as problem:
        reason = str(problem).splitlines()[0].rstrip(".") if str(problem) else "memory ran out"
        raise InputError(f"{name} does not fit in memory ({reason}): {remedy}") from problem


def _refuse_at(missing: np.ndarray, name: str, how: str, remedy: str, columns: Sequence[str] | None = None) -> None:
    if missing.any():
        place = np.argwhere(missing)[0]
        at = f"row {place[0]}, column {place[1]}{named(int(place[1]), columns)}" if len(place) == 2 else f"index {tuple(map(int, place))}"
        count = int(missing.sum())
        raise InputError(f"{name} has {count:,} missing value{'s' if count > 1 else ''} ({how}), the first at {at}: {remedy}")


def refuse_first(wrong: np.ndarray, array: np.ndarray, name: str, why: str, columns: Sequence[str] | None = None) -> None:
    """Raise at the first wrong entry, if there is one."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"{name} has {array[row, column]} at row {row}, column {column}{named(int(column), columns)}{why}")


def _array(data: object, name: str, wanted: str) -> np.ndarray:
    if data is None or isinstance(data, str | bytes):
        raise InputError(f"{name} is {'None' if data is None else f'the text {data[:40]!r}'}: pass {wanted}, as an array or a nested list")
    if isinstance(data, tuple) and {"train", "valid", "test"} <= set(getattr(data, "_fields", ())):
        raise InputError(f"{name} is a whole data set with three parts: pass one part, such as dataset.train")
    if isinstance(data, Sparse):
        return _dense(data, name)
    try:
        rows_masked = isinstance(data, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in data)
        array = np.ma.array(data) if rows_masked else np.asanyarray(data)
        return _of_frame(data, name) if is_frame(data) and array.dtype.kind not in "biuf" else array
    except (MemoryError, InputError):
        raise
    except Exception as problem:  # foreign array types raise whatever they like
        reason = str(problem).splitlines()[0].rstrip(".") if str(problem) else type(problem).__name__
        why = "has rows of different lengths" if "inhomogeneous" in reason else f"cannot be read as an array ({reason})"
        raise InputError(f"{name} {why}: pass {wanted}, as an array or as a list of rows of equal length") from problem


def _dense(data: Sparse, name: str) -> np.ndarray:
    size = int(np.prod([int(n) for n in data.shape], dtype=object)) * data.dtype.itemsize
    if size > DENSE_BYTES:
        raise InputError(
            f"{name} is a sparse matrix of shape {data.shape} that takes {size / 2**30:.1f} GiB when dense: pass fewer rows at a time, "
            "or convert it with .astype('uint8').toarray()"
        )
    return np.asarray(data.toarray())


def _of_frame(frame: object, name: str) -> np.ndarray:
    """The numbers of a frame that holds more than numbers. Only words with a fixed meaning have one, whatever the other rows are."""
    read = read_frame(frame, name)
    for column, words in read.words.items():
        present = words != None  # noqa: E711
        folded = {word.casefold() for word in words[present]}
        pair = next((pair for pair in PAIRS if folded <= set(pair)), None)
        if pair is None:
            raise InputError(
                f"{name}: column {column}{named(column, read.names)} holds words such as {words[present][0][:40]!r}: "
                "pass the frame to mpf.load_dataset, which gives every word a number and remembers it"
            )
        read.numbers[:, column] = np.nan
        read.numbers[present, column] = codes(words[present], pair)
    return read.numbers
