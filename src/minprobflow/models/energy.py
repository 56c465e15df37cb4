"""Any energy a user writes in JAX, as a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..errors import InputError
from ..numerics import as_states
from ..spaces import Binary, Categorical, Space
from .base import Annealable


class EnergyModel(Annealable):
    """p(v) proportional to exp(-energy(params, v)).

    Args:
        energy: a JAX function (params, v) -> scalar, for one state v of shape (D,) and floating dtype.
        params: any pytree of floating arrays: what is learned.
        space: `Binary(D)`, or just D; or `Categorical(D, q)`, whose states hold 0, 1, ..., q - 1.

    >>> import minprobflow as mpf, jax.numpy as jnp
    >>> ising = mpf.EnergyModel(lambda J, v: -v @ J @ v, jnp.zeros((4, 4)), mpf.Binary(4))
    >>> ising.free_energy(jnp.ones((2, 4))).shape
    (2,)
    """

    params: PyTree[Float[Array, ...]]
    energy: Callable[[Any, Array], Array] = eqx.field(static=True)
    _space: Space = eqx.field(static=True)

    def __init__(self, energy: Callable[[Any, Any], Any], params: Any, space: Space | int):
        self.energy = energy
        self.params = jax.tree.map(jnp.asarray, params)
        self._space = Binary(space) if isinstance(space, int) else space
        for leaf in jax.tree.leaves(self.params):
            if not jnp.issubdtype(leaf.dtype, jnp.floating):
                raise InputError(f"params must be floating arrays to be learned, got {leaf.dtype}: convert with x.astype(float)")
        try:
            out = jax.eval_shape(energy, self.params, jax.ShapeDtypeStruct((self._space.size,), jnp.result_type(float)))
        except Exception as problem:
            raise InputError(
                f"energy(params, v) failed on a state v of shape ({self._space.size},): {problem}. "
                "Write it as a JAX function of the parameters and one state"
            ) from problem
        if out.shape != ():
            raise InputError(f"energy(params, v) returned shape {out.shape}: it must return one number for one state")

    @classmethod
    def examples(cls) -> list[EnergyModel]:
        def third_order(params: dict[str, Array], v: Array) -> Array:
            return -(v @ params["pairs"] @ v) - params["triple"] * v[0] * v[1] * v[2]

        pairs = 0.7 * jax.random.normal(jax.random.key(40), (5, 5))
        letters = Categorical(5, 3)

        def nearest_neighbours(bonds: Array, v: Array) -> Array:
            x = letters.features(v)
            return -jnp.sum(x[:-1, :, None] * x[1:, None, :] * bonds)

        bonds = jax.random.normal(jax.random.key(41), (4, 3, 3))
        return [
            cls(third_order, {"pairs": pairs, "triple": jnp.asarray(0.8)}, Binary(5)),
            cls(nearest_neighbours, bonds, letters),
        ]

    @property
    def space(self) -> Space:
        return self._space

    def free_energy(self, v: Any) -> Float[Array, "*batch"]:
        v = as_states(v, self.space.size, jnp.result_type(float))
        return jnp.vectorize(lambda state: self.energy(self.params, state), signature="(d)->()")(v)

    def base(self, mean: Float[Array, " D *values"]) -> EnergyModel:
        return EnergyModel(_independent(self.space), self.space.logits(mean), self.space)

    def base_log_partition(self) -> Float[Array, ""]:
        if self.energy is not _independent(self.space):
            raise InputError("only a base model, made with model.base(mean), has a closed-form log Z")
        return self.space.log_norm(self.params)

    def between(self, base: Any, beta: Float[Array, ""]) -> EnergyModel:
        return EnergyModel(partial(_mixture, base.energy, self.energy), (base.params, self.params, beta), self.space)

    def penalised(self) -> EnergyModel:
        return jax.tree.map(lambda leaf: True, self)


@cache  # one function a space: a new one would compile anew
def _independent(space: Space) -> Callable[[Any, Array], Array]:
    return lambda logits, v: -jnp.vdot(logits, space.features(v))


def _mixture(base: Callable[..., Array], target: Callable[..., Array], params: tuple[Any, Any, Array], v: Array) -> Array:
    base_params, target_params, beta = params
    return (1 - beta) * base(base_params, v) + beta * target(target_params, v)
