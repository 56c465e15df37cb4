"""What both directions of AIS along several paths say together: a figure, its interval, and whether to trust it.

From below: the mean weight of forward chains is unbiased along every path, and its logarithm too low where they do not reach what
holds the mass. The path with the clearly larger figure counts.

From above: reverse chains that start as samples of the model within a region R give, on average, log Z_R - log P(forward chains along this
path end in R) or more. So e to the largest figure of all regions along a path is more than Z. If the regions are shared out among the
paths, each to the one that leads there, the sum over paths of e to the largest figure among their own regions is still more than Z, and
may be far less. Chains that began at one place are taken for those of one region; where they are in several, the mean of their weights is
near the smallest figure, and only single chains show the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .ais import Side, joined, parts
from .estimate import Estimate, Verdict
from .model_samples import Samples
from .weights import bennett

Z95 = 1.96
FEW_CHAINS = 10.0
GAP_TOO_WIDE = 2.0
MIXED = 1.5  # largest potential scale reduction of the free energy: that of chains that are slow, but not caught, is 1.2 to 1.3
NEGLIGIBLE = 3.0  # nats below the others: such a share of Z does not matter
CHANCE = 1.0  # at most this many nats of a difference are put down to chance

Groups = dict[str, dict[str, Side]]


class Targets(NamedTuple):
    """What an estimate must reach to be trusted, in nats."""

    stderr: float
    gap: float
    """how far apart the two sides may be"""


class Sides(NamedTuple):
    """Both directions along each path, and how many of the reverse chains come from each start."""

    lows: dict[str, Side]
    highs: dict[str, Side]
    starts: dict[str, int]
    samples: Samples


class Upper(NamedTuple):
    """log Z from above."""

    log_partition: float
    side: Side
    """of the chains that give most of it"""
    shares: dict[str, float]
    """of the regions that each path accounts for"""
    by_start: dict[str, float]
    whole: bool
    """those chains agree with each other and account for nearly all of Z along the lower side's path"""
    top: float
    """what the highest of the chains allow for"""
    expected: float
    """by how much that may exceed the mean of all"""

    @property
    def hides_mass(self) -> bool:
        return self.top - self.log_partition > self.expected


def judged(sides: Sides, targets: Targets) -> Estimate:
    """The estimate with its verdict; its settings are the figures that led to it."""
    groups: Groups = {
        path: dict(zip(sides.starts, parts(side, list(sides.starts.values())), strict=True)) for path, side in sides.highs.items()
    }
    chosen = _chosen(sides.lows, groups)
    low, high = sides.lows[chosen], _upper(sides, groups, chosen, targets.gap)
    value, stderr, combined = low.log_partition, low.mean.stderr, _can_be_joined(low, high, targets.gap)
    if combined:
        ratio, stderr = bennett(low.annealed.log_weights, high.side.annealed.log_weights)
        value = ratio + low.log_partition - low.mean.value
    highest = _highest(sides.lows.values()).log_partition
    bad, wide = _reasons(low, high, highest - value, stderr, targets)
    verdict: Verdict = "do not trust" if bad else "wide" if wide else "trusted"
    figures = [(low.log_partition, low.mean.stderr), (high.log_partition, high.side.mean.stderr), (value, stderr), (highest, 0.0)]
    upper = max(figure + Z95 * error for figure, error in figures)
    return Estimate(
        value=value,
        stderr=stderr,
        lower=min(figure - Z95 * error for figure, error in figures),
        upper=max(upper, high.top) if high.hides_mass else upper,
        ess=min(low.mean.ess, high.side.mean.ess),
        method="ais",
        verdict=verdict,
        settings={
            "target_stderr": targets.stderr,
            "target_gap": targets.gap,
            "combined": combined,
            **_figures(sides, chosen, high),
            "r_hat": sides.samples.r_hat,
        },
        warnings=(*bad, *wide),
    )


def _chosen(lows: dict[str, Side], groups: Groups) -> str:
    """Of the paths whose forward figure is not clearly below the largest, that whose two sides are closest."""
    best = _highest(lows.values())
    level = [path for path, low in lows.items() if best.log_partition - low.log_partition <= 3 * _noise(best, low)]
    return min(level, key=lambda path: abs(_highest(groups[path].values()).log_partition - lows[path].log_partition))


def _noise(side: Side, other: Side) -> float:
    """The standard error of the difference of two sides."""
    return float(np.hypot(side.mean.stderr, other.mean.stderr))


def _highest(sides: Iterable[Side]) -> Side:
    return max(sides, key=lambda side: side.log_partition)


def _upper(sides: Sides, groups: Groups, chosen: str, target_gap: float) -> Upper:
    paths = _shared_out(sides.lows, groups, chosen, target_gap)
    own = {path: [groups[path][start] for start in paths if paths[start] == path] for path in set(paths.values())}
    pooled = {path: _pooled(each, target_gap) for path, each in own.items()}
    shares = {path: side.log_partition for path, (side, _) in pooled.items()}
    main = max(shares, key=lambda path: shares[path])
    alone = all(share < shares[main] - NEGLIGIBLE for path, share in shares.items() if path != main)
    side, agree = pooled[main]
    return Upper(
        float(np.logaddexp.reduce(list(shares.values()))),
        side,
        shares,
        {f"{start} (to {path})": groups[path][start].log_partition for start, path in paths.items()},
        main == chosen and alone and agree,
        *_highest_chains(sides, sides.lows[chosen]),
    )


def _shared_out(lows: dict[str, Side], groups: Groups, chosen: str, target_gap: float) -> dict[str, str]:
    """The path that accounts for the chains from each start: all the chosen one, unless others make the bound clearly lower.

    Bounds that are clearly below a forward figure are refuted.
    """
    starts = list(groups[chosen])
    refuted = max(low.log_partition - 3 * low.mean.stderr for low in lows.values()) - target_gap

    def bound(paths: tuple[str, ...]) -> float:
        own = {path: [groups[path][start] for start, other in zip(starts, paths, strict=True) if other == path] for path in set(paths)}
        return float(np.logaddexp.reduce([_highest(sides).log_partition for sides in own.values()]))

    alone = (chosen,) * len(starts)
    possible = [paths for paths in itertools.product(groups, repeat=len(starts)) if bound(paths) >= refuted]
    best = min(possible, key=bound, default=alone)
    return dict(zip(starts, best if bound(best) < bound(alone) - target_gap - CHANCE else alone, strict=True))


def _pooled(groups: list[Side], target_gap: float) -> tuple[Side, bool]:
    """Groups of chains along one path together, if they agree; if not, the highest alone.

    A region that forward chains enter too rarely gives more than the others.
    """
    highest, lowest = _highest(groups), min(groups, key=lambda side: side.log_partition)
    if highest.log_partition - lowest.log_partition > target_gap + min(3 * _noise(highest, lowest), CHANCE):
        return highest, False
    return joined(groups), True


def _can_be_joined(low: Side, high: Upper, target_gap: float) -> bool:
    """Bennett's ratio needs samples of the model, and sides that do not contradict each other."""
    return high.whole and not high.hides_mass and abs(high.log_partition - low.log_partition) <= target_gap + 3 * _noise(low, high.side)


def _highest_chains(sides: Sides, low: Side) -> tuple[float, float]:
    """What the highest reverse chains allow for log Z, and by how much that may exceed the mean of all.

    In the mean of the weights chains that give much are swamped by those that give little, so a few that found most of the mass show
    only here: by the mean of the highest twentieth, or by the highest of all, whose region may hold e to its figure times the
    chance of a forward chain to end there; that none of n did makes it less than about 3 / n.

    Chains that have mixed are as many in a region as its mass deserves: then only such as lie far outside the others' spread
    matter. Else they are held to the spread of forward chains: were the log weights normal, with the same spread in both directions,
    reverse chains would give half its square too much on average, and the highest twentieth two spreads more.
    """
    each = np.sort(np.minimum.reduce([side.log_partition + side.mean.value - side.annealed.log_weights for side in sides.highs.values()]))
    top = float(each[-max(len(each) // 20, 2) :].mean())
    if sides.samples.r_hat < MIXED:
        return top, 1 + 4 * robust_spread(each)
    spread = robust_spread(low.annealed.log_weights)
    return max(top, float(each[-1] - np.log(len(each) / 3))), 1 + 2.5 * spread + spread**2 / 2


def robust_spread(values: Float[np.ndarray, " n"]) -> float:
    """The standard deviation of what is not far out."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _reasons(low: Side, high: Upper, other_path: float, stderr: float, targets: Targets) -> tuple[list[str], list[str]]:
    """Why not to trust the estimate, and why it is wide."""
    bad: list[str] = []
    wide: list[str] = []

    def add(amount: float, text: str) -> None:
        (bad if amount > GAP_TOO_WIDE else wide).append(text)

    ess, chains = min((side.mean.ess, len(side.annealed.log_weights)) for side in (low, high.side))
    if ess < FEW_CHAINS:
        (bad if ess < FEW_CHAINS / 2 else wide).append(f"few effective chains ({ess:.1f} of {chains})")
    gap = high.log_partition - low.log_partition
    if gap > targets.gap:
        figures = ", ".join(f"{figure:.2f} from {start}" for start, figure in high.by_start.items())
        add(gap, f"the sandwich is open by {gap:.2f} nats" + ("" if high.whole else f"; reverse AIS gives {figures}"))
    if gap < -targets.gap - 3 * _noise(low, high.side):
        add(-gap, f"the upper side is {-gap:.2f} nats below the lower one")
    if other_path > targets.gap + 3 * low.mean.stderr:
        add(other_path, f"a few chains along another path find {other_path:.2f} nats more")
    if high.hides_mass:
        more = high.top - high.log_partition
        add(more, f"some chains find {more:.2f} nats more than the others: there are regions between which nothing moves")
    if stderr > targets.stderr:
        wide.append(f"the standard error is {stderr:.2f} nats")
    return bad, wide


def _figures(sides: Sides, chosen: str, high: Upper) -> dict[str, str | float | dict[str, float]]:
    low = sides.lows[chosen]
    return {
        "base": chosen,
        "forward": low.log_partition,
        "reverse": high.log_partition,
        "gap": high.log_partition - low.log_partition,
        "stderr_forward_weights": low.mean.stderr_weights,
        "stderr_forward_bootstrap": low.mean.stderr_bootstrap,
        "stderr_reverse": high.side.mean.stderr,
        "ess_forward": low.mean.ess,
        "ess_reverse": high.side.mean.ess,
        "forward_by_base": {path: side.log_partition for path, side in sides.lows.items()},
        "reverse_by_base": high.shares,
        "reverse_by_start": high.by_start,
    }
