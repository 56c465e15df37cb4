"""What both directions of AIS along several paths say together: a figure, its interval, and whether to trust it.

From below: the mean weight of forward chains is unbiased along every path, and its logarithm too low where they do not reach what
holds the mass. The path with the clearly larger figure counts.

From above: reverse chains that are caught in a region R give, on average, log Z_R - log P(forward chains along this path end in R) or
more. So e to the largest figure along a path is more than all of Z. If the regions are shared out among the paths, each to the one that
leads there, the sum over paths of e to the largest figure among their own regions is still more than Z, and may be far less.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .ais import Side, parts
from .estimate import Estimate, Verdict
from .model_samples import Samples
from .weights import bennett, log_mean

if TYPE_CHECKING:
    from .sandwich import AIS

Z95 = 1.96
FEW_CHAINS = 10.0
GAP_TOO_WIDE = 2.0
MIXED = 1.5  # largest potential scale reduction
NEGLIGIBLE = 3.0  # nats below the others: such a share of Z does not matter


class Sides(NamedTuple):
    """Both directions along each path, and how many of the reverse chains come from each start."""

    lows: dict[str, Side]
    highs: dict[str, Side]
    starts: dict[str, int]
    samples: Samples


class Upper(NamedTuple):
    """log Z from above."""

    log_partition: float
    stderr: float
    ess: float
    shares: dict[str, float]
    """of the regions that each path accounts for"""
    by_start: dict[str, float]
    samples: Float[np.ndarray, " n"] | None
    """log weights along the path of the lower side of chains that are samples of the model, if they agree"""
    top: float
    """what the highest of the chains give"""
    expected: float
    """by how much they may exceed the mean of all"""

    @property
    def hides_mass(self) -> bool:
        return self.top - self.log_partition > self.expected


def judged(sides: Sides, settings: AIS, n: int, seconds: float) -> Estimate:
    """The estimate with its verdict."""
    groups = _groups(sides)
    chosen = _chosen(sides.lows, groups)
    low, high = sides.lows[chosen], _upper(sides, groups, chosen, settings.target_gap)
    value, stderr = low.log_partition, low.mean.stderr
    if high.samples is not None:
        ratio, stderr = bennett(low.annealed.log_weights, high.samples)
        value = ratio + low.log_partition - low.mean.value
    bad, wide = _reasons(low, high, stderr, settings)
    verdict: Verdict = "do not trust" if bad else "wide" if wide else "trusted"
    figures = [(low.log_partition, low.mean.stderr), (high.log_partition, high.stderr), (value, stderr)]
    upper = max(figure + Z95 * error for figure, error in figures)
    return Estimate(
        value=value,
        stderr=stderr,
        lower=min(figure - Z95 * error for figure, error in figures),
        upper=max(upper, high.top) if high.hides_mass else upper,
        ess=min(low.mean.ess, high.ess),
        method="ais",
        verdict=verdict,
        settings={
            "chains": settings.chains,
            "betas": n,
            "schedule": settings.schedule,
            "samples": settings.samples,
            "target_stderr": settings.target_stderr,
            "target_gap": settings.target_gap,
            **_figures(sides, chosen, high),
            "r_hat": sides.samples.r_hat,
            "seconds": seconds,
        },
        warnings=(*bad, *wide),
    )


def _groups(sides: Sides) -> dict[str, dict[str, Side]]:
    """The reverse sides along every path of the chains from every start."""
    return {path: dict(zip(sides.starts, parts(side, list(sides.starts.values())), strict=True)) for path, side in sides.highs.items()}


def _chosen(lows: dict[str, Side], groups: dict[str, dict[str, Side]]) -> str:
    """Of the paths whose forward figure is not clearly below the largest, that with the narrowest sandwich."""
    best = max(lows.values(), key=lambda low: low.log_partition)
    level = [path for path, low in lows.items() if best.log_partition - low.log_partition <= 3 * _noise(best, low)]
    return min(level, key=lambda path: _highest(groups[path].values()).log_partition - lows[path].log_partition)


def _noise(side: Side, other: Side) -> float:
    """The standard error of the difference of two sides."""
    return float(np.hypot(side.mean.stderr, other.mean.stderr))


def _highest(sides: Iterable[Side]) -> Side:
    return max(sides, key=lambda side: side.log_partition)


def _upper(sides: Sides, groups: dict[str, dict[str, Side]], chosen: str, target_gap: float) -> Upper:
    paths = _shared_out(groups, chosen, target_gap)
    mine = {path: [start for start in sides.starts if paths[start] == path] for path in sides.highs}
    joined = {path: _joined(sides, groups, path, starts, target_gap) for path, starts in mine.items() if starts}
    shares = {path: side.log_partition for path, (side, _) in joined.items()}
    main = max(shares, key=lambda path: shares[path])
    side, agree = joined[main]
    alone = all(share < shares[main] - NEGLIGIBLE for path, share in shares.items() if path != main)
    figure = float(np.logaddexp.reduce(list(shares.values())))
    return Upper(
        log_partition=figure,
        stderr=side.mean.stderr,
        ess=side.mean.ess,
        shares=shares,
        by_start={start: groups[paths[start]][start].log_partition for start in sides.starts},
        samples=side.annealed.log_weights if main == chosen and alone and agree else None,
        **_highest_chains(sides, sides.lows[chosen]),
    )


def _shared_out(groups: dict[str, dict[str, Side]], chosen: str, target_gap: float) -> dict[str, str]:
    """The path that accounts for the chains from each start: all the chosen one, unless others make the bound clearly lower."""
    starts = list(groups[chosen])

    def bound(paths: tuple[str, ...]) -> float:
        own = {path: [groups[path][start] for start, other in zip(starts, paths, strict=True) if other == path] for path in set(paths)}
        return float(np.logaddexp.reduce([_highest(sides).log_partition for sides in own.values()]))

    alone = (chosen,) * len(starts)
    best = min(itertools.product(groups, repeat=len(starts)), key=bound)
    return dict(zip(starts, best if bound(best) < bound(alone) - target_gap else alone, strict=True))


def _joined(sides: Sides, groups: dict[str, dict[str, Side]], path: str, starts: list[str], target_gap: float) -> tuple[Side, bool]:
    """The chains from these starts along one path, and whether they agree; if not, the highest alone.

    A region that forward chains enter too rarely gives more than the others.
    """
    each = [groups[path][start] for start in starts]
    highest, lowest = _highest(each), min(each, key=lambda side: side.log_partition)
    agree = highest.log_partition - lowest.log_partition <= target_gap + 3 * _noise(highest, lowest)
    if not agree:
        return highest, False
    here = np.repeat([start in starts for start in sides.starts], list(sides.starts.values()))
    pooled = sides.highs[path]
    weights = pooled.annealed.log_weights[here]
    mean = log_mean(weights)
    annealed = pooled.annealed._replace(states=pooled.annealed.states[here], log_weights=weights)
    return Side(pooled.log_partition + pooled.mean.value - mean.value, mean, annealed), True


def _each(side: Side) -> Float[np.ndarray, " chains"]:
    """What every reverse chain gives for log Z."""
    return side.log_partition + side.mean.value - side.annealed.log_weights


def _highest_chains(sides: Sides, low: Side) -> dict[str, float]:
    """What the highest twentieth of the reverse chains give for log Z, and by how much it may exceed the mean of all.

    In the mean of the weights chains that give much are swamped by those that give little, so a few that found most of the mass show
    only here. Chains that have mixed are as many in a region as its mass deserves: then only such as lie far outside the others' spread
    matter. Else they are held to the spread of forward chains: were the log weights normal, with the same spread in both directions,
    reverse chains would give half its square too much on average, and the highest twentieth two spreads more.
    """
    each = np.minimum.reduce([_each(high) for high in sides.highs.values()])
    top = float(np.sort(each)[-max(len(each) // 20, 2) :].mean())
    if sides.samples.r_hat < MIXED:
        return {"top": top, "expected": 1 + 4 * _spread(each)}
    spread = _spread(low.annealed.log_weights)
    return {"top": top, "expected": 1 + 2.5 * spread + spread**2 / 2}


def _spread(values: Float[np.ndarray, " n"]) -> float:
    """The standard deviation of what is not far out."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _reasons(low: Side, high: Upper, stderr: float, settings: AIS) -> tuple[list[str], list[str]]:
    """Why not to trust the estimate, and why it is wide."""
    bad: list[str] = []
    wide: list[str] = []
    ess = min(low.mean.ess, high.ess)
    if ess < FEW_CHAINS:
        (bad if ess < FEW_CHAINS / 2 else wide).append(f"few effective chains ({ess:.1f} of {settings.chains})")
    gap = high.log_partition - low.log_partition
    if gap > settings.target_gap:
        text = f"the sandwich is open by {gap:.2f} nats"
        (bad if gap > GAP_TOO_WIDE else wide).append(text + (f": {_told(high.by_start)}" if high.samples is None else ""))
    if gap < -settings.target_gap - 3 * float(np.hypot(low.mean.stderr, high.stderr)):
        (bad if -gap > GAP_TOO_WIDE else wide).append(f"the upper side is {-gap:.2f} nats below the lower one")
    if high.hides_mass:
        more = high.top - high.log_partition
        text = f"some chains find {more:.2f} nats more than the others: there are regions between which nothing moves"
        (bad if more > GAP_TOO_WIDE else wide).append(text)
    if stderr > settings.target_stderr:
        wide.append(f"the standard error is {stderr:.2f} nats")
    return bad, wide


def _told(by_start: dict[str, float]) -> str:
    figures = ", ".join(f"{figure:.2f} from {start}" for start, figure in by_start.items())
    return f"the chains have not mixed; by where they started, reverse AIS gives {figures}"


def _figures(sides: Sides, chosen: str, high: Upper) -> dict[str, Any]:
    low = sides.lows[chosen]
    return {
        "base": chosen,
        "forward": low.log_partition,
        "reverse": high.log_partition,
        "gap": high.log_partition - low.log_partition,
        "stderr_forward_weights": low.mean.stderr_weights,
        "stderr_forward_bootstrap": low.mean.stderr_bootstrap,
        "stderr_reverse": high.stderr,
        "combined": high.samples is not None,
        "ess_forward": low.mean.ess,
        "ess_reverse": high.ess,
        "forward_by_base": {path: side.log_partition for path, side in sides.lows.items()},
        "reverse_by_base": high.shares,
        "reverse_by_start": high.by_start,
    }
