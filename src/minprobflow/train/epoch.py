"""One update, and a whole epoch of them in one compiled call."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, UInt8

from ..models.base import Latent, Model
from ..numerics import squared_norm
from ..rules.base import Rule, RuleSpec
from .optimizer import Rate
from .state import Metrics, TrainState

_UPDATES, _SHUFFLES, _START = 0, 1, 2  # separate streams of random numbers


def start(
    key: Array,
    model: Model,
    data: UInt8[Array, "N D"],
    rule: RuleSpec,
    batch_size: int,
    optimizer: optax.GradientTransformationExtraArgs,
    averaged: bool,
) -> TrainState:
    """The state before the first update."""
    model = jax.tree.map(lambda x: jax.lax.convert_element_type(x, x.dtype), model)  # weak types would compile twice
    rule_state = rule.build(batch_size).init(jax.random.fold_in(key, _START), model, data)
    return TrainState(jnp.zeros((), int), key, model, optimizer.init(model), rule_state, model if averaged else None)


@partial(jax.jit, static_argnames=("rule", "optimizer", "batch_size", "average", "replicas"))
def run_epoch(
    state: TrainState,
    data: UInt8[Array, "N D"],
    rate: Rate | None,
    rule: RuleSpec,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
    replicas: bool,
) -> tuple[TrainState, Metrics]:
    """Go once through the data in random order; whole batches only. Metrics have one entry per update."""
    epoch = partial(_epoch, rate=rate, rule=rule.build(batch_size), optimizer=optimizer, batch_size=batch_size, average=average)
    return jax.vmap(epoch, in_axes=(0, None))(state, data) if replicas else epoch(state, data)


def _epoch(
    state: TrainState,
    data: UInt8[Array, "N D"],
    rate: Rate | None,
    rule: Rule,
    optimizer: optax.GradientTransformationExtraArgs,
    batch_size: int,
    average: float | None,
) -> tuple[TrainState, Metrics]:
    n_batches = data.shape[0] // batch_size
    key = jax.random.fold_in(jax.random.fold_in(state.key, _SHUFFLES), state.step // n_batches)
    batches = jax.random.permutation(key, data.shape[0])[: n_batches * batch_size].reshape(n_batches, batch_size)

    def step(state: TrainState, rows: Array) -> tuple[TrainState, Metrics]:
        return update(state, data[rows].astype(float), rate, rule, optimizer, average)

    return jax.lax.scan(step, state, batches)


def update(
    state: TrainState,
    batch: Float[Array, "B D"],
    rate: Rate | None,
    rule: Rule,
    optimizer: optax.GradientTransformationExtraArgs,
    average: float | None,
) -> tuple[TrainState, Metrics]:
    """Connect, differentiate, descend."""
    key = jax.random.fold_in(jax.random.fold_in(state.key, _UPDATES), state.step)
    connected = rule.connect(key, state.model, state.rule, batch)
    (objective, (rule_state, diagnostics)), gradient = jax.value_and_grad(rule.loss, has_aux=True)(state.model, connected, batch)
    change, optimiser = optimizer.update(gradient, state.optimiser, state.model, batch=batch)
    if rate is not None:
        change = jax.tree.map(lambda x: -jnp.asarray(rate(state.step), x.dtype) * x, change)
    model = optax.apply_updates(state.model, change)
    averaged = None
    if average is not None:
        # an exponential average that starts as a plain mean; average = 1 stays one (Polyak)
        weight = jnp.maximum(1 - average, 1 / (state.step + 1).astype(float))
        averaged = jax.tree.map(lambda old, new: old + weight * (new - old), state.average, model)
    metrics = Metrics(
        objective, diagnostics.log_flow, diagnostics.ess, reconstruction_error(key, state.model, batch), jnp.sqrt(squared_norm(gradient))
    )
    return TrainState(state.step + 1, state.key, model, optimiser, rule_state, averaged), metrics


def reconstruction_error(key: Array, model: Model, batch: Float[Array, "B D"]) -> Float[Array, ""]:
    """Mean |v - its expected reconstruction|: through the hidden means, or from the other units at one random site."""
    if isinstance(model, Latent):
        hidden = jax.nn.sigmoid(model.hidden_logits(batch))
        return jnp.mean(jnp.abs(batch - jax.nn.sigmoid(model.visible_logits(hidden))))
    site = jax.random.randint(key, (), 0, model.space.size)
    wrong = model.free_energy(batch) - model.free_energy(model.space.flip(batch, site))
    return jnp.mean(jax.nn.sigmoid(wrong))
