"""Parallel tempering (Swendsen & Wang 1986; Desjardins et al. 2010): chains at several inverse temperatures that exchange states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Bool, Float, Int, Key
from numpy.typing import ArrayLike

from ..arguments import number, whole
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_states, floating
from ..random_bits import as_key, subkey
from .auto import default_kernel
from .base import Kernel, KernelSpec
from .engine import observe, total
from .swaps import Swaps, swap


class Rungs(NamedTuple):
    """Each chain's states at all temperatures. The last rung is the model's."""

    states: Float[Array, "*replicas chains rungs D"]
    turn: Int[Array, "*replicas chains"]  # steps done: even and odd pairs of rungs take turns to swap

    @property
    def v(self) -> Float[Array, "*replicas chains D"]:
        """The states on the last rung."""
        return self.states[..., -1, :]


def tempering(betas: Float[Array, " rungs"], base: Model | None = None) -> Kernel[Rungs, Swaps]:
    """One step of each rung by the model's default kernel, then swaps of states between neighbouring rungs.

    A swap between rungs r and s = r+1 is accepted with probability min(1, exp(F_r(x_r) + F_s(x_s) - F_r(x_s) - F_s(x_r))), with F_r the
    free energy at beta_r, on the path from `base` (beta 0) to the model (beta 1). Each rung is left invariant.

    Args:
        betas: of the rungs, ending at 1.
        base: independent units (`model.base(means)`); by default all states equally likely: beta is then 1/temperature.

    >>> import minprobflow as mpf
    >>> rbm, kernel = mpf.BernoulliRBM.init(0, 6, 4), tempering(jnp.linspace(0, 1, 5))
    >>> state = kernel.init(jax.random.key(0), rbm, jnp.zeros((3, 6)))
    >>> state, info = kernel.step(jax.random.key(1), rbm, state)
    >>> state.v.shape, info.accepted.shape
    ((3, 6), (4,))
    """
    if base is not None:
        as_model(base, "base")
    betas = _inverse_temperatures(betas)
    if betas.ndim != 1 or betas.shape[0] < 2:
        raise InputError(f"betas has shape {betas.shape}: pass two or more inverse temperatures, such as jnp.linspace(0, 1, 16)")
    return Kernel(Partial(_on_all_rungs, betas), Partial(_step, betas, base))


def _on_all_rungs(betas: Float[Array, " rungs"], key: Key[Array, ""], model: Model, v: Float[Array, "chains D"]) -> Rungs:
    return Rungs(jnp.repeat(v[:, None], betas.shape[0], axis=1), jnp.zeros(v.shape[0], int))


def _step(
    betas: Float[Array, " rungs"],
    base: Model | None,
    key: Key[Array, ""],
    model: Model,
    state: Rungs,
    held: Bool[Array, "#chains D"] | None = None,
) -> tuple[Rungs, Swaps]:
    base = model.base(model.space.even_means()) if base is None else base
    kernel, rungs = default_kernel(model), betas.shape[0]

    def moved(rung: Array, beta: Array, v: Float[Array, "chains D"]) -> Float[Array, "chains D"]:
        at_beta, key_rung = model.between(base, beta), subkey(key, rung)
        return kernel.step(key_rung, at_beta, kernel.init(key_rung, at_beta, v), held)[0].v

    def free_energies(betas: Float[Array, " n"], states: Float[Array, "chains n D"]) -> Float[Array, "chains n"]:
        return jax.vmap(lambda beta, v: model.between(base, beta).free_energy(v), (0, 1), 1)(betas, states)

    states = jax.vmap(moved, (0, 0, 1), 1)(jnp.arange(rungs), betas, state.states)
    own = free_energies(betas, states)
    exchanged = free_energies(betas[:-1], states[:, 1:]) + free_energies(betas[1:], states[:, :-1])
    log_accept = own[:, :-1] + own[:, 1:] - exchanged
    states, swaps = swap(subkey(key, rungs), log_accept, state.turn, states)
    return Rungs(states, state.turn + 1), swaps


@dataclass(frozen=True)
class Tempering(KernelSpec):
    """Chains at several temperatures that exchange states: they find their way between far modes."""

    name: ClassVar[str] = "tempering"

    rungs: int = 10
    """number of temperatures"""
    hottest: float = 0.0
    """smallest inverse temperature; at 0 all states are equally likely"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", whole("tempering: rungs", self.rungs, 2, 10_000, hint="it is the number of temperatures"))
        hint = "it is an inverse temperature, the model's own is 1"
        object.__setattr__(self, "hottest", number("tempering: hottest", self.hottest, 0, 1, hint=hint))

    def build(self, model: Model) -> Kernel[Rungs, Swaps]:
        as_model(model)
        return tempering(jnp.linspace(self.hottest, 1.0, self.rungs))


class Tempered(NamedTuple):
    """Result of `parallel_tempering`. The model's own samples are `states[-1]`."""

    states: Float[Array, "temperatures chains D"]
    swap_rates: Float[Array, " pairs"]


def parallel_tempering(
    model: Model,
    states: ArrayLike,
    betas: ArrayLike,
    steps: int,
    base: Model | None = None,
    seed: int | Key[Array, ""] = 0,
) -> Tempered:
    """Run chains along the path from `base` (beta 0) to `model` (beta 1), swapping neighbours after each step.

    Args:
        model: what the chains at beta 1 sample.
        states: where the chains start, at each temperature.
        betas: inverse temperatures.
        steps: how many to make.
        base: independent units to heat towards; by default all states equally likely (beta is then 1/temperature).
        seed: a seed or a JAX key.

    Returns:
        The states of all temperatures (`states[-1]` are samples of the model when betas end at 1), and how often swaps between
        neighbouring ones were accepted.

    >>> import minprobflow as mpf
    >>> found = parallel_tempering(mpf.BernoulliRBM.init(0, 6, 4), jnp.zeros((3, 8, 6)), [0.0, 0.5, 1.0], steps=10)
    >>> found.states.shape, found.swap_rates.shape
    ((3, 8, 6), (2,))
    """
    as_model(model, finite=True)
    v, inverse = as_states(states, model.space.size, jnp.result_type(float)), _inverse_temperatures(betas)
    if v.ndim != 3 or inverse.ndim != 1 or v.shape[0] != inverse.shape[0] or v.shape[0] < 2 or v.shape[1] < 1:
        raise InputError(f"states {v.shape} and betas {inverse.shape}: pass (temperatures, chains, D) with two or more temperatures")
    if base is not None and (type(as_model(base, "base")) is not type(model) or base.space != model.space):
        raise InputError(f"base is another kind of model than the {type(model).__name__}: make it with model.base(mean)")
    steps = steps if isinstance(steps, jax.core.Tracer) else whole("steps", steps)
    start = Rungs(jnp.swapaxes(v, 0, 1), jnp.zeros(v.shape[1], int))
    end, swaps = observe(as_key(seed, "seed"), model, start, steps, tempering(inverse, base), SWAPS)
    return Tempered(jnp.swapaxes(end.states, 0, 1), swaps.accepted / jnp.maximum(swaps.attempted, 1))


SWAPS = total(lambda model, state, info: info)


def _inverse_temperatures(betas: ArrayLike) -> Float[Array, "*shape"]:
    found = floating(betas, "betas")
    if not isinstance(found, jax.core.Tracer) and not (np.isfinite(found).all() and (np.asarray(found) >= 0).all()):
        raise InputError("betas must be finite and not negative: pass inverse temperatures such as jnp.linspace(0, 1, 16)")
    return found
