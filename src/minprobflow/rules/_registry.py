"""Rules by name."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from typing import Any

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
        return dataclasses.replace(name, **settings) if settings else name
    known = names()
    if name not in known:
        near = difflib.get_close_matches(str(name).lower(), known, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"unknown rule {name!r}{hint}: the known rules are {', '.join(known)}")
    spec = RuleSpec.known[name]
    fields = [f.name for f in dataclasses.fields(spec)]
    for unknown in settings.keys() - set(fields):
        raise InputError(f"rule {name!r} has no setting {unknown!r}: it has {', '.join(fields) or 'none'}")
    return spec(**settings)
