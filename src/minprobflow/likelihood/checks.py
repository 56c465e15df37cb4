"""Two checks that cost next to nothing and that every estimate of log Z must pass.

Z is the sum of e^-F over all states, so it is at least the sum over any distinct ones: under the stated log Z the states that are known
(data and samples) may not have a total probability above 1. And samples that are taken for samples of the model stay so however long they
are sampled on: their mean free energy may not drift.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, Num

from ..models.base import Model
from ..samplers import default_kernel
from ..samplers.engine import run
from ..units import Discrete
from .annealing import BLOCK
from .estimate import Estimate, Verdict
from .rows import free_energies

STEPS = 10_000  # over which samples may not drift
FIRST_STEPS = 100
SHARE_OF_CHECKS = 0.1  # of an estimate's time, at most (but a second)
STANDARD_ERRORS = 3.0
MOST_ROWS = 20_000  # of the data, whose mass is summed


class Drift(NamedTuple):
    """By how much the mean free energy of samples has changed."""

    change: float
    stderr: float
    steps: int

    @property
    def found(self) -> bool:
        return abs(self.change) > STANDARD_ERRORS * self.stderr + 1e-6 * max(abs(self.change), 1.0)

    def __str__(self) -> str:
        return f"the samples' mean free energy drifts by {self.change:+.2f} +- {self.stderr:.2f} nats in {self.steps:,} more steps"


class Checks(NamedTuple):
    """What the checks found."""

    log_mass: float
    """log of the sum of e^-F over the known states: log Z is at least this (minus infinity for real units, which have densities)"""
    drift: Drift


def checked(
    key: Key[Array, ""], model: Model, samples: Num[np.ndarray, "n D"], rows: np.ndarray | None = None, seconds: float | None = None
) -> Checks:
    """Check samples that are taken for the model's, and the data.

    Args:
        key: for the further steps.
        model: whose log Z was estimated.
        samples: what is taken for samples of it.
        rows: data, whose mass counts too.
        seconds: stop sampling on when this time is used up; by default after 10,000 steps.
    """
    return Checks(log_mass(model, samples, rows), drift(key, model, samples, seconds))


def log_mass(model: Model, samples: Num[np.ndarray, "n D"], rows: np.ndarray | None = None) -> float:
    """log of the sum of e^-F over all distinct states among these."""
    if not isinstance(model.space, Discrete):
        return -np.inf
    known = samples if rows is None else np.concatenate([samples, rows[:MOST_ROWS].astype(samples.dtype)])
    return float(np.logaddexp.reduce(-free_energies(model, np.unique(known, axis=0))))


def drift(key: Key[Array, ""], model: Model, samples: Num[np.ndarray, "n D"], seconds: float | None = None, steps: int = STEPS) -> Drift:
    """The change of the mean free energy in `steps` further steps (fewer, if they take longer than `seconds`)."""
    kernel, begun = default_kernel(model), time.perf_counter()
    blocks = np.array_split(samples, -(-len(samples) // BLOCK))
    states = [kernel.init(key, model, jnp.asarray(block).astype(float)) for block in blocks]
    done, length = 0, min(FIRST_STEPS, steps)
    while done < steps:
        at = jax.random.fold_in(key, done)
        states = [run(jax.random.fold_in(at, i), model, state, length, kernel) for i, state in enumerate(states)]
        jax.block_until_ready(states)
        done += length
        length = min(2 * length, steps - done)
        if seconds is not None and 3 * (time.perf_counter() - begun) > seconds:  # the next part takes twice as long
            break
    after = np.concatenate([np.asarray(state.v) for state in states]).astype(samples.dtype)
    change = free_energies(model, after) - free_energies(model, samples)
    return Drift(float(change.mean()), float(change.std(ddof=1) / np.sqrt(len(change))), done)


def passed(estimate: Estimate, checks: Checks) -> Estimate:
    """The estimate, with what the checks say: lower ends below what is known are raised, and reasons are added."""
    bad, wide = [], []
    if checks.log_mass > estimate.value + STANDARD_ERRORS * estimate.stderr + 1e-6 * abs(estimate.value):
        excess = checks.log_mass - estimate.value
        bad.append(f"data and samples alone have a probability of e^{excess:.2f}, more than 1, under the stated log Z")
    if checks.drift.found:
        wide.append(str(checks.drift))
    known = {
        "log_mass_of_known_states": checks.log_mass,
        "drift": checks.drift.change,
        "drift_stderr": checks.drift.stderr,
        "drift_steps": checks.drift.steps,
    }
    verdict: Verdict = "do not trust" if bad else "wide" if wide and estimate.verdict == "trusted" else estimate.verdict
    return replace(
        estimate,
        lower=min(max(estimate.lower, checks.log_mass), estimate.value),
        upper=max(estimate.upper, checks.log_mass),
        verdict=verdict,
        settings={**estimate.settings, **known},
        warnings=(*estimate.warnings, *bad, *wide),
    )
