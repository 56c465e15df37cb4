"""Annealed importance sampling (Neal 2001; Salakhutdinov & Murray 2008), forward and in reverse.

Forward chains start at the base model: the log of their mean weight is too low on average. Reverse chains start at
samples of the model and give a figure that is too high on average, if those samples are good. Between them is log Z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..models.base import Model
from ..samplers import default_kernel
from . import schedules
from .annealing import Annealed, anneal
from .weights import LogMean, log_mean

Progress = Callable[[float], object]
PILOT_CHAINS, PILOT_BETAS = 50, 401


class Side(NamedTuple):
    """One direction's estimate of log Z."""

    log_partition: float
    mean: LogMean
    annealed: Annealed


def forward(
    key: Key[Array, ""], model: Model, base: Model, betas: Float[np.ndarray, " n"], chains: int, progress: Progress | None = None
) -> Side:
    """From the base to the model: from below."""
    key_start, key_run = jax.random.split(key)
    annealed = anneal(key_run, model, base, base_samples(key_start, base, chains), betas, progress)
    mean = log_mean(annealed.log_weights)
    return Side(base_log_partition(base) + mean.value, mean, annealed)


def reverse(
    key: Key[Array, ""],
    model: Model,
    base: Model,
    betas: Float[np.ndarray, " n"],
    samples: Num[np.ndarray, "chains D"],
    progress: Progress | None = None,
) -> Side:
    """From samples of the model to the base: from above."""
    annealed = anneal(key, model, base, samples, betas[::-1], progress)
    mean = log_mean(annealed.log_weights)
    return Side(base_log_partition(base) - mean.value, mean, annealed)


def parts(side: Side, sizes: Sequence[int]) -> list[Side]:
    """A reverse side taken apart into groups of chains."""
    ends = np.cumsum(sizes)
    return [_part(side, slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def joined(groups: Sequence[Side]) -> Side:
    """Groups of chains of one reverse side together."""
    states, weights = (np.concatenate([getattr(side.annealed, name) for side in groups]) for name in ("states", "log_weights"))
    annealed = groups[0].annealed._replace(states=states, log_weights=weights)
    return _part(groups[0]._replace(annealed=annealed), slice(None))


def _part(side: Side, chains: slice) -> Side:
    log_base, all_chains = side.log_partition + side.mean.value, side.annealed
    annealed = all_chains._replace(states=all_chains.states[chains], log_weights=all_chains.log_weights[chains])
    mean = log_mean(annealed.log_weights)
    return Side(log_base - mean.value, mean, annealed)


def schedule(key: Key[Array, ""], model: Model, base: Model, name: str, n: int) -> Float[np.ndarray, " n"]:
    """Betas by the schedule's name; `adaptive` makes a short pilot run first."""
    if name != "adaptive":
        return schedules.NAMED[name](n)
    betas = schedules.three_piece(min(PILOT_BETAS, n))
    pilot = forward(key, model, base, betas, PILOT_CHAINS)
    return schedules.adaptive(n, betas, pilot.annealed.variances)


def base_samples(key: Key[Array, ""], base: Model, n: int) -> Num[np.ndarray, "n D"]:
    """Exact samples: one step of the kernel from anywhere, since the base's units are independent."""
    return np.asarray(_base_samples(key, base, n)).astype(base.space.dtype)


@partial(jax.jit, static_argnames="n")
def _base_samples(key: Key[Array, ""], base: Model, n: int) -> Num[Array, "n D"]:
    kernel = default_kernel(base)
    return kernel.step(key, base, kernel.init(key, base, jnp.zeros((n, base.space.size))))[0].v


def base_log_partition(base: Model) -> float:
    """In double precision."""
    return float(base.base_log_partition())
