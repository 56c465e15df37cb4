"""Reading a table of numbers from a user's file."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

import numpy as np

from ..errors import InputError
from .idx import parse_idx

FORMATS = ".npy, .npz, .csv, .mat, IDX (-ubyte), .txt, .data or .amat, each of the text and IDX files also as .gz"
TEXT = (".csv", ".txt", ".data", ".amat")
KEYED = (".npz", ".mat")


def read_table(name: str) -> np.ndarray:
    """The numbers in a file, an example a row (see `read_array`)."""
    array = read_array(name)
    if array.ndim < 2:
        raise InputError(f"{name} holds an array of shape {array.shape}: expected a table with one example a row")
    return array


def read_array(name: str) -> np.ndarray:
    """The numbers in a file, of any shape. `FILE.npz:KEY` and `FILE.mat:KEY` name one of several arrays.

    What the numbers mean is not checked here; that the file is whole and holds numbers is.
    """
    path, key = _split_key(name)
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}: check the path")
    try:
        array = _read(file, key)
    except InputError:
        raise
    except MemoryError as problem:
        raise InputError(f"{path} claims to hold more than fits into memory: is it whole?") from problem
    except Exception as problem:  # readers of foreign formats raise whatever they like on damaged files
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"{path} cannot be read ({reason}): is it whole, and of the format its name says?") from problem
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values: it must hold numbers")
    if array.size == 0:
        raise InputError(f"{name} holds an array of shape {array.shape}: expected a table with one example a row")
    return array


def read_labelled(name: str, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """A table without its label column ("first" or "last"), and the labels."""
    if labels not in ("first", "last"):
        raise InputError(f"labels={labels!r}: say whether the first or the last column holds them")
    table = read_table(name)
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"{name} has shape {table.shape}: there is no column to take for labels")
    column, rest = (table[:, 0], table[:, 1:]) if labels == "first" else (table[:, -1], table[:, :-1])
    if not np.array_equal(column, np.asarray(column, np.int64)):
        raise InputError(f"the {labels} column of {name} does not hold whole numbers: it cannot be labels")
    return rest, column.astype(np.int64)


def _split_key(name: str) -> tuple[str, str]:
    for suffix in KEYED:
        if f"{suffix}:" in name:
            path, _, key = name.rpartition(":")
            return path, key
    return name, ""


def _read(file: Path, key: str) -> np.ndarray:
    content = file.read_bytes()
    name = file.name
    if name.endswith(".gz"):
        content, name = _unpacked(content, file), name[:-3]
    suffix = Path(name).suffix
    if suffix == ".npy":
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
    if suffix == ".npz":
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return np.asarray(arrays[_chosen(file, key, list(arrays.files))])
    if suffix == ".mat":
        import scipy.io

        variables = {k: v for k, v in scipy.io.loadmat(io.BytesIO(content)).items() if isinstance(v, np.ndarray) and not k.startswith("__")}
        return np.asarray(variables[_chosen(file, key, list(variables))])
    if suffix in TEXT:
        return _from_text(content, file)
    if name.endswith("-ubyte") or suffix == ".idx":
        return parse_idx(content, str(file))
    raise InputError(f"{file} is of a format that cannot be read: use one of {FORMATS}")


def _unpacked(content: bytes, file: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"{file} cannot be unpacked ({problem}): it is cut off, or no gzip file") from problem


def _chosen(file: Path, key: str, keys: list[str]) -> str:
    if key and key not in keys:
        raise InputError(f"{file} has no array {key!r}: it holds {', '.join(keys)}")
    if not key and len(keys) != 1:
        raise InputError(f"{file} holds the arrays {', '.join(keys)}: name one, as in {file}:{next(iter(keys), 'NAME')}")
    return key or keys[0]


def _from_text(content: bytes, file: Path) -> np.ndarray:
    text = content.decode("utf-8")
    if not text.strip():
        raise InputError(f"{file} is empty: it must hold one example a line")
    lines = text.splitlines()
    if set(text) <= set("01\r\n") and len(lines[0]) > 1:  # bits without separators
        widths = {len(line) for line in lines if line}
        if len(widths) > 1:
            raise InputError(f"{file} has lines of different length: each must hold one example")
        return np.asarray([[int(bit) for bit in line] for line in lines if line], np.uint8)
    try:
        return np.loadtxt(lines, delimiter="," if "," in text else None, ndmin=2)
    except ValueError as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(
            f"{file} is not a table of numbers ({reason}): one example a line, no header, separated by commas or spaces"
        ) from problem
