"""Rules by name."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from typing import Any

from ..arguments import shown
from ..errors import InputError
from ..plugins import discover
from ..specs import check_settings
from .base import RuleSpec


def specs() -> dict[str, type[RuleSpec]]:
    """All known rules by name."""
    discover(sys.modules[__package__])
    return dict(sorted(RuleSpec.known.items()))


def names() -> list[str]:
    """The names of all known rules."""
    return list(specs())


def rule(name: str | RuleSpec, **settings: Any) -> RuleSpec:
    """The rule with this name and these settings.

    >>> rule("fpmpf", k=10, refresh=5)
    FPMPF(k=10, refresh=5, n_particles=None, min_ess=0.5)
    """
    if isinstance(name, RuleSpec):
        if not settings:
            return name
        check_settings(f"rule {name.name!r}", type(name), settings, specs())
        return dataclasses.replace(name, **settings)
    known = specs()
    if not isinstance(name, str):
        raise InputError(f"rule is {shown(name)}: pass a name ({', '.join(known)}) or an object such as mpf.FPMPF(k=10)")
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"unknown rule {shown(name)}{hint}: the known rules are {', '.join(known)}")
    check_settings(f"rule {name!r}", known[name], settings, known)
    return known[name](**settings)
