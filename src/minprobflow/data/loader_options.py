"""Options of data sets: converted to the types that a loader declares, whether they come from Python or as text from a shell.

A loader's signature is the declaration: `def load(grey: bool = False)`. The types are bool, int, float, str, a fixed choice of
words (`Literal`), a tuple of floats or of names, and any of them or None; `Seed` is an int that can seed a generator, `Source` a file
or a frame. What an option means stands in the section "Args:" of the docstring.
"""

from __future__ import annotations

import inspect
import math
import reprlib
import shlex
import types
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from ..arguments import meant
from ..errors import InputError


class Range(NamedTuple):
    """The whole numbers that an option may have."""

    low: int
    high: int


Seed = Annotated[int, Range(0, 2**63 - 1)]
Source = Annotated[object, "a file, in Python also a frame"]
YES, NO, NONE = ("true", "yes", "on", "1"), ("false", "no", "off", "0"), ("none", "null", "")


class Option(NamedTuple):
    """An option of a data set or of a file."""

    name: str
    type: str
    default: object
    meaning: str


def declared(load: Callable[..., object]) -> list[Option]:
    """The options of a loader: name, type in words, default, meaning."""
    hints, meanings = _hints(load), _meanings(inspect.getdoc(_function(load)) or "")
    return [
        Option(p.name, _in_words(hints.get(p.name, object)), None if p.default is p.empty else p.default, meanings.get(p.name, ""))
        for p in _parameters(load)
    ]


def converted(load: Callable[..., object], given: dict[str, object], name: str) -> dict[str, object]:
    """The given options in the types that the loader declares; raises on one that it does not have or that does not convert."""
    known, hints = [p.name for p in _parameters(load)], _hints(load)
    for unknown in sorted(given.keys() - set(known)):
        raise InputError(f"{name} has no option {unknown!r}{meant(unknown, known)}: it has {', '.join(known) or 'none'}")
    return {option: _convert(value, hints.get(option, object), option, name) for option, value in given.items()}


def both_spellings(option: str, value: object) -> str:
    """An option as Python and as the command line spell it.

    >>> both_spellings("labels", "first")
    "labels='first' (on the command line: --data-option labels=first)"
    """
    text = str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    pasted = shlex.quote(f"{option}={text}")
    return f"{option}={text if isinstance(value, float) else repr(value)} (on the command line: --data-option {pasted})"


def dropping(column: int, names: Sequence[str] | None) -> str:
    """The option that leaves out a column: by its name, or by its number where that is clearer.

    >>> dropping(1, ("age", "id"))
    "drop='id' (on the command line: --data-option drop=id)"
    """
    name = names[column] if names is not None else ""
    clear = name and name.strip("'\" ") == name and not set(name) & set(",[]") and not name.isdecimal()
    return both_spellings("drop", name if clear and list(names or ()).count(name) == 1 else str(column))


def _function(load: Callable[..., object]) -> Callable[..., object]:
    return getattr(load, "func", load)  # of a functools.partial


def _hints(load: Callable[..., object]) -> dict[str, object]:
    return typing.get_type_hints(_function(load), include_extras=True)


def _parameters(load: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(load).parameters.values())


def _convert(value: object, wanted: object, option: str, name: str) -> object:
    try:
        return _as(_unquoted(value) if isinstance(value, str) else value, wanted)
    except (TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise InputError(f"option {option}={_shown(value)} of {name}: expected {_in_words(wanted)}") from problem


def _shown(value: object) -> str:
    try:
        text = reprlib.repr(value)
    except ValueError:  # an integer of thousands of digits
        return type(value).__name__
    return type(value).__name__ if " at 0x" in text else text  # an address says nothing


def _as(value: object, wanted: object) -> object:
    """`value` as the wanted type, or a ValueError or TypeError."""
    origin, choices = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _as_annotated(value, choices[1])
    if origin in (Union, types.UnionType):
        if value is None or (isinstance(value, str) and value.lower() in NONE):
            return None
        return _as(value, next(choice for choice in choices if choice is not type(None)))
    if origin is Literal:
        if not (isinstance(value, str) and value in choices):
            raise ValueError
        return value
    if origin is tuple:
        return _as_tuple(value, choices)
    plain: dict[object, Callable[[object], object]] = {bool: _as_bool, int: _as_int, float: _as_float, str: _as_text}
    return plain.get(wanted, lambda x: x)(value)


def _as_annotated(value: object, range_or_words: object) -> object:
    if not isinstance(range_or_words, Range):
        return None if isinstance(value, str) and value.lower() in NONE else value
    number = _as_int(value)
    if not range_or_words.low <= number <= range_or_words.high:
        raise ValueError
    return number


def _as_bool(value: object) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1)):
        return bool(value)
    if not isinstance(value, str) or value.lower() not in YES + NO:
        raise ValueError
    return value.lower() in YES


def _as_int(value: object) -> int:
    if isinstance(value, float | np.floating) and float(value).is_integer():  # 1e3 in a configuration file
        return int(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer | str):
        raise TypeError
    return int(value)


def _as_float(value: object) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number | str):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _as_tuple(value: object, kinds: tuple[object, ...]) -> tuple[object, ...]:
    if kinds[1:] == (...,):
        return _as_names(value)
    if isinstance(value, str):
        value = [part.strip() for part in value.strip("()[] ").split(",")]
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != len(kinds):
        raise ValueError
    return tuple(_as(part, kind) for part, kind in zip(value, kinds, strict=True))


def _as_names(value: object) -> tuple[str, ...]:
    """Names, or numbers that stand for them; text is split at commas."""
    if isinstance(value, str):
        inside = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        value = [_unquoted(part) for part in inside.split(",") if part.strip()]
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(part if isinstance(part, str) else str(_as_int(part)) for part in several)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _in_words(wanted: object) -> str:
    origin, choices = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        if isinstance(choices[1], str):
            return choices[1]
        high = choices[1].high
        return f"a whole number from {choices[1].low} to {f'2**{(high + 1).bit_length() - 1} - 1' if high > 10**6 else high}"
    if origin in (Union, types.UnionType):
        return ", ".join(_in_words(choice).replace(" or ", ", ") for choice in choices if choice is not type(None)) + " or none"
    if origin is Literal:
        return ", ".join(choices[:-1]) + f" or {choices[-1]}" if choices[1:] else choices[0]
    if origin is tuple and choices[1:] != (...,):
        return f"{len(choices)} finite numbers, such as 0.8,0.1,0.1" if set(choices) == {float} else f"{len(choices)} values"
    names: dict[object, str] = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}
    return "names separated by commas, in Python a list of names" if origin is tuple else names.get(wanted, "a value")


def _meanings(doc: str) -> dict[str, str]:
    """The section "Args:" of a docstring, by name; a meaning that goes over several lines becomes one."""
    _, _, section = doc.partition("Args:\n")
    found: dict[str, str] = {}
    depth = None
    for line in section.splitlines():
        indent = len(line) - len(line.lstrip())
        depth = indent if depth is None else depth
        if not line.strip() or indent < depth:
            break
        if indent == depth:
            name, _, meaning = line.strip().partition(": ")
            found[name] = meaning
        elif found:
            found[name] += " " + line.strip()
    return found
