"""Block Gibbs sampling: all hidden units given the visible ones, then all visible ones given those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from ..errors import InputError
from ..models import fast
from ..models.base import Latent, Model, as_model
from ..random_bits import subkey
from .base import Chains, Held, Kernel, KernelSpec, kernel


def _step(key: Key[Array, ""], model: Model, state: Chains, held: Bool[Array, "#chains D"] | None = None) -> tuple[Chains, None]:
    model = _latent(model)
    if compiled := fast.block_gibbs(model):
        drawn = compiled(key, state.v)
    else:
        drawn = model.sample_visible(subkey(key, 1), model.sample_hidden(subkey(key, 0), state.v))
    return Chains(drawn if held is None else jnp.where(held, state.v, drawn)), None


def _many(
    key: Key[Array, ""], model: Model, state: Chains, first: int | Int[Array, ""], last: int | Int[Array, ""], held: Held
) -> Chains | None:
    compiled = fast.block_gibbs(_latent(model))
    return None if compiled is None or held is not None else Chains(compiled(key, state.v, (first, last)))


def _latent(model: Model) -> Latent:
    as_model(model)
    if not isinstance(model, Latent):
        raise InputError(f"block Gibbs needs a hidden layer, {type(model).__name__} has none: use the heat_bath kernel")
    return model


block_gibbs: Kernel[Chains, None] = kernel(_step, _many)
"""h ~ p(h | v), then v ~ p(v | h)."""


@dataclass(frozen=True)
class BlockGibbs(KernelSpec):
    """h ~ p(h | v), then v ~ p(v | h), for models with a hidden layer."""

    name: ClassVar[str] = "block-gibbs"

    def build(self, model: Model) -> Kernel[Chains, None]:
        _latent(model)
        return block_gibbs
