"""Checks of arguments: each returns the value in plain Python types, or raises an `InputError` that says what to pass instead."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
import os
from collections.abc import Iterable
from numbers import Real
from typing import SupportsFloat, SupportsIndex, TypeVar

from .errors import InputError

LARGEST = 2**31 - 1  # what a 32-bit counter or index holds
LARGEST_SEED = 2**63 - 1
LONGEST_NAME = 255

Limit = int | float
Function = TypeVar("Function")


def shown(value: object) -> str:
    """A value in an error message: short, and never an error itself."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        if getattr(value, "ndim", 0) != 0:
            return f"an array of {value.dtype} and shape {tuple(value.shape)}"
        if value.shape == () and getattr(value.dtype, "kind", "") in ("b", "i", "u", "f", "c"):
            return f"{value} ({value.dtype})"
    if not isinstance(value, str | bytes | bool | int | float | complex | None):
        return f"a value of type {type(value).__name__}"
    if isinstance(value, int) and abs(value) >= 10**20:
        return "an integer of more than 20 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole(name: str, value: object, low: int = 0, high: int = LARGEST, hint: str = "") -> int:
    """A whole number within [low, high]. NumPy's integers and 0-d arrays of them count; booleans and 2.0 do not.

    Args:
        hint: what to do, where the range alone does not say it.
    """
    expected = f"a whole number from {low} to {high}" if high < LARGEST else f"a whole number of at least {low}"
    advice = f"; {hint}" if hint else ""
    try:
        number = operator.index(value) if isinstance(value, SupportsIndex) else None
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        near = _nearest_whole(value)
        use = f": use {near}" if near is not None and low <= near <= high else ""
        raise InputError(f"{name}={shown(value)}, expected {expected}{use}{advice}") from None
    if not low <= number <= high:
        beyond = f" and at most {high}" if number > high == LARGEST else ""
        raise InputError(f"{name}={shown(number)}, expected {expected}{beyond}{advice}")
    return number


def number(
    name: str, value: object, low: Limit = -math.inf, high: Limit = math.inf, *, above: Limit | None = None, hint: str = ""
) -> float:
    """A finite real number within [low, high], and above `above`. NumPy's numbers and 0-d arrays count; booleans and text do not."""
    ends = [] if high == math.inf else [f"at most {high:g}"]
    if above is not None:
        ends = [f"above {above:g}", *ends]
    elif low != -math.inf:
        ends = [f"of at least {low:g}", *ends]
    expected = f"a finite number {' and '.join(ends)}".strip() + (f"; {hint}" if hint else "")
    real = _real(value)
    if real is None:
        raise InputError(f"{name}={shown(value)}, expected {expected}")
    if not math.isfinite(real) or not low <= real <= high or (above is not None and real <= above):
        raise InputError(f"{name}={shown(value if isinstance(value, int | float) else real)}, expected {expected}")
    return real


def any_number(name: str, value: object) -> float:
    """One real number, finite or not."""
    real = _real(value)
    if real is None:
        raise InputError(f"{name}={shown(value)}, expected a number")
    return real


def flag(name: str, value: object) -> bool:
    """True or False, or NumPy's."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InputError(f"{name}={shown(value)}: use True or False")


def choice(name: str, value: object, options: Iterable[str], hint: str = "") -> str:
    """One of these names."""
    known = list(options)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {name} {shown(value)}: use one of {', '.join(known)}{hint}")
    return value


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to this one, as a question in brackets; nothing if none is near."""
    near = difflib.get_close_matches(name[:100], list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def seed(name: str, value: object, count: int = 1) -> int:
    """A seed from 0 to 2^63 - 1, from which `count` consecutive ones start."""
    try:
        return whole(name, value, 0, LARGEST_SEED - count + 1)
    except InputError:
        last = "2^63 - 1" if count == 1 else f"2^63 - {count}, so that all {count} replicas have one"
        raise InputError(f"{name}={shown(value)}, expected a seed: use a whole number from 0 to {last}") from None


def function(name: str, value: Function, takes: str, count: int | None = None) -> Function:
    """Something that can be called; `takes` says with what, and `count` with how many arguments."""
    if not callable(value) or isinstance(value, type):
        raise InputError(f"{name}={shown(value)}: pass a function of {takes}")
    try:
        if count is not None:
            inspect.signature(value).bind(*[None] * count)
    except TypeError as problem:
        raise InputError(f"{name} is a function of other arguments ({problem}): pass a function of {takes}") from None
    except ValueError:  # some that are written in C have no signature
        pass
    return value


def path(name: str, value: object) -> str:
    """The name of a file."""
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and text and "\0" not in text:
            if max(len(os.fsencode(part)) for part in text.split(os.sep)) > LONGEST_NAME:
                raise InputError(f"{name} has a part of more than {LONGEST_NAME} bytes, which no file system takes: choose a shorter name")
            return text
    raise InputError(f"{name}={shown(value)}: pass the path of a file as text or a pathlib.Path")


def room(what: str, *shape: int) -> None:
    """Raise where an array of this shape would have more entries than can be indexed."""
    entries = math.prod(shape)
    if entries > LARGEST:
        sizes = " x ".join(str(size) for size in shape)
        raise InputError(f"{what} would have {sizes} entries, or {4e-9 * entries:,.0f} GB: choose smaller sizes")


def _real(value: object) -> float | None:
    if isinstance(value, bool | str | bytes) or type(value).__name__ in ("bool", "bool_") or getattr(value, "shape", ()) != ():
        return None
    if getattr(getattr(value, "dtype", None), "kind", "f") not in "iufV":  # V: bfloat16 and the like
        return None
    if not isinstance(value, SupportsFloat | SupportsIndex):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if isinstance(value, Real) and value < 0 else math.inf
    except (TypeError, ValueError):
        return None


def _nearest_whole(value: object) -> int | None:
    real = _real(value)
    return int(real) if real is not None and math.isfinite(real) and real == int(real) else None
