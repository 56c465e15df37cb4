"""The compiled kernels as JAX functions of arrays: bits at temperature one, single precision."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from ..random_bits import UNIT_ROUNDS
from . import door

ALL_ROUNDS = UNIT_ROUNDS == 20
Steps = int | Int[Array, ""]


def suits(*arrays: Array) -> bool:
    """Whether the kernels are on and take these arrays."""
    return all(x.dtype == jnp.float32 and 0 not in x.shape for x in arrays) and door.on()


def product(x: Float[Array, "*batch D"], weights: Float[Array, "D H"]) -> Float[Array, "*batch H"]:
    """x W, in time proportional to the number of entries of x that are not zero. Linear and differentiable in both.

    >>> product(jnp.asarray([[1.0, 0.0]]), jnp.asarray([[2.0], [3.0]])).tolist()
    [[2.0]]
    """
    if not suits(x, weights):
        return x @ weights
    rows = x.reshape(-1, x.shape[-1])
    return _product.bind(rows, weights).reshape(*x.shape[:-1], weights.shape[1])


def products(
    x: Float[Array, "n D"], y: Float[Array, "m D"], weights: Float[Array, "D H"]
) -> tuple[Float[Array, "n H"], Float[Array, "m H"]]:
    """x W and y W, with one pass over the gradient in W for both.

    >>> [z.tolist() for z in products(jnp.ones((1, 2)), jnp.eye(2)[:1], jnp.asarray([[2.0], [3.0]]))]
    [[[5.0]], [[2.0]]]
    """
    return tuple(_products.bind(x, y, weights)) if suits(x, y, weights) else (x @ weights, y @ weights)


def gibbs(
    key: Key[Array, ""],
    v: Float[Array, "chains D"],
    weights: Float[Array, "D H"],
    visible_bias: Float[Array, " D"],
    hidden_bias: Float[Array, " H"],
    steps: tuple[Steps, Steps] | None = None,
) -> Float[Array, "chains D"]:
    """The visible bits of an RBM after steps first, ..., last - 1 of block Gibbs sampling; or after one step.

    Args:
        key: step i draws from subkey(key, i); a step on its own from `key` itself.
        v: where the chains are.
        weights: W.
        visible_bias: b.
        hidden_bias: c.
        steps: (first, last).
    """
    call = jax.ffi.ffi_call("mpf_gibbs", jax.ShapeDtypeStruct(v.shape, v.dtype), vmap_method="sequential")
    return call(v, weights, visible_bias, hidden_bias, _control(key, steps), all_rounds=ALL_ROUNDS)


def anneal(
    key: Key[Array, ""],
    v: Float[Array, "chains D"],
    weights: Float[Array, "D H"],
    biases: tuple[Float[Array, " D"], Float[Array, " H"]],
    base: tuple[Float[Array, " D"], Float[Array, " H"]],
    betas: Float[Array, " n"],
) -> tuple[Float[Array, "chains D"], Float[Array, "steps chains"]]:
    """One step of block Gibbs sampling at each of betas[1:], from biases `base` without weights (beta 0) to the RBM (beta 1).

    Returns:
        The visible bits; and for each step F(v) at the last beta less F(v) at the next, of the state before the step.
    """
    steps = betas.shape[0] - 1
    shapes = (jax.ShapeDtypeStruct(v.shape, v.dtype), jax.ShapeDtypeStruct((steps, v.shape[0]), v.dtype))
    call = jax.ffi.ffi_call("mpf_anneal", shapes, vmap_method="sequential")
    return tuple(call(v, weights, *biases, *base, betas, jax.random.key_data(key), all_rounds=ALL_ROUNDS))  # type: ignore[return-value]


def sweeps(
    key: Key[Array, ""],
    v: Float[Array, "chains D"],
    couplings: Float[Array, "*shape"],
    fields: Float[Array, " D *values"],
    steps: tuple[Steps, Steps] | None = None,
    held: Bool[Array, "#chains D"] | None = None,
) -> Float[Array, "chains D"]:
    """Sweeps of the heat bath over units with pairwise couplings.

    Args:
        key: sweep i draws from subkey(key, i); a sweep on its own from `key` itself.
        v: values 0, ..., q - 1; 0 and 1 where `fields` has one axis.
        couplings: symmetric, (D, q, D, q) or (D, D), zero between a unit and itself.
        fields: (D, q) or (D,).
        steps: (first, last): sweeps first, ..., last - 1.
        held: units that keep their values.
    """
    mask = jnp.zeros((0, v.shape[1]), jnp.uint8) if held is None else held.astype(jnp.uint8)
    call = jax.ffi.ffi_call("mpf_sweeps", jax.ShapeDtypeStruct(v.shape, v.dtype), vmap_method="sequential")
    size = fields.size
    return call(v, couplings.reshape(size, size), fields, mask, _control(key, steps), all_rounds=ALL_ROUNDS)


def expectations(
    low: Float[Array, "D L"], high: Float[Array, "D N"], p: Float[Array, "N L"]
) -> tuple[Float[Array, "D N"], Float[Array, "D L"]]:
    """Sums of p(state) p(unit is set | state) over the low and over the high parts of hidden states, in double precision.

    Args:
        low: exp(b + W h) with the low part of h alone; D and L are multiples of 16.
        high: exp(W h) with the high part alone.
        p: probabilities of states.
    """
    shapes = (jax.ShapeDtypeStruct(high.shape, high.dtype), jax.ShapeDtypeStruct(low.shape, low.dtype))
    return tuple(jax.ffi.ffi_call("mpf_expectations", shapes, vmap_method="sequential")(low, high, p))  # type: ignore[return-value]


def _control(key: Key[Array, ""], steps: tuple[Steps, Steps] | None) -> UInt32[Array, " 5"]:
    numbers = [jnp.asarray(number) for number in (*(steps or (0, 1)), int(steps is None))]
    return jnp.concatenate([jax.random.key_data(key), jnp.stack([number.astype(jnp.uint32) for number in numbers])])


# x W and x' G are bilinear, and each is the transpose of the other

_product, _outer = Primitive("minprobflow_product"), Primitive("minprobflow_outer")


def _product_shape(x: jax.core.ShapedArray, weights: jax.core.ShapedArray) -> jax.core.ShapedArray:
    return jax.core.ShapedArray((x.shape[0], weights.shape[1]), x.dtype)


def _outer_shape(x: jax.core.ShapedArray, g: jax.core.ShapedArray) -> jax.core.ShapedArray:
    return jax.core.ShapedArray((x.shape[1], g.shape[1]), x.dtype)


def _call_product(x: Float[Array, "n D"], weights: Float[Array, "D H"]) -> Float[Array, "n H"]:
    return jax.ffi.ffi_call("mpf_product", jax.ShapeDtypeStruct((x.shape[0], weights.shape[1]), x.dtype))(x, weights)


def _call_outer(x: Float[Array, "n D"], g: Float[Array, "n H"]) -> Float[Array, "D H"]:
    return jax.ffi.ffi_call("mpf_outer", jax.ShapeDtypeStruct((x.shape[1], g.shape[1]), x.dtype))(x, g)


for _primitive, _call, _shape in ((_product, _call_product, _product_shape), (_outer, _call_outer, _outer_shape)):
    _primitive.def_impl(jax.jit(_call))
    _primitive.def_abstract_eval(_shape)
    mlir.register_lowering(_primitive, mlir.lower_fun(_call, multiple_results=False))

ad.defbilinear(_product, lambda ct, x, weights: ct @ weights.T, lambda ct, x, weights: _outer.bind(x, ct))
ad.defbilinear(_outer, lambda ct, x, g: g @ ct.T, lambda ct, x, g: _product.bind(x, ct))


def _product_mapped(arrays: Sequence[Array], axes: Sequence[int | None]) -> tuple[Array, int]:
    (x, weights), (axis, other) = arrays, axes
    if axis is None or other is not None:  # several weights: their products are dense
        return jax.vmap(jnp.matmul, (axis, other))(x, weights), 0
    x = jnp.moveaxis(x, axis, 0)
    return _product.bind(x.reshape(-1, x.shape[-1]), weights).reshape(*x.shape[:-1], -1), 0


def _outer_mapped(arrays: Sequence[Array], axes: Sequence[int | None]) -> tuple[Array, int]:
    return jax.vmap(lambda x, g: x.T @ g, tuple(axes))(*arrays), 0


batching.primitive_batchers[_product] = _product_mapped
batching.primitive_batchers[_outer] = _outer_mapped


# Two products at once: what they are is the two of them, which other calls may share; the gradient in W is one call.

_products, _contrast = Primitive("minprobflow_products"), Primitive("minprobflow_contrast")
_products.multiple_results = True


def _both(x: Float[Array, "n D"], y: Float[Array, "m D"], weights: Float[Array, "D H"]) -> list[Array]:
    return [_product.bind(x, weights), _product.bind(y, weights)]


def _sum_of_outer(x: Float[Array, "n D"], g: Float[Array, "n H"], y: Float[Array, "m D"], h: Float[Array, "m H"]) -> Float[Array, "D H"]:
    return _outer.bind(x, g) + _outer.bind(y, h)


def _call_contrast(x: Float[Array, "n D"], g: Float[Array, "n H"], y: Float[Array, "m D"], h: Float[Array, "m H"]) -> Float[Array, "D H"]:
    return jax.ffi.ffi_call("mpf_contrast", jax.ShapeDtypeStruct((x.shape[1], g.shape[1]), x.dtype))(x, g, y, h)


def _products_tangents(primals: Sequence[Array], tangents: Sequence[Array | ad.Zero]) -> tuple[Sequence[Array], Sequence[Array]]:
    (x, y, weights), (dx, dy, dw) = primals, tangents
    along = _products.bind(x, y, ad.instantiate_zeros(dw))
    of_rows = [None if isinstance(d, ad.Zero) else _product.bind(d, weights) for d in (dx, dy)]
    return _products.bind(*primals), [a if b is None else a + b for a, b in zip(along, of_rows, strict=True)]


def _products_transposed(
    cotangents: Sequence[Array | ad.Zero], x: Array, y: Array, weights: ad.UndefinedPrimal
) -> tuple[None, None, Array]:
    g, h = (ad.instantiate_zeros(ct) for ct in cotangents)
    return None, None, _contrast.bind(x, g, y, h)


def _contrast_tangents(primals: Sequence[Array], tangents: Sequence[Array | ad.Zero]) -> tuple[Array, Array]:
    _, tangent = jax.jvp(_sum_of_outer, tuple(primals), tuple(ad.instantiate_zeros(t) for t in tangents))
    return _contrast.bind(*primals), tangent


_products.def_impl(jax.jit(_both))
_products.def_abstract_eval(lambda x, y, weights: [_product_shape(x, weights), _product_shape(y, weights)])
mlir.register_lowering(_products, mlir.lower_fun(_both, multiple_results=True))
ad.primitive_jvps[_products] = _products_tangents
ad.primitive_transposes[_products] = _products_transposed
batching.primitive_batchers[_products] = lambda arrays, axes: (jax.vmap(_both, tuple(axes))(*arrays), [0, 0])
_contrast.def_impl(jax.jit(_call_contrast))
_contrast.def_abstract_eval(lambda x, g, y, h: _outer_shape(x, g))
mlir.register_lowering(_contrast, mlir.lower_fun(_call_contrast, multiple_results=False))
ad.primitive_jvps[_contrast] = _contrast_tangents
batching.primitive_batchers[_contrast] = lambda arrays, axes: (jax.vmap(_sum_of_outer, tuple(axes))(*arrays), 0)
