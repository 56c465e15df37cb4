"""How well a model's Gibbs chains mix: the free energy along them, and how long they remember it."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..likelihood.base import Progress
from ..models.base import Model
from ..samplers import default_kernel
from ..samplers.engine import trace, walk

SHOWN = (0, 1, 10, 100, 1000)  # steps after which the states are kept
STEPS = 3000
CHUNK = 250


class Chains(NamedTuple):
    """What is kept of chains."""

    states: Float[np.ndarray, "shown chains D"]
    free_energy: Float[np.ndarray, "steps chains"]


def run_chains(key: Key[Array, ""], model: Model, start: Float[Array, "chains D"], progress: Progress | None, phase: str) -> Chains:
    """Run for `STEPS` steps; keep the states at the steps of `SHOWN` and every free energy."""
    kernel, states = default_kernel(model), []
    stops = sorted({*SHOWN, *range(0, STEPS, CHUNK), STEPS})
    for stop, chains, seen in walk(key, model, kernel.init(key, model, start), stops, kernel, FREE_ENERGY):
        energies = seen
        if stop in SHOWN:
            states.append(np.asarray(chains.v))
        if progress:
            progress(phase, stop / STEPS)
    every = jnp.concatenate([model.free_energy(start)[None], energies])
    return Chains(np.stack(states), np.asarray(every, np.float64))


FREE_ENERGY = trace(lambda model, state, info: model.free_energy(state.v), STEPS)
