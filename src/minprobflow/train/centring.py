"""The centred gradient (Montavon & Mueller 2012; Cho et al. 2011; Melchior et al. 2016) as a gradient transformation."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ..models.base import Centrable

C = TypeVar("C", bound=Centrable)


class CentringState(NamedTuple):
    """Running means of the units."""

    offsets: PyTree[Array]
    seen: Int[Array, "*replicas"]


def centred_gradient(rate: float = 0.05) -> optax.GradientTransformationExtraArgs:
    """Replace the gradient by that of the model written in units minus their means.

    A linear, invertible map of the plain gradient, so the stationary points stay; it removes the coupling between
    weights and biases, which is worth several nats at equal training time. Use it with gradient descent or
    momentum: Adam's per-parameter scaling undoes the map, and diverged on top of it.

    Args:
        rate: how fast the running means follow the batches.
    """

    def init(model: Centrable) -> CentringState:
        shape = jax.eval_shape(model.offsets, jax.ShapeDtypeStruct((1, model.space.size), jnp.result_type(float)))
        return CentringState(jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape), jnp.zeros((), int))

    def update(gradient: C, state: CentringState, model: C, *, batch: Float[Array, "B D"], **_: object) -> tuple[C, CentringState]:
        weight = jnp.maximum(rate, 1 / (state.seen + 1).astype(batch.dtype))  # a plain mean to begin with
        offsets = jax.tree.map(lambda old, new: old + weight * (new - old), state.offsets, model.offsets(batch))
        return model.centre(gradient, offsets), CentringState(offsets, state.seen + 1)

    return optax.GradientTransformationExtraArgs(init, update)
