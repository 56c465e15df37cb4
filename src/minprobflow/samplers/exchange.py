"""Replica exchange along a trajectory: chains at all of its rungs, exact draws at the first, swaps between neighbours.

Parallel trajectory tempering (Béreux, Decelle, Furtlehner, Rosset & Seoane 2025). A ladder of temperatures has to jump where the model
would melt; training passed through the same changes in small steps.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array, Bool, Float, Int, Key

from ..arguments import shown, whole
from ..errors import InputError
from ..models import Trajectory
from ..models.base import Model
from ..random_bits import subkey
from .auto import default_kernel
from .base import Kernel
from .engine import run
from .swaps import Swaps, swap

UNBORN = -1
"""the birth of a state that has not come from rung 0"""


class Replicas(NamedTuple):
    """Each chain's states at all rungs. The last rung is the trained model's."""

    states: Float[Array, "chains rungs D"]
    born: Int[Array, "chains rungs"]  # the round in which the state was drawn at rung 0, or UNBORN
    replica: Int[Array, "chains rungs"]  # a number that a replica keeps on its way up and down
    turn: Int[Array, " chains"]  # rounds done, the same for all chains

    @property
    def v(self) -> Float[Array, "chains D"]:
        """The states on the last rung."""
        return self.states[..., -1, :]


class Round(NamedTuple):
    """What a round has measured: each state's free energy at the rung it may move to, less that at its own (0 where it may not)."""

    work: Float[Array, "chains rungs"]
    swaps: Swaps


def exchange(trajectory: Trajectory, steps: int = 1) -> Kernel[Replicas, Round]:
    """A round on all rungs: rung 0 is redrawn exactly, the others make some sampler steps, then neighbours swap states.

    A swap between rungs r and s = r + 1 is accepted with probability min(1, exp(F_r(x_r) + F_s(x_s) - F_r(x_s) - F_s(x_r))). Each
    rung is left invariant. The model that a chain is run with must be the trajectory's last one.

    Args:
        trajectory: the rungs.
        steps: of the rung's sampler in a round.

    >>> import minprobflow as mpf
    >>> rbm = mpf.BernoulliRBM.init(0, 6, 4)
    >>> kernel = exchange(mpf.Trajectory.scaled(rbm, n=5))
    >>> state = kernel.init(jax.random.key(0), rbm, jnp.zeros((3, 6)))
    >>> state, info = kernel.step(jax.random.key(1), rbm, state)
    >>> state.v.shape, info.work.shape
    ((3, 6), (3, 5))
    """
    if not isinstance(trajectory, Trajectory):
        raise InputError(f"trajectory is {shown(trajectory)}: pass an mpf.Trajectory, such as mpf.Trajectory.scaled(model)")
    steps = whole("steps", steps, 1, hint="it is the number of sampler steps between exchanges")
    return Kernel(Partial(_on_all_rungs, len(trajectory)), Partial(_round, trajectory, steps))


def placed(states: Float[Array, "chains rungs D"]) -> Replicas:
    """Replicas at these states."""
    chains, rungs, _ = states.shape
    numbers = jnp.broadcast_to(jnp.arange(rungs)[None], (chains, rungs))
    return Replicas(states, jnp.full((chains, rungs), UNBORN), numbers, jnp.zeros(chains, int))


def _on_all_rungs(rungs: int, key: Key[Array, ""], model: Model, v: Float[Array, "chains D"]) -> Replicas:
    return placed(jnp.repeat(v[:, None], rungs, axis=1))


def _round(
    trajectory: Trajectory,
    steps: int | Int[Array, ""],
    key: Key[Array, ""],
    model: Model,
    state: Replicas,
    held: Bool[Array, "#chains D"] | None = None,
) -> tuple[Replicas, Round]:
    rungs, turn = len(trajectory), state.turn[0]
    # in an even round rungs 0 and 1, 2 and 3, ... are paired; in an odd one 1 and 2, 3 and 4, ...
    numbers = jnp.arange(rungs)
    partners = numbers + jnp.where(numbers % 2 == turn % 2, 1, -1)
    partners = jnp.where((partners < 0) | (partners >= rungs), numbers, partners)
    kernel = default_kernel(model)
    fresh = trajectory.draw_first(subkey(key, 0), state.states.shape[0]).astype(state.states.dtype)
    first = fresh if held is None else jnp.where(held, state.states[:, 0], fresh)

    def on_rung(_: None, one: tuple[Array, Array, Model, Array]) -> tuple[None, tuple[Array, Array]]:
        number, partner, at, v = one
        key_rung = subkey(key, number)
        v = jax.lax.cond(
            number == 0, lambda: first, lambda: run(key_rung, at, kernel.init(key_rung, at, v), steps, kernel, held).v.astype(v.dtype)
        )
        there = jax.tree.map(lambda leaf: leaf[partner], trajectory.rungs)
        return None, (v, there.free_energy(v) - at.free_energy(v))

    # one rung after the other: its parameters stay in the cache, and the compiled kernels take one model at a time
    _, (moved, work) = jax.lax.scan(on_rung, None, (numbers, partners, trajectory.rungs, jnp.swapaxes(state.states, 0, 1)))
    work = work.T
    born = state.born.at[:, 0].set(state.turn)
    before = Replicas(jnp.swapaxes(moved, 0, 1), born, state.replica, state.turn)
    (states, born, replica), swaps = swap(subkey(key, rungs), -(work[:, :-1] + work[:, 1:]), state.turn, before[:3])
    return Replicas(states, born, replica, state.turn + 1), Round(work, swaps)
