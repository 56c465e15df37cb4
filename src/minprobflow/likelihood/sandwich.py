"""log Z between a lower and an upper estimate, with a verdict; temperatures are doubled until it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..arguments import choice, number, whole
from ..models.base import Model
from ..random_bits import as_key
from ..samplers import default_kernel, tempering
from ..units import Discrete
from . import schedules
from .ais import forward, reverse, schedule
from .base import MAX_CHAINS, LogPartitionEstimator, Progress, phase
from .checks import SHARE_OF_CHECKS, checked, passed
from .estimate import Estimate
from .model_samples import model_samples
from .starts import starts
from .verdict import Sides, Targets, judged

MAX_BETAS = 10**8
RUNGS = 16  # of tempered sampling chains
HOPELESS = 4  # give up doubling when this many times the budget would be needed


@dataclass(frozen=True)
class AIS(LogPartitionEstimator):
    """Annealed importance sampling in both directions."""

    name: ClassVar[str] = "ais"

    chains: int = 100
    """number of chains"""
    betas: int | None = None
    """number of temperatures; by default doubled from `first_betas` until the target or the budget is reached"""
    schedule: str = "adaptive"
    """adaptive, linear or three-piece"""
    samples: str = "gibbs"
    """gibbs (long chains) or tempering: how the samples that reverse chains start from are drawn"""
    sample_steps: int | None = None
    """steps of those sampling chains; by default as many as temperatures, at least 1,000"""
    target_stderr: float = 0.1
    """standard error of log Z to reach"""
    target_gap: float = 0.5
    """how far apart the two sides may be"""
    first_betas: int = 1000
    """temperatures to begin with"""
    max_betas: int = 64_000
    """temperatures at which doubling ends"""
    max_seconds: float | None = None
    """stop doubling when this time is used up"""

    def log_partition(self, model: Model, key: Key[Array, ""], base_data: object = None, progress: Progress | None = None) -> Estimate:
        return sandwich(model, self, key, base_data, progress)

    def __post_init__(self) -> None:
        few = "annealing needs at least 2 temperatures, some thousand for a real model"
        checks: dict[str, Callable[[str, object], float]] = {
            "chains": partial(whole, low=10, high=MAX_CHAINS, hint="AIS needs at least 10 chains to tell its error, better 100"),
            **dict.fromkeys(("betas", "first_betas", "max_betas"), partial(whole, low=2, high=MAX_BETAS, hint=few)),
            "sample_steps": partial(whole, low=2),
            **dict.fromkeys(("target_stderr", "target_gap", "max_seconds"), partial(number, above=0)),
        }
        for name, check in checks.items():
            value = getattr(self, name)
            if value is not None or name not in ("betas", "sample_steps", "max_seconds"):
                object.__setattr__(self, name, check(name, value))
        choice("schedule", self.schedule, schedules.NAMES)
        choice("samples", self.samples, ("gibbs", "tempering"))


def sandwich(model: Model, settings: AIS, key: Key[Array, ""], base_data: object = None, progress: Progress | None = None) -> Estimate:
    """log Z by AIS in both directions."""
    key, begun = as_key(key), time.perf_counter()
    rows = None if base_data is None else model.space.check(base_data, "base data")
    n = min(settings.first_betas, settings.max_betas) if settings.betas is None else settings.betas
    paths = _paths(key, model, rows, settings, n)

    def finished(estimate: Estimate, sides: Sides) -> Estimate:
        seconds = SHARE_OF_CHECKS * max(time.perf_counter() - begun, 1.0)
        return passed(estimate, checked(jax.random.fold_in(key, 10_000), model, sides.samples.states, rows, seconds))

    for attempt in range(2, 10_000):
        sides = _both_sides(jax.random.fold_in(key, attempt), model, paths, rows, settings, _scaled(progress, n))
        seconds = time.perf_counter() - begun
        estimate = judged(sides, Targets(settings.target_stderr, settings.target_gap))
        how = {"chains": settings.chains, "betas": n, "schedule": settings.schedule, "samples": settings.samples, "seconds": seconds}
        estimate = replace(estimate, settings={**how, **estimate.settings})
        if settings.betas is not None or estimate.verdict == "trusted":
            return finished(estimate, sides)
        out_of_time = settings.max_seconds is not None and 3 * seconds > settings.max_seconds  # the next round takes twice as long
        if 2 * n > settings.max_betas or out_of_time:
            reason = f"the budget of {'time' if out_of_time else 'temperatures'} ran out at {n} temperatures"
            return finished(_with_reason(estimate, reason), sides)
        needed = n * estimate.settings["gap"] / settings.target_gap  # the gap falls about as 1/n, at best
        if attempt > 3 and needed > HOPELESS * settings.max_betas:
            return finished(_with_reason(estimate, f"more than {needed:,.0f} temperatures would be needed: stopped at {n}"), sides)
        n *= 2
        named = schedules.NAMED.get(settings.schedule)
        paths = {
            name: path._replace(betas=named(n) if named else schedules.adaptive(n, path.betas, sides.lows[name].annealed.variances))
            for name, path in paths.items()
        }
    raise AssertionError("unreachable")


class Path(NamedTuple):
    """A base model and the temperatures from it to the model."""

    base: Model
    betas: Float[np.ndarray, " n"]


def _paths(key: Key[Array, ""], model: Model, rows: np.ndarray | None, settings: AIS, n: int) -> dict[str, Path]:
    """From a base with the data's means, which leads to where the data are, and from even noise, which leads to wide regions far from
    them. (Real units have no even noise.)"""
    means = {"base" if rows is None else "data": jnp.asarray(_base_means(jax.random.fold_in(key, 0), model, rows), jnp.result_type(float))}
    if isinstance(model.space, Discrete):
        means["noise"] = model.space.even_means()
    bases = {name: model.base(mean) for name, mean in means.items()}
    return {name: Path(base, schedule(jax.random.fold_in(key, 1), model, base, settings.schedule, n)) for name, base in bases.items()}


def _both_sides(
    key: Key[Array, ""], model: Model, paths: dict[str, Path], rows: np.ndarray | None, settings: AIS, progress: Progress | None
) -> Sides:
    keys = jax.random.split(key, 4)
    lows = {
        name: forward(jax.random.fold_in(keys[0], i), model, *path, settings.chains, phase(progress, f"AIS from {name}"))
        for i, (name, path) in enumerate(paths.items())
    }
    base, betas = next(iter(paths.values()))
    groups = starts(keys[1], model, lows, base, rows, settings.chains)
    everywhere = np.concatenate(list(groups.values()))
    steps = settings.sample_steps or max(len(betas), 1000)
    if progress:
        progress("sampling", 0.0)
    kernel = tempering(jnp.linspace(0.0, 1.0, RUNGS), base) if settings.samples == "tempering" else default_kernel(model)
    samples = model_samples(keys[2], model, kernel, everywhere, steps)
    highs = {
        name: reverse(jax.random.fold_in(keys[3], i), model, *path, samples.states, phase(progress, f"reverse AIS to {name}"))
        for i, (name, path) in enumerate(paths.items())
    }
    return Sides(lows, highs, {name: len(group) for name, group in groups.items()}, samples)


def _base_means(key: Key[Array, ""], model: Model, rows: np.ndarray | None) -> Float[np.ndarray, " D *values"]:
    """Of the data, smoothed; without data, of short chains from noise."""
    if rows is None:
        start = np.asarray(model.space.noise(key, 100)).astype(model.space.dtype)
        rows = model_samples(key, model, default_kernel(model), start, 100).states
    return model.space.mean_features(rows)


def _with_reason(estimate: Estimate, reason: str) -> Estimate:
    return replace(estimate, warnings=(*estimate.warnings, reason))


def _scaled(progress: Progress | None, n: int) -> Progress | None:
    return None if progress is None else lambda phase, share: progress(f"{phase}, {n} temperatures", share)
