"""A case and its verdict, shared by all campaigns."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minprobflow.errors import InputError, TrainingDiverged

GOOD = "good"
FAILURES = ("tracebacks", "silent changes", "lost records", "hangs", "others")
TRACEBACK, SILENT, LOST, HANG, OTHER = FAILURES


class Outcome(NamedTuple):
    """A verdict, why, and how many attempts it stands for."""

    kind: str
    detail: str = ""
    tried: int = 1


class Case(NamedTuple):
    """Something to try, and what to call it."""

    label: str
    run: Callable[[], Outcome]


class Seen(NamedTuple):
    """How an action ended: with a value or a refusal, and what was said about it."""

    value: Any
    words: str
    refusal: str | None


def selected(cases: Iterator[Case], shard: str, share: float) -> Iterator[tuple[int, Case]]:
    """Cases with their numbers, thinned out to a share: always the same ones, and always the first."""
    for i, case in enumerate(cases):
        if i == 0 or zlib.crc32(f"{shard} {i}".encode()) < share * 2**32:
            yield i, case


def watched(action: Callable[[], Any]) -> Seen | Outcome:
    """Run an action; an exception that is no `InputError` is a verdict already."""
    said = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(said):
        warnings.simplefilter("always")
        try:
            value, refusal = action(), None
        except (InputError, TrainingDiverged) as problem:
            value, refusal = None, f"{type(problem).__name__}: {problem}"
        except Exception as problem:
            return Outcome(TRACEBACK, describe(problem))
    return Seen(value, said.getvalue() + "".join(str(w.message) for w in caught if issubclass(w.category, UserWarning)), refusal)


def describe(problem: BaseException) -> str:
    """An exception and the last line of this package that it passed through."""
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if "minprobflow" in f.filename]
    text = " ".join(str(problem).split())[:200]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(problem).__name__}: {text}{where}"


def unchanged(seen: Seen | Outcome, expected: str, *, may_refuse: bool = True) -> Outcome:
    """The verdict on a damaged input: the same value as before, or a refusal."""
    if isinstance(seen, Outcome):
        return seen
    if seen.refusal is not None:
        return Outcome(GOOD if may_refuse else OTHER, seen.refusal)
    if fingerprint(seen.value) == expected:
        return Outcome(GOOD)
    return Outcome(SILENT, f"another result: {seen.words[:200] or 'without a word'}")


def fingerprint(value: Any) -> str:
    """Equal for values that are equal bit for bit, whatever they are made of."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    yield type(value).__name__.encode()
    if isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key])
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _parts(entry)
    elif isinstance(value, np.ndarray) or type(value).__module__.startswith("jax"):
        yield from _array_parts(value)
    elif isinstance(value, bytes):
        yield value
    else:
        yield repr(value).encode()
    yield b";"


def _array_parts(value: Any) -> Iterator[bytes]:
    if "key<" in str(value.dtype):
        jax = sys.modules["jax"]
        value = jax.random.key_data(value)
    array = np.asarray(value)
    yield f"{array.dtype}{array.shape}".encode()
    yield np.ascontiguousarray(array).tobytes()


def flipped(content: bytes, bit: int) -> bytes:
    """With one bit changed."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
