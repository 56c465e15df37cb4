"""How much a packed file may unpack to.

A gzip file of 9 MB can unpack to 9 GB. Packed input is therefore unpacked in chunks, and refused when it grows beyond a cap: 4 GiB
or half of the machine's memory, whichever is smaller, or what the environment variable MINPROBFLOW_MAX_BYTES says.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable
from typing import IO

from ..errors import InputError

Stream = IO[bytes] | gzip.GzipFile
VARIABLE = "MINPROBFLOW_MAX_BYTES"
DEFAULT = 4 * 2**30
CHUNK = 2**20
KEPT = 2**28  # a packed file larger than this is measured before any more of it is kept
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def max_bytes() -> int:
    """The cap, in bytes: MINPROBFLOW_MAX_BYTES (such as 2000000000, 2GB or 1.5GiB), or the default."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return min(DEFAULT, _memory() // 2)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?|)b?", text.lower())
    if match is None or (size := int(float(match[1]) * UNITS[match[2]])) < 1:
        raise InputError(f"{VARIABLE} is {text!r}: give a positive number of bytes, such as 2000000000, 2GB or 1.5GiB")
    return size


def check_size(size: int, name: str, amount: str | None = None) -> None:
    """Raise if `size` bytes are more than the cap; `amount` is how messages put the size."""
    if size > max_bytes():
        raise InputError(
            f"{name} unpacks to {amount or readable(size)}, and the cap is {readable(max_bytes())}: "
            f"if you trust the file and have the memory, set the environment variable {VARIABLE}, for example to {_next_cap(size)}"
        )


def unpacked(open_stream: Callable[[], Stream], name: str, packed: int) -> bytes:
    """All that a stream of `packed` bytes unpacks to, if that is within the cap; a larger one is abandoned, and most of it never kept."""
    kept, size = [], 0
    with open_stream() as stream:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            check_size(size, name, f"more than {readable(max_bytes())} (from {readable(packed)})")
            if size <= KEPT:
                kept.append(chunk)
    if size <= KEPT:
        return b"".join(kept)
    kept.clear()
    with open_stream() as stream:
        return stream.read(size)


def gunzip(content: bytes, name: str) -> bytes:
    """The content of a gzip file, within the cap."""
    try:
        return unpacked(lambda: gzip.open(io.BytesIO(content)), name, len(content))
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"{name} cannot be unpacked ({problem}): it is cut off, or not a gzip file") from problem


def deflated_size(content: bytes, cap: int) -> int:
    """How many bytes a zlib stream unpacks to, or the first count beyond `cap`; nothing is kept."""
    engine, size = zlib.decompressobj(), 0
    for start in range(0, len(content), CHUNK):
        waiting = content[start : start + CHUNK]
        while waiting and not engine.eof and size <= cap:
            size += len(engine.decompress(waiting, CHUNK))
            waiting = engine.unconsumed_tail
    return size


def readable(size: int) -> str:
    """A number of bytes as people write it.

    >>> readable(3 * 2**30)
    '3.0 GiB'
    """
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"


def _next_cap(size: int) -> str:
    return f"{max(1, -(-2 * size // 2**30))}GiB"


def _memory() -> int:
    """This machine's memory in bytes; where the system does not say, enough for the default cap."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2 * DEFAULT
