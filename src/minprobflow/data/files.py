"""Reading a table of numbers from a user's file."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ..errors import InputError

FORMATS = ".npy, .npz, .csv, .csv.gz"


def read_table(name: str) -> np.ndarray:
    """The rows of a .npy, .npz, .csv or .csv.gz file. `FILE.npz:KEY` names one of several arrays.

    What the numbers mean is not checked here; that the file is whole and holds a table of numbers is.
    """
    path, _, key = name.rpartition(":") if ".npz:" in name else (name, "", "")
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}: check the path")
    try:
        if file.suffix == ".npy":
            return _numbers(np.load(file, allow_pickle=False), name)
        if file.suffix == ".npz":
            return _numbers(_from_npz(file, key), name)
        if file.suffixes[-2:] == [".csv", ".gz"] or file.suffix == ".csv":
            return _from_csv(file)
    except InputError:
        raise
    except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, MemoryError, SyntaxError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"{path} cannot be read ({reason}): is it whole, and of the format its name says?") from problem
    raise InputError(f"{path} is of a format that cannot be read: use one of {FORMATS}")


def _numbers(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values: it must hold numbers")
    return array


def _from_npz(file: Path, key: str) -> np.ndarray:
    with np.load(file, allow_pickle=False) as arrays:
        keys = ", ".join(arrays.files)
        if not key and len(arrays.files) != 1:
            raise InputError(f"{file} holds the arrays {keys}: name one, as in {file}:{next(iter(arrays.files), 'NAME')}")
        if key and key not in arrays.files:
            raise InputError(f"{file} has no array {key!r}: it holds {keys}")
        return np.asarray(arrays[key or arrays.files[0]])


def _from_csv(file: Path) -> np.ndarray:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        text = lines.read()
    if not text.strip():
        raise InputError(f"{file} is empty: it must hold one example a line")
    delimiter = "," if "," in text else None
    try:
        return np.loadtxt(text.splitlines(), delimiter=delimiter, ndmin=2)
    except ValueError as problem:
        raise InputError(
            f"{file} is not a table of numbers ({problem}): one example a line, no header, separated by commas or spaces"
        ) from problem
