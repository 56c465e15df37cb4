"""Rules by name."""

from __future__ import annotations

from .base import RuleSpec


def names() -> list[str]:
    """All known rules."""
    return RuleSpec.names()


def rule(name: str | RuleSpec, **settings: object) -> RuleSpec:
    """The rule with this name and these settings; those of its kernel stand beside its own.

    Args:
        name: a name (see `mpf.rules.names()`), or a rule some of whose settings are to change.
        **settings: the fields of the rule's class, and of its kernel's.

    Returns:
        Its settings: what `mpf.fit` takes.

    >>> rule("fpmpf", k=10, refresh=5)
    FPMPF(k=10, refresh=5, n_particles=None, min_ess=0.5, kernel=Auto())
    >>> rule("pcd", kernel="tempering", rungs=8).kernel
    Tempering(rungs=8, hottest=0.0)
    """
    return RuleSpec.find(name, settings, "mpf.FPMPF(k=10)")
