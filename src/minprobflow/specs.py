"""Settings as frozen dataclasses: the name, type, default and sentence of each field.

Flags, configuration files, records, the parameters of the estimator and the tables in the documentation are made from these, so that
a setting is written down once: `k: int = 5`, and below it a string that says what it means.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from .arguments import shown
from .errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
PLAIN = (bool, int, float, str, dict)  # what a file or a flag can state


class Setting(NamedTuple):
    """A field of a spec."""

    name: str
    kinds: tuple[type, ...]
    """the plain types that its value may have"""
    choices: tuple[str, ...]
    others: bool
    """whether it may be something else: None, a function, an object"""
    default: Any
    help: str

    def check(self, value: Any, source: str) -> Any:
        """A value as a file states it, if it is of the right type; whole numbers count as real ones."""
        if self.others and not isinstance(value, (*PLAIN, list)):
            return value
        if isinstance(value, self.kinds) and (bool in self.kinds or not isinstance(value, bool)):
            if self.choices and value not in self.choices:
                raise InputError(f"{source}: {self.name} is {shown(value)}, expected one of {', '.join(self.choices)}")
            return value
        if float in self.kinds and type(value) is int and abs(value) < 2**53:
            return float(value)
        wanted = " or ".join("table" if kind is dict else kind.__name__ for kind in self.kinds)
        raise InputError(f"{source}: {self.name} is {shown(value)}, expected {wanted}")


@cache
def settings_of(spec: type) -> dict[str, Setting]:
    """The settings of a dataclass by name, in order.

    >>> from minprobflow.rules import CD
    >>> settings_of(CD)["refresh"].help
    'updates made with one draw of particles'
    """
    hints, sentences = get_type_hints(spec), _sentences(spec)
    found = {}
    for field in dataclasses.fields(spec):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        found[field.name] = Setting(field.name, *_kinds(hints[field.name]), default, sentences.get(field.name, ""))
    return found


def union(specs: Iterable[type]) -> dict[str, list[type]]:
    """Every setting that one of the specs has, and the specs that have it."""
    having: dict[str, list[type]] = {}
    for spec in specs:
        for name in settings_of(spec):
            having.setdefault(name, []).append(spec)
    return having


def check_settings(what: str, spec: type, settings: Mapping[str, Any], family: Mapping[str, type] | None = None) -> None:
    """Raise on a setting that the spec does not have; name those of its family (name to spec) that have it."""
    own = settings_of(spec)
    for unknown in sorted(settings.keys() - own.keys()):
        having = [name for name, other in (family or {}).items() if unknown in settings_of(other)]
        where = f" ({', '.join(having)} {'have' if len(having) > 1 else 'has'} it)" if having else ""
        raise InputError(f"{what} has no setting {unknown!r}: it has {', '.join(own) or 'none'}{where}")


def near(name: str, known: Iterable[str]) -> str:
    """Words that suggest the name that may have been meant, or list all."""
    names = list(known)
    close = difflib.get_close_matches(name.lower()[:100], names, 1)
    return f": did you mean {close[0]!r}?" if close else f": the known ones are {', '.join(names)}"


def documented(settings: Mapping[str, Setting]) -> Callable[[Function], Function]:
    """Put the sentences of settings in the place of the line `{settings}` of a docstring."""

    def fill(function: Function) -> Function:
        text = function.__doc__ or ""
        line = next((line for line in text.splitlines() if line.strip() == "{settings}"), "")
        indent = line[: len(line) - len(line.lstrip())]
        told = [
            textwrap.fill(f"{s.name}: {s.help}.", 120, initial_indent=indent, subsequent_indent=indent + 4 * " ") for s in settings.values()
        ]
        function.__doc__ = text.replace(line, "\n".join(told)) if line else text
        return function

    return fill


def _kinds(hint: Any) -> tuple[tuple[type, ...], tuple[str, ...], bool]:
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    choices = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    origins = {str if get_origin(part) is Literal else dict if get_origin(part) is Mapping else part for part in parts}
    return tuple(kind for kind in PLAIN if kind in origins), choices, bool(origins - set(PLAIN))


def _sentences(spec: type) -> dict[str, str]:
    """The string below each field, from the source of the class and its bases."""
    found: dict[str, str] = {}
    for cls in reversed(spec.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        except (OSError, TypeError, SyntaxError, ValueError):  # typed in at a prompt
            continue
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for field, after in pairwise(body):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, str):
                found[field.target.id] = " ".join(text.split())
    return found
