"""The rungs that a training run keeps on its way, with equilibrium samples of each.

Rung 0 has independent units. The last rung's samples, the reservoir, tell how often a swap between it and the current model would be
accepted: with their weights softmax(F_last - F) they are samples of the current model too. When that falls below `KEEP` the model becomes
a rung, and replica exchange over all rungs, with exact draws at rung 0, brings samples to it. When it falls below `REJECT` at once, the
model has jumped: training goes back to the last rung at half the learning rate.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from ..flow.trajectory import TIMES, Exchanging, Reservoir, acceptance
from ..models import Trajectory
from ..models.base import Model
from ..random_bits import subkey, uniform
from ..samplers.engine import observe, run, trace
from ..samplers.exchange import exchange, placed
from ..samplers.memory import memory
from .tracking import systematic

KEEP, REJECT = 0.3, 0.1  # acceptance below which the model becomes a rung, and below which it is rejected
CAPACITY = 64  # rungs; more are thinned
GROWTH = 2**0.5  # of the learning rate at each rung that is kept, up to the scheduled one
LEAST = 2.0**-10  # of the scheduled rate: below, a model is kept even if it has jumped
SWEEPS, MOST, TIMES_MEMORY = 20, 200, 20  # of replica exchange for a new rung: at least, at most, autocorrelation times


class Ladder(NamedTuple):
    """Rungs kept so far; slots that are not used hold copies of the last rung, with which swaps are always accepted."""

    rungs: Model  # stacked
    steps: Int[Array, "*replicas rungs"]  # updates done when each was kept
    used: Int[Array, "*replicas"]  # rungs in use
    states: Float[Array, "*replicas rungs chains D"]  # samples of each
    reservoir: Reservoir  # of the last one
    rule: PyTree[Array]  # the rule's state when the last one was kept
    scale: Float[Array, "*replicas"]  # what the learning rate is multiplied by
    fresh: Bool[Array, "*replicas"]  # whether nothing was learned since the last one
    rejected: Int[Array, "*replicas"]  # how often training went back

    def trajectory(self, model: Model) -> Trajectory:
        """The rungs in use, and the model as the last one."""
        n = int(self.used)
        kept = Trajectory(jax.tree.map(lambda leaf: leaf[:n], self.rungs), self.steps[:n])
        return kept.ending_at(model)


def begin(
    key: Key[Array, ""], model: Model, rule: PyTree[Array], data: Num[np.ndarray, "N D"], chains: int
) -> tuple[Ladder, PyTree[Array]]:
    """Rung 0: independent units with the data's means, and exact samples. And the rule's state with these samples, if it wants any."""
    base = model.base(jnp.asarray(model.space.mean_features(data)).astype(float))
    rungs = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], CAPACITY, 0), base)
    first = Trajectory(rungs, jnp.zeros(CAPACITY, int))
    reservoir = _reservoir(base, first.draw_first(subkey(key, 0), TIMES * chains).astype(float))
    states = jnp.stack([first.draw_first(subkey(key, 1), chains).astype(float)] * CAPACITY)
    rule = renewed(rule, reservoir)
    one = jnp.ones((), int)
    return Ladder(rungs, first.steps, one, states, reservoir, rule, one.astype(float), one.astype(bool), 0 * one), rule


def _reservoir(rung: Model, states: Float[Array, "M D"]) -> Reservoir:
    return Reservoir(rung, states, rung.free_energy(states))


def renewed(rule: PyTree[Array], reservoir: Reservoir) -> PyTree[Array]:
    """The rule's state, with this reservoir if it exchanges with one."""
    return rule._replace(reservoir=reservoir) if isinstance(rule, Exchanging) else rule


def gap(model: Model, reservoir: Reservoir) -> Float[Array, " M"]:
    """F of the model less F of the rung, of each state."""
    return model.free_energy(reservoir.states) - reservoir.free_energy


def accepted(model: Model, reservoir: Reservoir) -> Float[Array, ""]:
    """How often a swap between the model and the last rung would be accepted."""
    return acceptance(gap(model, reservoir))


def kept(key: Key[Array, ""], ladder: Ladder, model: Model, rule: PyTree[Array], step: Int[Array, ""]) -> tuple[Ladder, PyTree[Array]]:
    """The ladder with this model as its last rung, thermalised; and the rule's state with samples of it."""
    if int(ladder.used) == CAPACITY:
        ladder = thinned(ladder)
    n, chains = int(ladder.used), ladder.states.shape[1]
    chosen = systematic(uniform(subkey(key, 0), ladder.scale), -gap(model, ladder.reservoir))
    some = ladder.reservoir.states[chosen[jnp.arange(chains) * (len(chosen) // chains)]]
    rungs = jax.tree.map(lambda leaves, leaf: leaves.at[n:].set(leaf[None]), ladder.rungs, model)
    states, reservoir = thermalised(subkey(key, 1), rungs, ladder.states.at[n:].set(some[None]), n + 1)
    samples = _reservoir(model, reservoir)
    rule = renewed(rule, samples)
    scale = jnp.minimum(ladder.scale * GROWTH, 1.0).astype(ladder.scale.dtype)
    return Ladder(
        rungs, ladder.steps.at[n:].set(step), ladder.used + 1, states, samples, rule, scale, jnp.ones_like(ladder.fresh), ladder.rejected
    ), rule


def thinned(ladder: Ladder) -> Ladder:
    """Without the rung whose neighbours exchange best with each other."""
    inner = range(1, int(ladder.used) - 1)
    ease = [float(_across(ladder.rungs, ladder.states[i - 1], i - 1, i + 1)) for i in inner]
    out = 1 + int(np.argmax(ease))
    keep = np.append(np.delete(np.arange(CAPACITY), out), CAPACITY - 1)
    rungs, steps, states = jax.tree.map(lambda leaf: leaf[keep], (ladder.rungs, ladder.steps, ladder.states))
    return ladder._replace(rungs=rungs, steps=steps, states=states, used=ladder.used - 1)


@jax.jit
def _across(rungs: Model, states: Float[Array, "chains D"], a: int | Array, b: int | Array) -> Float[Array, ""]:
    below, above = jax.tree.map(lambda leaf: leaf[a], rungs), jax.tree.map(lambda leaf: leaf[b], rungs)
    return accepted(above, _reservoir(below, states))


def thermalised(
    key: Key[Array, ""], rungs: Model, states: Float[Array, "rungs chains D"], n: int
) -> tuple[Float[Array, "rungs chains D"], Float[Array, "M D"]]:
    """Samples of all rungs after replica exchange, and ten times as many of the last one, taken two autocorrelation times apart.

    It runs for 20 autocorrelation times of a replica's place on the ladder, which are measured on the way.
    """
    size = min(2 ** max(int(np.ceil(np.log2(n))), 1), CAPACITY)  # few sizes, few compilations; what is beyond n copies the last rung
    ladder = Trajectory(jax.tree.map(lambda leaf: leaf[:size], rungs), jnp.zeros(size, int))
    kernel, state = exchange(ladder), placed(jnp.swapaxes(states[:size], 0, 1))
    seen: list[np.ndarray] = []
    time = 1.0
    while len(seen) * SWEEPS < min(max(SWEEPS, TIMES_MEMORY * time), MOST):
        state, places = observe(subkey(key, len(seen)), ladder.last, state, SWEEPS, kernel, PLACES)
        seen.append(np.asarray(places))
        time = autocorrelation_time(np.minimum(_places(np.concatenate(seen)), n - 1))
    taken, apart = [], max(1, min(round(2 * time), MOST // TIMES))
    for i in range(TIMES):
        state = run(subkey(key, MOST + i), ladder.last, state, apart, kernel)
        taken.append(state.v)
    return states.at[:size].set(jnp.swapaxes(state.states, 0, 1)).at[size:].set(state.v[None]), jnp.concatenate(taken)


PLACES = trace(lambda model, state, info: state.replica, SWEEPS)


def _places(replica: Int[np.ndarray, "rounds chains rungs"]) -> Int[np.ndarray, "rounds replicas"]:
    """On which rung each replica was in each round: the inverse of which replica was on each rung."""
    return np.argsort(replica, axis=-1).reshape(len(replica), -1)


def autocorrelation_time(places: Num[np.ndarray, "rounds replicas"]) -> float:
    """The integrated autocorrelation time, or the exponential one (from the first lag) if that is longer, in rounds.

    >>> round(autocorrelation_time(np.random.default_rng(0).random((400, 50))), 0)
    1.0
    """
    found = memory(places.astype(np.float64))
    first = float(found.autocorrelation[1])
    return max(found.time, -1 / np.log(first) if 0 < first < 1 else 1.0)
