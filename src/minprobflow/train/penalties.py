"""L1 and L2 penalties as a gradient transformation."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
import optax

from ..models.base import Model

M = TypeVar("M", bound=Model)


def penalties(l1: float = 0.0, l2: float = 0.0) -> optax.GradientTransformation:
    """Add the gradient of l1 * sum|W| + l2 * sum W^2 over the parameters that the model lets be penalised."""

    def update(gradient: M, state: optax.EmptyState, model: M) -> tuple[M, optax.EmptyState]:
        added = jax.tree.map(lambda g, w, on: g + l1 * jnp.sign(w) + 2 * l2 * w if on else g, gradient, model, model.penalised())
        return added, state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)
