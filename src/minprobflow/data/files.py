"""Reading a table from a user's file."""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from pathlib import Path

import numpy as np

from .. import arguments
from ..columns import Table, named
from ..errors import InputError
from ..tables import within_memory
from .idx import parse_idx
from .limits import check_size, deflated_size, gunzip, max_bytes, unpacked
from .parquet import parse_parquet
from .text import parse_text

FORMATS = ".csv, .tsv, .parquet, .npy, .npz, .mat, IDX (-ubyte), .txt, .data or .amat, each of the text and IDX files also as .gz"
TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".amat")
PARQUET = (".parquet", ".pq")
KEYED = (".npz", ".mat")
PARTS = ("train", "valid", "test")


def read_table(name: str | os.PathLike[str]) -> np.ndarray:
    """The numbers in a file, one example per row (see `read_array`)."""
    table = read_cells(name)
    if table.words:
        column, words = next(iter(table.words.items()))
        word = next(word for word in words if word is not None)
        raise InputError(
            f"{shown(name)} holds words, such as {word[:40]!r} in column {column}{named(column, table.names)}: it must hold numbers"
        )
    return table.numbers


def read_cells(name: str | os.PathLike[str]) -> Table:
    """The cells of a file, one example per row: numbers and words, and the names of its columns if it has a header."""
    table = _table(name)
    if table.numbers.ndim < 2:
        raise InputError(f"{shown(name)} holds an array of shape {table.numbers.shape}: expected a table with one example per row")
    return table


def read_array(name: str | os.PathLike[str]) -> np.ndarray:
    """The numbers in a file, of any shape. `FILE.npz:KEY` and `FILE.mat:KEY` name one of several arrays.

    What the numbers mean is not checked here; that the file is whole and holds numbers is. What a packed file may unpack to is
    limited (see `limits`).
    """
    return _table(name).numbers


def parts_in(name: str) -> list[str]:
    """Which of train, valid and test a .npz file holds, if it holds nothing else and train is among them."""
    if not name.endswith(".npz"):
        return []
    try:
        with zipfile.ZipFile(existing(name)) as archive:
            keys = [info.filename.removesuffix(".npy") for info in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []  # reading it says what is wrong
    return [part for part in PARTS if part in keys] if "train" in keys and len(keys) > 1 and set(keys) <= set(PARTS) else []


def _table(name: str | os.PathLike[str]) -> Table:
    path, key = _split_key(text_path(name))
    file = existing(path)
    try:
        with within_memory(f"{shown(path)} ({file.stat().st_size:,} bytes)", "use a machine with more memory, or a file with fewer rows"):
            table = _read(file, key)
    except InputError:
        raise
    except Exception as problem:  # readers of foreign formats raise whatever they like on damaged files
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"{path} cannot be read ({reason}): is it whole, and of the format its name says?") from problem
    array = table.numbers
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values: it must hold numbers")
    if array.size == 0:
        raise InputError(f"{name} holds an array of shape {array.shape}: expected a table with one example per row")
    return table


def existing(name: str | os.PathLike[str]) -> Path:
    """The path of a file, if there is one."""
    path = text_path(name)
    try:
        file = Path(path)
        found, folder = file.is_file(), file.is_dir()
    except (OSError, ValueError) as problem:  # too long, or with a NUL byte
        raise InputError(f"{shown(path)} is not a file name ({getattr(problem, 'strerror', None) or problem}): check the path") from problem
    if folder:
        raise InputError(f"{shown(path)} is a folder: give the path of a file in it")
    if not found:
        raise InputError(f"there is no file {shown(path)}: check the path")
    return file


def text_path(name: object) -> str:
    """A path as text."""
    text = os.fspath(name) if isinstance(name, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InputError(f"the name of a data set or file is {arguments.shown(name)}: pass text or a pathlib.Path")
    return text


def shown(name: object) -> str:
    """A name as messages show it: cut if it is long, escaped if it does not print."""
    text = str(name) if isinstance(name, str | os.PathLike) else repr(name)
    cut = text if len(text) <= 200 else f"{text[:60]}... ({len(text):,} characters)"
    return cut if cut.isprintable() else repr(cut)


def _split_key(name: str) -> tuple[str, str]:
    for suffix in KEYED:
        if f"{suffix}:" in name:
            path, _, key = name.rpartition(":")
            return path, key
    return name, ""


def _read(file: Path, key: str) -> Table:
    content = file.read_bytes()
    name = file.name
    if name.endswith(".gz"):
        content, name = gunzip(content, str(file)), name[:-3]
    suffix = Path(name).suffix
    if suffix in TEXT:
        return parse_text(content, str(file))
    if suffix in PARQUET:
        return parse_parquet(content, str(file))
    if suffix == ".npy":
        return Table(_from_npy(content, str(file)))
    if suffix == ".npz":
        return Table(_from_npz(content, file, key))
    if suffix == ".mat":
        return Table(_from_mat(content, file, key))
    if name.endswith("-ubyte") or suffix == ".idx":
        return Table(parse_idx(content, str(file)))
    raise InputError(f"{file} is of a format that cannot be read: use one of {FORMATS}")


def _from_npy(content: bytes, name: str) -> np.ndarray:
    """The header may claim any shape, and numpy would allocate it: compare it with what is there first."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    claimed, there = math.prod(map(int, shape)) * dtype.itemsize, len(content) - stream.tell()
    if claimed > there and not dtype.hasobject:
        raise InputError(f"{name} claims an array of shape {shape}, {claimed:,} bytes, but holds {there:,}: it is cut off or altered")
    stream.seek(0)
    return np.asarray(np.load(stream, allow_pickle=False))


def _from_npz(content: bytes, file: Path, key: str) -> np.ndarray:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        name = _chosen(file, key, list(members))
        member = members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{file} is packed in a way that numpy does not use: write it again with numpy.savez_compressed")
        check_size(member.file_size, f"{file}:{name}")
        return _from_npy(unpacked(lambda: archive.open(member), f"{file}:{name}", member.compress_size), f"{file}:{name}")


def _from_mat(content: bytes, file: Path, key: str) -> np.ndarray:
    import scipy.io

    check_size(_mat_size(content), str(file), f"more than {max_bytes():,} bytes (from {len(content):,})")
    variables = {k: v for k, v in scipy.io.loadmat(io.BytesIO(content)).items() if isinstance(v, np.ndarray) and not k.startswith("__")}
    return np.asarray(variables[_chosen(file, key, list(variables))])


def _mat_size(content: bytes) -> int:
    """What the packed variables of a MATLAB 5 file unpack to, or the first count beyond the cap; other versions do not pack."""
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    size, place = 0, 128
    while order and place + 8 <= len(content) and size <= max_bytes():
        kind, length = struct.unpack(f"{order}II", content[place : place + 8])
        if kind == 15:  # miCOMPRESSED
            size += deflated_size(content[place + 8 : place + 8 + length], max_bytes() - size)
        place += 8 + length
    return size


def _chosen(file: Path, key: str, keys: list[str]) -> str:
    if key and key not in keys:
        raise InputError(f"{file} has no array {key!r}: it holds {', '.join(keys)}")
    if not key and len(keys) != 1:
        raise InputError(f"{file} holds the arrays {', '.join(keys)}: name one, as in {file}:{next(iter(keys), 'NAME')}")
    return key or keys[0]
