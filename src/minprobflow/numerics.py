"""Log-domain arithmetic, keys and other small numerical tools."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, ArrayLike, Bool, Float

from .errors import InputError
from .forks import check_process
from .random_bits import as_key  # noqa: F401 (a public name of this module)
from .tables import numbers

Tree = TypeVar("Tree")


def as_states(x: object, width: int, dtype: np.dtype, layer: str = "") -> Float[Array, "*batch width"]:
    """States of a layer as floats of this type, if they are finite numbers and of its width."""
    check_process()
    of = f"{layer} " if layer else ""
    v: Array | np.ndarray = jnp.asarray(x) if _is_jax(x) else numbers(x, f"{of}states").astype(dtype)
    if not (v.dtype == bool or jnp.issubdtype(v.dtype, jnp.integer) or jnp.issubdtype(v.dtype, jnp.floating)):
        raise InputError(f"{of}states hold {v.dtype} values: pass numbers, as bool, integer or float")
    if v.ndim == 0 or v.shape[-1] != width:
        raise InputError(f"{of}states have shape {v.shape}, the model has {width} {of}units: pass states of width {width}")
    if v.dtype.kind == "f" and not isinstance(v, jax.core.Tracer) and not np.isfinite(np.asarray(v)).all():
        raise InputError(f"{of}states have non-finite values (NaN or infinity): drop those rows, or fill them in with mpf.impute")
    return jnp.asarray(v).astype(dtype)


def check_batches(v: Float[Array, "*batch D"], h: Float[Array, "*others H"]) -> None:
    """Raise if states of two layers cannot stand side by side."""
    try:
        np.broadcast_shapes(v.shape[:-1], h.shape[:-1])
    except ValueError as problem:
        raise InputError(
            f"visible states {v.shape} and hidden states {h.shape} do not fit: pass as many of one as of the other"
        ) from problem


def floating(x: object, name: str = "the parameter array") -> Float[Array, ...]:
    """An array that can be learned: whole numbers are made floats, and what a float of this precision cannot hold is refused.

    >>> float(floating([2**40])[0])
    1099511627776.0
    """
    check_process()
    array = jnp.asarray(x if _is_jax(x) else _as_float(numbers(x, name, remedy="fill them in"), name))
    if jnp.issubdtype(array.dtype, jnp.floating):
        return array
    if not (array.dtype == bool or jnp.issubdtype(array.dtype, jnp.integer)):
        raise InputError(f"{name} holds {array.dtype} values: pass real numbers")
    return array.astype(float)


def _as_float(values: np.ndarray, name: str) -> np.ndarray:
    """In the type that JAX would give a float; by numpy, since JAX wraps 64-bit integers to 32 bits before it makes them floats."""
    wide = values.dtype.kind != "f" or values.dtype.itemsize > 8
    dtype = jax.dtypes.canonicalize_dtype(np.float64 if wide else values.dtype)
    with np.errstate(over="ignore"):
        converted = values.astype(dtype)
    lost = np.isinf(converted) & np.isfinite(values)
    if lost.any():
        precision = {2: "half", 4: "single", 8: "double"}[dtype.itemsize]
        raise InputError(
            f"{name} holds {values[lost][0]:g}, which does not fit {precision} precision (up to {np.finfo(dtype).max:.3g}): scale it down"
        )
    return converted


def _is_jax(x: object) -> bool:
    """Whether JAX holds (or traces) it or a part of it, or only JAX knows its type (bfloat16)."""
    if isinstance(x, list | tuple):
        return any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x))
    return isinstance(x, jax.Array) or (isinstance(x, np.ndarray) and x.dtype.kind == "V" and jnp.issubdtype(x.dtype, jnp.floating))


def along(row: Float[Array, "*rest"], x: Float[Array, "*batch *rest"]) -> Float[Array, "*ones *rest"]:
    """`row` with leading axes of length one, as many as `x` has more: JAX may be set to refuse to add them by itself."""
    return jnp.expand_dims(row, tuple(range(x.ndim - row.ndim)))


def affine(x: Float[Array, "*batch n"], weights: Float[Array, "n m"], bias: Float[Array, " m"]) -> Float[Array, "*batch m"]:
    """x W + b."""
    product = x @ weights
    return product + along(bias, product)


@jax.jit
def logit(mean: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log(mean / (1 - mean))."""
    return jnp.log(mean) - jnp.log1p(-mean)


def double_precision() -> AbstractContextManager[None]:
    """A context in which JAX computes with 64 bits: `with double_precision(): ...`.

    >>> with double_precision():
    ...     print(jnp.ones(()).dtype)
    float64
    """
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64  # type: ignore[attr-defined]  # its name up to JAX 0.7

    return enable_x64(True)


def as_float64(tree: Tree) -> Tree:
    """A model (or any pytree of arrays) in double precision (inside `double_precision`)."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf, np.float64)), tree)


def log_mean_exp(x: Float[Array, "*shape"], axis: int | None = None) -> Float[Array, "*rest"]:
    """log of the mean of exp(x), without overflow."""
    count = x.size if axis is None else x.shape[axis]
    return logsumexp(x, axis=axis) - jnp.log(jnp.asarray(count, x.dtype))


def effective_share(log_weights: Float[Array, " n"]) -> Float[Array, ""]:
    """Effective sample size of importance weights as a share of their number, in (0, 1].

    ESS/n = (sum w)^2 / (n sum w^2): one when all weights are equal, 1/n when one of them has it all.
    """
    weights = jnp.exp(log_weights - jnp.max(log_weights))
    return jnp.square(jnp.sum(weights)) / (jnp.sum(jnp.square(weights)) * log_weights.shape[0])


@jax.custom_jvp
def sum_softplus(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """sum over the last axis of softplus(x) = max(x, 0) + log(1 + exp(-|x|))."""
    return jnp.sum(jnp.maximum(x, 0), -1) + _sum_log(1 + jnp.exp(-jnp.abs(x)))


@sum_softplus.defjvp
def _sum_softplus_tangent(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return sum_softplus(*primals), jnp.sum(jax.nn.sigmoid(primals[0]) * tangents[0], -1)


def sum_softplus_difference(a: Float[Array, "*batch n"], b: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """sum over the last axis of softplus(a) - softplus(b)."""
    ratio = (1 + jnp.exp(-jnp.abs(a))) / (1 + jnp.exp(-jnp.abs(b)))
    return jnp.sum(jnp.maximum(a, 0) - jnp.maximum(b, 0), -1) + _sum_log(ratio)


def _sum_log(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """sum of log(x) over the last axis, x within [1/2, 2], with one logarithm for each product of 16."""
    group = 16
    padding = [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % group)]
    columns = jnp.split(jnp.pad(x, padding, constant_values=1), group, axis=-1)
    product = columns[0]
    for column in columns[1:]:  # unrolled: one fused loop
        product = product * column
    return jnp.sum(jnp.log(product), -1)


def squared_norm(tree: object) -> Float[Array, ""]:
    """Sum of squares over all leaves."""
    return sum((jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)), start=jnp.zeros(()))


@jax.jit
def all_finite(tree: object) -> Bool[Array, ""]:
    """Whether every number in every floating leaf is finite."""
    leaves = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.all(jnp.stack([jnp.ones((), bool), *(jnp.all(jnp.isfinite(leaf)) for leaf in leaves)]))


@jax.custom_batching.custom_vmap
def any_replica(flag: Bool[ArrayLike, ""]) -> Bool[ArrayLike, ""]:
    """The flag itself; under `vmap`, whether it is set in any of the mapped replicas.

    A `lax.cond` on a mapped predicate runs both branches always. On this one it stays a real branch,
    so replicas trained at once skip work that none of them needs.
    """
    return flag


@any_replica.def_vmap
def _any_replica_mapped(axis_size: int, in_batched: list[bool], flag: Array) -> tuple[Array, bool]:
    return any_replica(jnp.any(flag) if in_batched[0] else flag), False
