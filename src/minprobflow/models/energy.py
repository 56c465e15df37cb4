"""Any energy a user writes in JAX, as a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..arguments import function, shown, whole
from ..errors import InputError
from ..forks import check_process
from ..numerics import as_states
from ..units import Binary, Space
from .base import Model


class EnergyModel(Model):
    """Any JAX function as an energy: p(v) proportional to exp(-energy(params, v)).

    Args:
        energy: a JAX function (params, v) -> scalar, for one state v of shape (D,) and floating dtype.
        params: any pytree of floating arrays: what is learned.
        space: `Binary(D)`, or just D; or another, such as `Categories(D, q)`, whose states hold 0, 1, ..., q - 1.

    >>> import minprobflow as mpf, jax.numpy as jnp
    >>> ising = mpf.EnergyModel(lambda J, v: -v @ J @ v, jnp.zeros((4, 4)), mpf.Binary(4))
    >>> ising.free_energy(jnp.ones((2, 4))).shape
    (2,)
    """

    params: PyTree[Float[Array, ...]]
    energy: Callable[[PyTree, Array], Array] = eqx.field(static=True)
    _space: Space = eqx.field(static=True)

    def __init__(self, energy: Callable[[PyTree, Array], Array], params: object, space: Space | int):
        self.energy = function("energy", energy, "the parameters and one state")
        self.params = _parameters(params)
        self._space = space if isinstance(space, Space) else Binary(whole("space", space, 1, hint="or pass mpf.Binary(D)"))
        try:
            hash(energy)
        except TypeError:
            raise InputError("energy cannot be hashed, so no program could be compiled for it: pass a plain function") from None
        try:
            out = jax.eval_shape(energy, self.params, jax.ShapeDtypeStruct((self._space.size,), jnp.result_type(float)))
        except Exception as problem:
            raise InputError(
                f"energy(params, v) failed on a state v of shape ({self._space.size},): {problem}. "
                "Write it as a JAX function of the parameters and one state"
            ) from problem
        if getattr(out, "shape", None) != ():
            what = f"shape {out.shape}" if hasattr(out, "shape") else shown(out)
            raise InputError(f"energy(params, v) returned {what}: it must return one number for one state")
        if not jnp.issubdtype(out.dtype, jnp.floating):
            raise InputError(f"energy(params, v) returned {out.dtype}: it must return a floating number; multiply it by 1.0")

    @property
    def space(self) -> Space:
        return self._space

    def free_energy(self, v: object) -> Float[Array, "*batch"]:
        v = as_states(v, self.space.size, jnp.result_type(float))
        return jnp.vectorize(lambda state: self.energy(self.params, state), signature="(d)->()")(v)

    def base_log_partition(self) -> Float[Array, ""]:
        return self.space.log_norm(self.base_logits())

    def is_base(self) -> bool:
        return self.energy is _independent(self.space) or (self.energy is _mixture and not bool(self.params[2]))

    def base_logits(self) -> Float[Array, " *values"]:
        if self.energy is _mixture:  # at beta 0, which is all that a base can be
            return self.params[0].base_logits()
        return self.params if self.energy is _independent(self.space) else super().base_logits()

    def penalised(self) -> EnergyModel:
        return jax.tree.map(lambda leaf: True, self)


def _parameters(params: object) -> PyTree[Float[Array, ...]]:
    check_process()
    try:
        leaves, structure = jax.tree.flatten(params)
    except ValueError as problem:
        raise InputError(f"params are no tree of arrays ({problem}): pass an array, or a dict, list or tuple of arrays") from None
    return jax.tree.unflatten(structure, [_parameter(leaf) for leaf in leaves])


def _parameter(leaf: object) -> Float[Array, "*shape"]:
    try:
        array = jnp.asarray(leaf)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"params hold {shown(leaf)}: pass floating arrays, or a dict, list or tuple of them") from None
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise InputError(f"params must be floating arrays to be learned, got {array.dtype}: convert with x.astype(float)")
    return array


def independent(space: Space, mean: Float[Array, " *values"]) -> EnergyModel:
    """Independent units whose features have these means."""
    return EnergyModel(_independent(space), space.logits(mean), space)


def mixture(base: Model, target: Model, beta: Float[Array, ""]) -> EnergyModel:
    """The model with energy (1 - beta) E_base + beta E_target."""
    return EnergyModel(_mixture, (base, target, beta), target.space)


@cache  # one function per space: a new one would have to be compiled again
def _independent(space: Space) -> Callable[[Array, Array], Array]:
    return lambda logits, v: -jnp.vdot(logits, space.features(v))


def _mixture(params: tuple[Model, Model, Array], v: Array) -> Array:
    base, target, beta = params
    return (1 - beta) * base.free_energy(v) + beta * target.free_energy(v)
