"""The IDX format of MNIST."""

from __future__ import annotations

import math
import struct

import numpy as np

from ..errors import InputError

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """The array in an (unpacked) IDX file; raises if header and length disagree."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in DTYPES or not 1 <= content[3] <= 8:
        raise InputError(f"{name} is not an IDX file: its first four bytes are {content[:4].hex(' ')}")
    ndim = content[3]
    start = 4 + 4 * ndim
    if len(content) < start:
        raise InputError(f"{name} is cut off in its header: copy it again")
    shape = struct.unpack(f">{ndim}I", content[4:start])
    dtype = np.dtype(DTYPES[content[2]])
    if len(content) - start != math.prod(shape) * dtype.itemsize:
        raise InputError(f"{name} should hold {shape} values but has {len(content) - start} bytes of them: it is cut off or altered")
    return np.frombuffer(content, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))
