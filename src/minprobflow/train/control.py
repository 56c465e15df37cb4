"""Step control: an epoch in parts, between which rungs are kept or training goes back to the last one."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .. import native
from ..random_bits import subkey
from .config import Config
from .epoch import LADDER, Leash, Part
from .ladder import KEEP, LEAST, REJECT, begin, kept
from .progress import Figure
from .state import Metrics, TrainState
from .watching import in_one, replicas_of


def climbing(state: TrainState, rows: np.ndarray, config: Config, replicas: bool) -> TrainState:
    """With a ladder that begins here, or without one, as the configuration says."""
    if not config.trajectory:
        return state._replace(trajectory=None)
    with native.using(config.kernels):
        each = [_with_first_rung(one, rows, config.examples) for one in replicas_of(state, replicas)]
    return in_one(each, replicas)


def _with_first_rung(state: TrainState, rows: np.ndarray, examples: int) -> TrainState:
    members = getattr(getattr(state.rule, "reservoir", None), "states", None)
    chains = max(examples, 2) if members is None else members.shape[0] // 10
    ladder, rule = begin(subkey(state.key, LADDER), state.model, state.rule, rows, chains)
    return state._replace(rule=rule, trajectory=ladder)


PartOf = Callable[[TrainState, Metrics, Leash, jax.Array], Part]


def controlled(
    part_of: PartOf, state: TrainState, updates: int, optimizer: optax.GradientTransformationExtraArgs
) -> tuple[TrainState, Metrics]:
    """The state after an epoch, and its metrics: a part of the epoch, then a rung or a step back, and so on."""
    replicas = state.step.ndim > 0
    end = (int(np.max(state.step)) // updates + 1) * updates
    metrics = Metrics(*(jnp.zeros((*state.step.shape, n)) for n in (updates, updates, updates, updates, 1)))
    while int(np.min(state.step)) < end:
        ladder = state.trajectory
        assert ladder is not None
        leash = Leash(ladder.reservoir, ladder.scale, ladder.fresh)
        after, metrics, acceptance, fresh = part_of(state._replace(trajectory=None), metrics, leash, jnp.asarray(end))
        after = after._replace(trajectory=ladder._replace(fresh=fresh))
        each = [
            settled(one, float(a), optimizer) if a < KEEP else one
            for one, a in zip(replicas_of(after, replicas), np.atleast_1d(acceptance), strict=True)
        ]
        state = in_one(each, replicas)
    return state, metrics


def settled(state: TrainState, acceptance: float, optimizer: optax.GradientTransformationExtraArgs) -> TrainState:
    """The model kept as a rung; or the last rung's parameters, with half the learning rate, if the model has jumped."""
    ladder = state.trajectory
    assert ladder is not None
    if (acceptance < REJECT or bool(ladder.fresh)) and float(ladder.scale) > LEAST:
        back = ladder._replace(scale=ladder.scale / 2, rejected=ladder.rejected + 1, fresh=jnp.ones_like(ladder.fresh))
        model = ladder.reservoir.rung
        return state._replace(model=model, rule=ladder.rule, optimizer=optimizer.init(model), trajectory=back)
    grown, rule = kept(subkey(subkey(state.key, LADDER), state.step), ladder, state.model, state.rule, state.step)
    return state._replace(rule=rule, trajectory=grown)


def climbed(state: TrainState) -> dict[str, Figure]:
    """How far training has come on its ladder; one entry per replica where there are several."""
    ladder = state.trajectory
    if ladder is None:
        return {}
    return {
        name: np.asarray(value) for name, value in (("rungs", ladder.used), ("rejected", ladder.rejected), ("rate_scale", ladder.scale))
    }
