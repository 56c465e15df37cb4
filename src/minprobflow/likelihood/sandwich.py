"""log Z between a lower and an upper estimate, with a verdict; temperatures are doubled until it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..errors import InputError
from ..models.base import Annealable, Latent, Model
from ..numerics import as_key
from . import schedules
from .ais import Side, base_samples, forward, parts, reverse, schedule
from .base import LogPartitionEstimator, Progress
from .estimate import Estimate, Verdict
from .model_samples import Samples, gibbs_samples, tempered_samples
from .weights import bennett

Z95 = 1.96
FEW_CHAINS = 10.0
GAP_TOO_WIDE = 2.0
HOPELESS = 4  # give up doubling when this many times the budget would be needed


@dataclass(frozen=True)
class AIS(LogPartitionEstimator):
    """Annealed importance sampling in both directions."""

    name: ClassVar[str] = "ais"

    chains: int = 100
    betas: int | None = None
    """number of temperatures; by default doubled from `first_betas` until the target or the budget is reached"""
    schedule: str = "adaptive"
    """adaptive, linear or three-piece"""
    samples: str = "gibbs"
    """gibbs (long chains) or tempering: how the samples that reverse chains start from are drawn"""
    sample_steps: int | None = None
    """steps of those sampling chains; by default as many as temperatures, at least 1,000"""
    target_stderr: float = 0.1
    target_gap: float = 0.5
    """how far apart the two sides may be"""
    first_betas: int = 1000
    max_betas: int = 64_000
    max_seconds: float | None = None

    def log_partition(self, model: Model, key: Any, base_data: Any = None, progress: Progress | None = None) -> Estimate:
        return sandwich(model, self, key, base_data, progress)

    def __post_init__(self) -> None:
        for name in ("chains", "betas", "sample_steps", "first_betas", "max_betas"):
            if not isinstance(getattr(self, name), int | None):
                raise InputError(f"{name}={getattr(self, name)!r}: it must be a whole number")
        if self.chains < 8:
            raise InputError(f"chains={self.chains}: AIS needs at least 8 chains to tell its error, better 100")
        for name in ("target_stderr", "target_gap"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name)}: it must be positive")
        schedules.check(self.schedule, self.first_betas if self.betas is None else self.betas)
        if self.samples not in ("gibbs", "tempering"):
            raise InputError(f"unknown samples {self.samples!r}: use gibbs or tempering")
        if self.sample_steps is not None and self.sample_steps < 2:
            raise InputError(f"sample_steps={self.sample_steps}: run the sampling chains for at least 2 steps")


def sandwich(model: Model, settings: AIS, key: Any, base_data: Any = None, progress: Progress | None = None) -> Estimate:
    """log Z by AIS in both directions."""
    if not isinstance(model, Annealable):
        raise InputError(f"{type(model).__name__} has no path of models to anneal along: only exact enumeration can judge it")
    key, begun = as_key(key), time.perf_counter()
    rows = None if base_data is None else model.space.check(base_data, "base data")
    base = model.base(jnp.asarray(_base_means(jax.random.fold_in(key, 0), model, rows), jnp.result_type(float)))
    n = min(settings.first_betas, settings.max_betas) if settings.betas is None else settings.betas
    betas = schedule(jax.random.fold_in(key, 1), model, base, settings.schedule, n)
    for attempt in range(2, 10_000):
        round_key = jax.random.fold_in(key, attempt)
        low, high, groups, samples = _both_sides(round_key, model, base, betas, rows, settings, _scaled(progress, n))
        seconds = time.perf_counter() - begun
        estimate = _judged(low, high, groups, samples, settings, n, seconds)
        if settings.betas is not None or estimate.verdict == "trusted":
            return estimate
        out_of_time = settings.max_seconds is not None and 3 * seconds > settings.max_seconds  # the next round takes twice as long
        if 2 * n > settings.max_betas or out_of_time:
            return _with_reason(estimate, f"the budget of {'time' if out_of_time else 'temperatures'} ran out at {n} temperatures")
        needed = n * estimate.settings["gap"] / settings.target_gap  # the gap falls about as 1/n, at best
        if attempt > 3 and needed > HOPELESS * settings.max_betas:
            return _with_reason(estimate, f"more than {needed:,.0f} temperatures would be needed: stopped at {n}")
        n *= 2
        named = schedules.NAMED.get(settings.schedule)
        betas = named(n) if named else schedules.adaptive(n, betas, low.annealed.variances)
    raise AssertionError("unreachable")


def _both_sides(
    key: Key[Array, ""],
    model: Annealable,
    base: Model,
    betas: Float[np.ndarray, " n"],
    rows: np.ndarray | None,
    settings: AIS,
    progress: Progress | None,
) -> tuple[Side, Side, dict[str, Side], Samples]:
    keys = jax.random.split(key, 5)
    low = forward(keys[0], model, base, betas, settings.chains, _phase(progress, "AIS"))
    groups = _starts(keys[1], model, low, base, rows, settings.chains)
    starts = np.concatenate(list(groups.values()))
    steps = settings.sample_steps or max(len(betas), 1000)
    if progress:
        progress("sampling", 0.0)
    if settings.samples == "tempering":
        samples = tempered_samples(keys[2], model, base, starts, steps)
    else:
        samples = gibbs_samples(keys[2], model, starts, steps)
    high = reverse(keys[3], model, base, betas, samples.states, _phase(progress, "reverse AIS"))
    return low, high, dict(zip(groups, parts(high, [len(group) for group in groups.values()]), strict=True)), samples


def _starts(
    key: Key[Array, ""], model: Model, low: Side, base: Model, rows: np.ndarray | None, chains: int
) -> dict[str, Num[np.ndarray, "n D"]]:
    """Where sampling chains start: at the ends of AIS chains by weight, at data (or the base), at noise in either layer.

    If all agree in the end the chains have mixed. Noise matters: a model can have most of its mass far from the data
    and from the base, in a wide region that uniform noise falls into (CD-1 leaves such regions).
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    sizes = [len(part) for part in np.array_split(np.arange(chains), 4 if isinstance(model, Latent) else 3)]
    p = np.exp(low.annealed.log_weights - low.annealed.log_weights.max())
    ends = low.annealed.states[rng.choice(len(p), size=sizes[0], p=p / p.sum())]
    middle = base_samples(key, base, sizes[1]) if rows is None else rows[rng.integers(len(rows), size=sizes[1])]
    noise = np.asarray(model.space.noise(key, sizes[2]))
    named = {"ais": ends, "base" if rows is None else "data": middle, "noise": noise}
    if isinstance(model, Latent):
        hidden = rng.integers(2, size=(sizes[3], model.transposed().space.size))
        named["hidden noise"] = np.asarray(model.sample_visible(key, hidden))
    return {name: states.astype(model.space.dtype) for name, states in named.items()}


def _base_means(key: Key[Array, ""], model: Model, rows: np.ndarray | None) -> Float[np.ndarray, " D *values"]:
    """Of the data, smoothed; without data, of short chains from noise."""
    if rows is None:
        start = np.asarray(model.space.noise(key, 100)).astype(model.space.dtype)
        rows = gibbs_samples(key, model, start, 100).states
    return model.space.mean_features(rows)


def _judged(low: Side, pooled: Side, groups: dict[str, Side], samples: Samples, settings: AIS, n: int, seconds: float) -> Estimate:
    highest, lowest = (choose(groups.values(), key=lambda side: side.log_partition) for choose in (max, min))
    apart = highest.log_partition - lowest.log_partition
    agree = apart <= settings.target_gap + 3 * float(np.hypot(highest.mean.stderr, lowest.mean.stderr))
    # chains caught in a region find only that region's share of Z: of figures that differ, the largest counts
    high = pooled if agree else highest
    top, expected = _highest_chains(pooled)
    hidden_mass = top - high.log_partition
    lower = min(side.log_partition - Z95 * side.mean.stderr for side in (low, high))
    upper = max(side.log_partition + Z95 * side.mean.stderr for side in (low, high))
    gap = high.log_partition - low.log_partition
    noise = float(np.hypot(low.mean.stderr, high.mean.stderr))
    ess = min(low.mean.ess, high.mean.ess)
    value, stderr = low.log_partition, low.mean.stderr
    if agree:  # else the upper side's samples are not the model's, and only the lower side is left
        ratio, stderr = bennett(low.annealed.log_weights, pooled.annealed.log_weights)
        value = ratio + low.log_partition - low.mean.value
    bad: list[str] = []
    wide: list[str] = []
    if ess < FEW_CHAINS:
        (bad if ess < FEW_CHAINS / 2 else wide).append(f"few effective chains ({ess:.1f} of {settings.chains})")
    if gap > settings.target_gap:
        (bad if gap > GAP_TOO_WIDE else wide).append(f"the sandwich is open by {gap:.2f} nats")
    if gap < -settings.target_gap - 3 * noise:
        (bad if -gap > GAP_TOO_WIDE else wide).append(f"the upper side is {-gap:.2f} nats below the lower one")
    if hidden_mass > expected:
        text = f"some chains find {hidden_mass:.2f} nats more than the others: there are regions between which nothing moves"
        (bad if hidden_mass > GAP_TOO_WIDE else wide).append(text)
        upper = max(upper, top)
    if not agree:
        figures = ", ".join(f"{side.log_partition:.2f} from {name}" for name, side in groups.items())
        text = f"the chains have not mixed: by where they started, reverse AIS gives {figures}"
        (bad if apart > GAP_TOO_WIDE else wide).append(text)
    if stderr > settings.target_stderr:
        wide.append(f"the standard error is {stderr:.2f} nats")
    verdict: Verdict = "do not trust" if bad else "wide" if wide else "trusted"
    return Estimate(
        value=value,
        stderr=stderr,
        lower=min(lower, value - Z95 * stderr),
        upper=max(upper, value + Z95 * stderr),
        ess=ess,
        method="ais",
        verdict=verdict,
        settings={
            "chains": settings.chains,
            "betas": n,
            "schedule": settings.schedule,
            "samples": settings.samples,
            "target_stderr": settings.target_stderr,
            "target_gap": settings.target_gap,
            "forward": low.log_partition,
            "reverse": high.log_partition,
            "gap": gap,
            "stderr_forward_weights": low.mean.stderr_weights,
            "stderr_forward_bootstrap": low.mean.stderr_bootstrap,
            "stderr_reverse": high.mean.stderr,
            "combined": agree,
            "ess_forward": low.mean.ess,
            "ess_reverse": high.mean.ess,
            "reverse_by_start": {name: side.log_partition for name, side in groups.items()},
            "r_hat": samples.r_hat,
            "seconds": seconds,
        },
        warnings=(*bad, *wide),
    )


def _highest_chains(side: Side) -> tuple[float, float]:
    """What the highest twentieth of the reverse chains give for log Z, and by how much it may exceed the mean of all.

    A chain caught in a region gives that region's share of Z. In the mean of the weights chains that give much are swamped
    by those that give little, so a few that found most of the mass show only here. Were the chains' figures normal,
    the highest twentieth would lie two standard deviations up.
    """
    each = side.log_partition + side.mean.value - side.annealed.log_weights
    spread = 1.4826 * float(np.median(np.abs(each - np.median(each))))
    highest = np.sort(each)[-max(len(each) // 20, 2) :]
    return float(highest.mean()), 1 + 4 * spread


def _with_reason(estimate: Estimate, reason: str) -> Estimate:
    return replace(estimate, warnings=(*estimate.warnings, reason))


def _scaled(progress: Progress | None, n: int) -> Progress | None:
    return None if progress is None else lambda phase, share: progress(f"{phase}, {n} temperatures", share)


def _phase(progress: Progress | None, name: str) -> Callable[[float], Any] | None:
    return None if progress is None else lambda share: progress(name, share)
