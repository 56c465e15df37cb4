"""One update, and a whole epoch of them in one compiled call."""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Num

from ..flow.one_flip import log_odds_of_change
from ..flow.trajectory import Reservoir
from ..models.base import Latent, Model
from ..numerics import any_replica, squared_norm
from ..random_bits import bits, subkey
from ..rules.base import Rule, RuleSpec
from .ladder import KEEP, accepted
from .optimizer import Rate
from .state import Metrics, TrainState

_UPDATES, _SHUFFLES, _START, WATCH, LADDER = 0, 1, 2, 3, 4  # separate streams of random numbers
CHECK = 10  # updates between two looks at the exchange with the last rung
RECONSTRUCTED = 1000  # examples whose reconstruction error is measured at the end of an epoch


@partial(jax.jit, static_argnames=("rule", "batch_size", "optimizer", "averaged"))
def start(
    key: Array,
    model: Model,
    data: Num[Array, "N D"],
    rule: RuleSpec,
    batch_size: int,
    optimizer: optax.GradientTransformationExtraArgs,
    averaged: bool,
) -> TrainState:
    """The state before the first update."""
    model = jax.tree.map(lambda x: jax.lax.convert_element_type(x, x.dtype), model)  # weak types would compile twice
    rule_state = rule.build(batch_size).init(subkey(key, _START), model, data)
    return TrainState(jnp.zeros((), int), key, model, optimizer.init(model), rule_state, model if averaged else None)


Replicas = Literal["one", "in turn", "together"]


def arrangement(seeds: int | None) -> Replicas:
    """How replicas are trained in one program: in turn on a CPU, whose caches hold one of them; together on what is wider."""
    if seeds is None:
        return "one"
    return "in turn" if jax.default_backend() == "cpu" else "together"


@partial(jax.jit, static_argnames=("rule", "optimizer", "batch_size", "average", "replicas"))
def run_epoch(
    state: TrainState,
    data: Num[Array, "N D"],
    rate: Rate | None,
    rule: RuleSpec,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
    replicas: Replicas,
) -> tuple[TrainState, Metrics]:
    """Go once through the data in random order; whole batches only."""
    epoch = partial(_epoch, rate=rate, rule=rule.build(batch_size), optimizer=optimizer, batch_size=batch_size, average=average)
    if replicas == "one":
        return epoch(state, data)
    of_one = partial(epoch, data=data)
    return jax.lax.map(of_one, state) if replicas == "in turn" else jax.vmap(of_one)(state)


def _epoch(
    state: TrainState,
    data: Num[Array, "N D"],
    rate: Rate | None,
    rule: Rule,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
) -> tuple[TrainState, Metrics]:
    n_batches = data.shape[0] // batch_size
    key, batches = _shuffled(state.key, state.step // n_batches, data, batch_size)

    def step(state: TrainState, rows: Array) -> tuple[TrainState, dict[str, Array]]:
        return update(state, data[rows].astype(float), rate, rule, optimizer, average, 1 / n_batches)

    state, metrics = jax.lax.scan(step, state, batches)
    some = data[batches.ravel()[:RECONSTRUCTED]].astype(float)
    error = reconstruction_error(subkey(key, 0), state.model, some)
    return state, Metrics(**metrics, reconstruction_error=error[None])


def _shuffled(key: Array, epoch: Int[Array, ""], data: Num[Array, "N D"], batch_size: int) -> tuple[Array, Int[Array, "batches B"]]:
    """The key of an epoch, and the rows of its batches."""
    n_batches = data.shape[0] // batch_size
    key = subkey(subkey(key, _SHUFFLES), epoch)
    order = jnp.argsort(bits(key, (data.shape[0],)))  # one sort where jax.random.permutation takes two
    return key, order[: n_batches * batch_size].reshape(n_batches, batch_size)


class Leash(NamedTuple):
    """What an epoch needs to know of the trajectory."""

    reservoir: Reservoir
    scale: Float[Array, "*replicas"]
    fresh: Bool[Array, "*replicas"]


class Part(NamedTuple):
    """A part of an epoch, that ends where exchange with the last rung becomes rare."""

    state: TrainState
    metrics: Metrics
    acceptance: Float[Array, "*replicas"]  # below `KEEP`, unless the epoch is over
    fresh: Bool[Array, "*replicas"]


@partial(jax.jit, static_argnames=("rule", "optimizer", "batch_size", "average", "replicas"))
def run_part(
    state: TrainState,
    metrics: Metrics,
    leash: Leash,
    end: Int[Array, ""],
    data: Num[Array, "N D"],
    rate: Rate | None,
    rule: RuleSpec,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
    replicas: Replicas,
) -> Part:
    """Go on through the data until the epoch is over, at update `end`, or the model has moved too far from the last rung."""
    part = partial(
        _part, end=end, data=data, rate=rate, rule=rule.build(batch_size), optimizer=optimizer, batch_size=batch_size, average=average
    )
    if replicas == "one":
        return part(state, metrics, leash)
    each = (state, metrics, leash)
    return jax.lax.map(lambda one: part(one[0], one[1], one[2]), each) if replicas == "in turn" else jax.vmap(part)(*each)


def _part(
    state: TrainState,
    metrics: Metrics,
    leash: Leash,
    end: Int[Array, ""],
    data: Num[Array, "N D"],
    rate: Rate | None,
    rule: Rule,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
) -> Part:
    n_batches = data.shape[0] // batch_size
    key, batches = _shuffled(state.key, end // n_batches - 1, data, batch_size)

    def goes_on(part: Part) -> Bool[Array, ""]:
        return (part.state.step < end) & ~(part.acceptance < KEEP)

    def step(part: Part) -> Part:
        i = part.state.step % n_batches
        batch = data[batches[i]].astype(float)
        state, one = update(part.state, batch, rate, rule, optimizer, average, 1 / n_batches, leash.scale)
        metrics = part.metrics._replace(**{name: getattr(part.metrics, name).at[i].set(value) for name, value in one.items()})
        due = (state.step % CHECK == 0) | (state.step == end)
        found = jax.lax.cond(any_replica(due), accepted, lambda model, reservoir: jnp.ones((), float), state.model, leash.reservoir)
        found = jnp.where(due, found, 1.0).astype(part.acceptance.dtype)
        return Part(state, metrics, found, part.fresh & ~(due & (found >= KEEP)))

    done = jax.lax.while_loop(goes_on, step, Part(state, metrics, jnp.ones((), float), leash.fresh))
    some = data[batches.ravel()[:RECONSTRUCTED]].astype(float)
    error = reconstruction_error(subkey(key, 0), done.state.model, some)
    return done._replace(metrics=done.metrics._replace(reconstruction_error=error[None]))


def update(
    state: TrainState,
    batch: Float[Array, "B D"],
    rate: Rate | None,
    rule: Rule,
    optimizer: optax.GradientTransformationExtraArgs,
    average: float | None,
    path: float,
    scale: Float[Array, ""] | None = None,
) -> tuple[TrainState, dict[str, Array]]:
    """Connect, differentiate, descend. New parameters have a weight of 1 - `average` in the averaged model, of `path` in the path."""
    key = subkey(subkey(state.key, _UPDATES), state.step)
    connected = rule.connect(key, state.model, state.rule, batch)
    (objective, (rule_state, diagnostics)), gradient = jax.value_and_grad(rule.loss, has_aux=True)(state.model, connected, batch)
    change, optimizer_state = optimizer.update(gradient, state.optimizer, state.model, batch=batch)
    if rate is not None:
        change = jax.tree.map(lambda x: -jnp.asarray(rate(state.step), x.dtype) * x, change)
    if scale is not None:
        change = jax.tree.map(lambda x: scale.astype(x.dtype) * x, change)
    model = optax.apply_updates(state.model, change)
    averaged = None if average is None else _running_mean(state.average, model, 1 - average, state.step)
    smooth = None if state.path is None else _running_mean(state.path, model, path, state.step)
    metrics = {"objective": objective, **diagnostics._asdict(), "gradient_norm": jnp.sqrt(squared_norm(gradient))}
    return TrainState(state.step + 1, state.key, model, optimizer_state, rule_state, averaged, smooth), metrics


def _running_mean(mean: Model | None, model: Model, weight: float, step: Array) -> Model:
    """An exponential average that starts as a plain mean; with weight 0 it stays one (Polyak)."""
    share = jnp.maximum(weight, 1 / (step + 1).astype(float))
    return jax.tree.map(lambda old, new: old + share * (new - old), mean, model)


def reconstruction_error(key: Array, model: Model, batch: Float[Array, "B D"]) -> Float[Array, ""]:
    """Mean probability that a unit is reconstructed wrongly: through the hidden means, or from the other units at one random site."""
    if isinstance(model, Latent):
        return jnp.mean(model.space.mistakes(model.reconstruct(batch), batch))
    site = jax.random.randint(key, (), 0, model.space.size)
    return jnp.mean(jax.nn.sigmoid(log_odds_of_change(model, batch, site)))
