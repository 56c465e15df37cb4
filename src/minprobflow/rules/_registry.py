"""Rules by name."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from typing import Any

from ..arguments import shown
from ..errors import InputError
from ..plugins import discover
from .base import RuleSpec


def names() -> list[str]:
    """All known rules."""
    discover(sys.modules[__package__])
    return sorted(RuleSpec.known)


def rule(name: str | RuleSpec, **settings: Any) -> RuleSpec:
    """The rule with this name and these settings.

    >>> rule("fpmpf", k=10, refresh=5)
    FPMPF(k=10, refresh=5, n_particles=None, min_ess=0.5)
    """
    if isinstance(name, RuleSpec):
        _check_settings(type(name), settings)
        return dataclasses.replace(name, **settings) if settings else name
    known = names()
    if not isinstance(name, str):
        raise InputError(f"rule is {shown(name)}: pass a name ({', '.join(known)}) or an object such as mpf.FPMPF(k=10)")
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"unknown rule {shown(name)}{hint}: the known rules are {', '.join(known)}")
    spec = RuleSpec.known[name]
    _check_settings(spec, settings)
    return spec(**settings)


def _check_settings(spec: type[RuleSpec], settings: dict[str, Any]) -> None:
    fields = [f.name for f in dataclasses.fields(spec)]
    for unknown in settings.keys() - set(fields):
        raise InputError(f"rule {spec.name!r} has no setting {unknown!r}: it has {', '.join(fields) or 'none'}")
