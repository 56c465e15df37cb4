"""Settings of what is chosen by name: rules, kernels.

A family is a subclass of `Spec` with a `family` and a dictionary `known`; its members are frozen dataclasses with a `name`. Defining
one in a file of the family's folder (or of a folder named in MINPROBFLOW_PLUGINS) is all it takes to add it. A setting may itself be
such a member: a rule's kernel. The settings of both then stand side by side, `rule("pcd", kernel="tempering", rungs=8)`.
"""

from __future__ import annotations

import dataclasses
import difflib
import sys
from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from .arguments import shown
from .errors import InputError
from .plugins import discover

T = TypeVar("T", bound="Spec")


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

    def settings(self) -> dict[str, Any]:
        """All settings, those of a setting that is itself a spec after its name: `find` with these gives an equal spec."""
        flat: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            flat |= {field.name: value.name, **value.settings()} if isinstance(value, Spec) else {field.name: value}
        return flat

    @classmethod
    def names(cls) -> list[str]:
        """All known members of the family."""
        discover(sys.modules[cls.__module__.rpartition(".")[0]])
        return sorted(cls.known)

    @classmethod
    def find(cls: type[T], chosen: str | T, settings: Mapping[str, Any], example: str) -> T:
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
                near = difflib.get_close_matches(chosen.lower(), known, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise InputError(f"unknown {family} {shown(chosen)}{hint}: the known {family}s are {', '.join(known)}")
        kind: type[T] = cls.known[chosen] if isinstance(chosen, str) else type(chosen)
        own = _taken(rest, kind)
        spec = kind(**own) if isinstance(chosen, str) else dataclasses.replace(chosen, **own)
        for field in dataclasses.fields(spec):
            part = getattr(spec, field.name)
            theirs = _taken(rest, part) if isinstance(part, Spec) else {}
            spec = dataclasses.replace(spec, **{field.name: dataclasses.replace(part, **theirs)}) if theirs else spec
        for unknown in rest:
            raise InputError(f"{family} {kind.name!r} has no setting {unknown!r}: it has {', '.join(spec.settings()) or 'none'}")
        return spec


def _taken(settings: dict[str, Any], spec: Spec | type[Spec]) -> dict[str, Any]:
    """Those that are fields of the spec, removed from `settings`."""
    return {field.name: settings.pop(field.name) for field in dataclasses.fields(spec) if field.name in settings}
