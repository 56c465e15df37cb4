"""Settings as frozen dataclasses: the name, type, default and sentence of each field; and what is chosen by name, with its settings.

Flags, configuration files, records, the parameters of the estimator and the tables in the documentation are made from these, so that
a setting is written down once: `k: int = 5`, and below it a string that says what it means.

A family is a subclass of `Spec` with a `family` and a dictionary `known`; its members are frozen dataclasses with a `name`. Defining
one in a file of the family's folder (or of a folder named in MINPROBFLOW_PLUGINS) is all it takes to add it. A setting may itself be
such a member: a rule's kernel. The settings of both then stand side by side, `rule("pcd", kernel="tempering", rungs=8)`.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import sys
import textwrap
import types
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .arguments import meant, shown
from .errors import InputError
from .plugins import discover

T = TypeVar("T", bound="Spec")
Function = TypeVar("Function", bound=Callable[..., object])
PLAIN = (bool, int, float, str, dict)  # what a file or a flag can state


class Setting(NamedTuple):
    """A field of a spec."""

    name: str
    kinds: tuple[type, ...]
    """the plain types that its value may have"""
    choices: tuple[str, ...]
    others: bool
    """whether it may be something else: None, a function, an object"""
    default: object
    help: str

    def check(self, value: object, source: str) -> object:
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


def _kinds(hint: object) -> tuple[tuple[type, ...], tuple[str, ...], bool]:
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


@dataclasses.dataclass(frozen=True)
class Spec(ABC):
    """Settings of a member of a family. They are hashable: a spec is a static argument of compiled functions."""

    family: ClassVar[str]
    name: ClassVar[str]
    known: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            return
        other = cls.known.setdefault(cls.name, cls)
        if other.__module__ != cls.__module__:
            raise InputError(f"two {cls.family}s are named {cls.name!r}, in {other.__module__} and {cls.__module__}: rename one")
        cls.known[cls.name] = cls

    def settings(self) -> dict[str, object]:
        """All settings, those of a setting that is itself a spec after its name: `find` with these gives an equal spec."""
        flat: dict[str, object] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            flat |= {field.name: value.name, **value.settings()} if isinstance(value, Spec) else {field.name: value}
        return flat

    @classmethod
    def specs(cls: type[T]) -> dict[str, type[T]]:
        """All known members of the family by name."""
        discover(sys.modules[cls.__module__.rpartition(".")[0]])
        return dict(sorted(cls.known.items()))

    @classmethod
    def names(cls) -> list[str]:
        """The names of all known members of the family."""
        return list(cls.specs())

    @classmethod
    def find(cls: type[T], chosen: str | T, settings: Mapping[str, object], example: str) -> T:
        """The member that is named or given, with these settings changed.

        Args:
            chosen: a name or a spec.
            settings: its own, and those of settings that are specs themselves.
            example: how to write a spec, for messages.
        """
        family, rest = cls.family, dict(settings)
        if not isinstance(chosen, cls):
            known = cls.names()
            if not isinstance(chosen, str):
                raise InputError(f"{family} is {shown(chosen)}: pass a name ({', '.join(known)}) or an object such as {example}")
            if chosen not in known:
                hint = meant(chosen.lower(), known)
                raise InputError(f"unknown {family} {shown(chosen)}{hint}: the known {family}s are {', '.join(known)}")
        kind: type[T] = cls.known[chosen] if isinstance(chosen, str) else type(chosen)
        own = _taken(rest, kind)
        spec = kind(**own) if isinstance(chosen, str) else dataclasses.replace(chosen, **own)
        for field in dataclasses.fields(spec):
            part = getattr(spec, field.name)
            theirs = _taken(rest, part) if isinstance(part, Spec) else {}
            spec = dataclasses.replace(spec, **{field.name: dataclasses.replace(part, **theirs)}) if theirs else spec
        for unknown in rest:
            families = [cls.known, *(part.known for part in vars(spec).values() if isinstance(part, Spec))]
            having = sorted(name for members in families for name, other in members.items() if unknown in settings_of(cast(type, other)))
            where = f" ({', '.join(having)} {'have' if len(having) > 1 else 'has'} it)" if having else ""
            raise InputError(f"{family} {kind.name!r} has no setting {unknown!r}: it has {', '.join(spec.settings()) or 'none'}{where}")
        return spec


def _taken(settings: dict[str, object], spec: Spec | type[Spec]) -> dict[str, object]:
    """Those that are fields of the spec, removed from `settings`."""
    return {field.name: settings.pop(field.name) for field in dataclasses.fields(spec) if field.name in settings}
