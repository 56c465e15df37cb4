"""The heat bath (single-site Gibbs sampling): units are redrawn in turn, each given all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from ..models import fast
from ..models.base import FastHeatBath, Model, as_model
from ..random_bits import as_key
from ..units import discrete
from .base import Chains, Held, Kernel, KernelSpec, kernel


def _step(key: Key[Array, ""], model: Model, state: Chains, held: Bool[Array, "#chains D"] | None = None) -> tuple[Chains, None]:
    as_model(model)
    if isinstance(model, FastHeatBath):
        return Chains(fast.swept(model, key, state.v, held)), None
    space = discrete(model.space, "the heat bath")
    key = as_key(key)

    def redraw(v: Array, site: Array) -> tuple[Array, None]:
        candidates = space.site_states(v, site)
        log_p = space.only_present(-model.free_energy(candidates), site)
        chosen = jax.random.categorical(jax.random.fold_in(key, site), log_p, axis=0)
        drawn = jnp.take_along_axis(candidates, chosen[None, :, None], axis=0)[0]
        # held units must be kept at once: those redrawn after them are conditioned on them
        return (drawn if held is None else jnp.where(held[:, site, None], v, drawn)), None

    return Chains(jax.lax.scan(redraw, state.v, jnp.arange(space.size))[0]), None


def _many(
    key: Key[Array, ""], model: Model, state: Chains, first: int | Int[Array, ""], last: int | Int[Array, ""], held: Held
) -> Chains | None:
    compiled = fast.heat_bath(model)
    return None if compiled is None else Chains(compiled(key, state.v, (first, last), held))


heat_bath: Kernel[Chains, None] = kernel(_step, _many)
"""One sweep that redraws each unit in turn from its conditional given all others. Needs only an energy."""


@dataclass(frozen=True)
class HeatBath(KernelSpec):
    """A sweep that redraws each unit in turn from its conditional given all others, for units with countable values."""

    name: ClassVar[str] = "heat-bath"

    def build(self, model: Model) -> Kernel[Chains, None]:
        if not isinstance(as_model(model), FastHeatBath):
            discrete(model.space, "the heat bath")
        return heat_bath
