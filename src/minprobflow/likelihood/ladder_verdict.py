"""What replica exchange on a ladder says about log Z, and how far to trust it.

The sums of log mean weights on the way up and on the way down lie on either side of log Z if every rung's population is that of its model.
That is what the other figures test: whether states have come from rung 0, where they are drawn exactly, to every rung since the
measurement began, and none go back to where the run began; whether the weights in both directions fit each other (Crooks); and whether
single columns find more than the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .climb import Climb
from .estimate import Estimate, Verdict
from .links import Links, Total, Weights, measured
from .verdict import FEW_CHAINS, GAP_TOO_WIDE, Z95, Targets, robust_spread

NOT_RENEWED = 0.01  # share of all states
CLEARLY_NOT_RENEWED = 0.05  # share of a rung's states
FEW_REMAIN = 0.005  # share of all states
SLOPE = 0.2  # how far a Crooks slope may be from 1, and by how many standard errors
SLOPE_ERRORS = 4.0
NEVER = 0.01  # a link that accepts less than this joins nothing


class Found(NamedTuple):
    """A run of replica exchange."""

    climb: Climb
    links: Links
    since: int
    """the round in which the measurement began"""
    sizes: list[int]
    """of the groups of columns that began at the same place"""
    scaled: bool
    """the ladder was made by scaling the weights"""


def judged(found: Found, targets: Targets) -> Estimate:
    """The estimate with its verdict; its settings are the figures that led to it."""
    climb, links = found.climb, found.links
    first = float(climb.ladder.log_partition_first())
    births = climb.births()
    old = (births < found.since).mean(0)
    arrivals = climb.arrivals(found.since)
    bad, wide = _reasons(found, old, arrivals, targets)
    verdict: Verdict = "do not trust" if bad else "wide" if wide else "trusted"
    totals = [links.between, links.lower, links.upper]
    if verdict != "trusted":
        totals += _by_place(found)
    ends = [(total.value - Z95 * total.stderr, total.value + Z95 * total.stderr) for total in totals]
    upper = max(end for _, end in ends)
    if verdict == "do not trust":
        upper = max(upper, float(links.upper.columns.max()))
    return Estimate(
        value=first + links.between.value,
        stderr=links.between.stderr,
        lower=first + min(end for end, _ in ends),
        upper=first + upper,
        ess=float(arrivals),
        method="trajectory",
        verdict=verdict,
        settings={
            "target_stderr": targets.stderr,
            "target_gap": targets.gap,
            "rungs": len(climb.ladder),
            "scaled": found.scaled,
            "rounds": climb.turn,
            "rounds_measured": climb.turn - found.since,
            "forward": first + links.lower.value,
            "reverse": first + links.upper.value,
            "gap": links.upper.value - links.lower.value,
            "not_renewed": old.tolist(),
            "climbs": arrivals,
            "acceptance": links.acceptance.tolist(),
            "crooks_slopes": links.slopes.tolist(),
            "paths": climb.paths(found.since),
        },
        warnings=(*bad, *wide),
    )


def _reasons(found: Found, old: np.ndarray, arrivals: int, targets: Targets) -> tuple[list[str], list[str]]:
    """Why not to trust the estimate, and why it is wide."""
    links, rungs = found.links, len(old)
    bad: list[str] = []
    wide: list[str] = []

    def add(is_bad: bool, text: str) -> None:
        (bad if is_bad else wide).append(text)

    worst, remaining = int(old.argmax()), found.climb.remaining(found.since)
    if remaining > NOT_RENEWED / rungs and not _harmless(found, remaining, targets):
        text = f"{remaining:.1%} of the states that were measured go back to where the run began, not to rung 0"
        add(remaining > NOT_RENEWED, text)
    if old[worst] > CLEARLY_NOT_RENEWED or old.mean() > NOT_RENEWED:
        text = f"{old[worst]:.0%} of the states at rung {worst} of {rungs - 1} have not come from rung 0 since the measurement began"
        add(bool(old[worst] > CLEARLY_NOT_RENEWED), text)
    if arrivals < FEW_CHAINS:
        add(arrivals < FEW_CHAINS / 2, f"only {arrivals} states have climbed from rung 0 to the model")
    gap = links.upper.value - links.lower.value
    noise = float(np.hypot(links.upper.stderr, links.lower.stderr))
    if gap > targets.gap:
        add(gap > GAP_TOO_WIDE, f"the two sides are {gap:.2f} nats apart")
    if gap < -targets.gap - 3 * noise:
        add(-gap > GAP_TOO_WIDE, f"the upper side is {-gap:.2f} nats below the lower one")
    weakest = int(links.acceptance.argmin())
    if links.acceptance[weakest] < NEVER:
        bad.append(f"between rungs {weakest} and {weakest + 1} hardly any exchange is accepted ({links.acceptance[weakest]:.2%})")
    off = np.abs(links.slopes - 1) / np.maximum(links.slope_errors, 1e-12)
    off[np.abs(links.slopes - 1) < SLOPE] = 0
    if (worst := int(off.argmax())) >= 0 and off[worst] > SLOPE_ERRORS:
        add(
            bool(abs(links.slopes[worst] - 1) > 2 * SLOPE),
            f"the weights between rungs {worst} and {worst + 1} are not in equilibrium (Crooks slope {links.slopes[worst]:.2f}, not 1)",
        )
    more, expected = _highest(links.upper.columns)
    if more > expected:
        text = f"some columns find {more:.2f} nats more than most: there are regions between which nothing moves"
        add(more > GAP_TOO_WIDE + expected, text)
    if links.between.stderr > targets.stderr:
        wide.append(f"the standard error is {links.between.stderr:.2f} nats")
    return bad, wide


def _harmless(found: Found, remaining: float, targets: Targets) -> bool:
    """Whether the few columns that still hold a state from the beginning find no more than the others.

    On the way down, columns caught in a region R give log Z_R less the log share of states that come up into R, or more: if
    that is no more than what all columns give, R holds no more than what came up into it.
    """
    caught = (found.climb.births() < 0).any(1)
    if remaining > FEW_REMAIN or not 0 < caught.mean() <= CLEARLY_NOT_RENEWED:
        return False
    return float(found.links.upper.columns[caught].max()) - found.links.upper.value <= targets.gap


def _highest(columns: np.ndarray) -> tuple[float, float]:
    """By how much the highest columns exceed the middle one, and by how much they may."""
    middle = float(np.median(columns))
    return float(np.sort(columns)[-max(len(columns) // 20, 2) :].mean()) - middle, 1 + 4 * robust_spread(columns)


def _by_place(found: Found) -> list[Total]:
    """The sums of the columns that began at the same place, each group on its own."""
    ends = np.cumsum(found.sizes)
    totals: list[Total] = []
    weights = found.climb.weights(found.since)
    for size, end in zip(found.sizes, ends, strict=True):
        part = slice(end - size, end)
        links = measured([Weights(up[:, part], down[:, part]) for up, down in weights])
        totals += [links.between, links.lower, links.upper]
    return totals
