"""JSON records that notice damage: whole files with a digest, and files with one checked record per line.

Records without a check, as older releases wrote them, are read as they are.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DamagedFileError
from .files import as_json, write_atomically

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:
    Json = object  # run-time checks of types cannot follow a type that names itself
"""what JSON can hold"""
FORMAT_VERSION = 2
"""records from version 2 on must have their digest"""


def write_record(path: str | os.PathLike[str], record: Mapping[str, object]) -> None:
    """Write a record with its digest, atomically."""
    whole = {"format_version": FORMAT_VERSION, **plain(record)}
    write_atomically(path, (json.dumps({**whole, "digest": _digest(whole)}, indent=1) + "\n").encode())


def read_record(path: str | os.PathLike[str]) -> dict[str, Json]:
    """What `write_record` wrote, less version and digest; `DamagedFileError` if it was altered, `OSError` if it cannot be read."""
    try:
        record = json.loads(Path(path).read_bytes().decode())
    except (ValueError, RecursionError) as problem:
        raise DamagedFileError(f"{path} is damaged ({str(problem)[:200]}): restore it from a copy") from problem
    if not isinstance(record, dict):
        raise DamagedFileError(f"{path} is damaged: it holds a {type(record).__name__}, not a record. Restore it from a copy")
    digest = record.pop("digest", None)
    if (digest is not None or "format_version" in record) and digest != _digest(record):
        raise DamagedFileError(f"{path} has been altered since it was written (its digest is wrong): restore it from a copy")
    record.pop("format_version", None)
    return record


def append_line(path: str | os.PathLike[str], record: Mapping[str, object]) -> None:
    """Append a record as one line with its checksum, flushed to the disk: there whole or, after a failure, not at all.

    A last line that an earlier writer could not finish is removed first; a whole record that only lacks its end is completed.
    """
    text = json.dumps(record)
    line = f'{text[:-1]}{", " if record else ""}"crc32": "{_crc(text)}"}}\n'.encode()
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if file.read(1) not in (b"", b"\n"):
            file.seek(0)
            lines, tail = _lines(file.readall())
            size = sum(len(entry) + 1 for entry in lines) + sum(map(len, tail))
            file.truncate(size)
            file.seek(size)
            size += file.write(b"\n" * len(tail)) or 0
        file.seek(size)
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(size)
            raise


def read_lines(path: str | os.PathLike[str]) -> tuple[list[dict[str, Json]], int]:
    """The records of a file that are whole, and the number of lines that are damaged. A line without an end may be just being written."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return [], 0
    records, damaged, checked = [], 0, False
    lines, tail = _lines(content)
    for line in filter(bytes.strip, [*lines, *tail]):
        record = _parsed(line)
        check = None if record is None else record.pop("crc32", None)
        checked |= check is not None or any(_is_misspelt(name) for name in record or ())
        if record is None or (checked and check != _crc(json.dumps(record))):  # older releases wrote lines without
            damaged += 1
        else:
            records.append(record)
    return records, damaged


def _is_misspelt(name: str) -> bool:
    """Whether this is the name of a checksum with one character changed: the line had one."""
    return len(name) == len("crc32") and sum(a != b for a, b in zip(name, "crc32", strict=True)) == 1


def _lines(content: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines with an end, and the record in what follows the last one, if it is whole."""
    *lines, rest = content.split(b"\n")
    try:
        record, end = json.JSONDecoder().raw_decode(rest.decode(errors="replace"))
    except (ValueError, RecursionError):
        return lines, []
    return lines, [rest[:end]] if isinstance(record, dict) else []


def _parsed(line: bytes) -> dict[str, Json] | None:
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _digest(record: Mapping[str, object]) -> str:
    return hashlib.sha256(as_json(record).encode()).hexdigest()


def plain(record: Mapping[str, object]) -> dict[str, Json]:
    """A record as it is read back from JSON. JSON has no infinity: a number that is not finite is null."""
    return json.loads(json.dumps(_finite(dict(record)), default=str))


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
