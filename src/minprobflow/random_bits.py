"""Random bits for the samplers: Threefry-2x32 (Salmon et al. 2011), the generator behind JAX's own keys.

`jax.random.bits` runs the same cipher, but on the CPU as a loop over whole arrays in memory, which takes as long as
the matrix products of a Gibbs step. Written out, its rounds are fused with the comparison that uses them. Units are
drawn with 13 rounds, the fewest that its authors found to pass every test of BigCrush; keys are made with all 20.
The environment variable MINPROBFLOW_ROUNDS=20 draws units with 20 rounds too.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from . import arguments
from .errors import InputError
from .forks import check_process

IMPLEMENTATION = "threefry2x32"  # of all keys, whatever jax_default_prng_impl says
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def _rounds_wanted() -> int:
    wanted = os.environ.get("MINPROBFLOW_ROUNDS", "13")
    if wanted not in ("13", "20"):
        raise InputError(f"MINPROBFLOW_ROUNDS is {wanted!r}: use 13 (fast) or 20 (as in jax.random)")
    return int(wanted)


UNIT_ROUNDS = _rounds_wanted()


def as_key(key: object, name: str = "key") -> Key[Array, ""]:
    """A Threefry key from a seed (0 to 2^63 - 1), or from a new-style or old-style JAX key.

    A seed gives the key of `jax.random.key(seed)`, all of whose 64 bits count (without x64, JAX drops the upper half). The keys of
    JAX's other generators are hashed into a Threefry key.

    >>> jax.random.key_data(as_key(2**32 + 7)).tolist()
    [1, 7]
    """
    check_process()
    if _is_new_style(key):
        if key.ndim == 0:
            return key if _is_threefry(key) else _hashed(jax.random.key_data(key), name)
    elif not isinstance(key, jax.Array | np.ndarray) or key.ndim == 0:
        seed = arguments.seed(name, key)
        return _wrapped(jnp.asarray(np.asarray([seed >> 32, seed & 0xFFFFFFFF], np.uint32)))
    elif key.dtype == np.uint32 and key.ndim == 1:
        return _hashed(jnp.asarray(key), name)
    raise InputError(f"{name}={arguments.shown(key)}: pass a seed such as 0, or one key such as jax.random.key(0)")


def _is_new_style(key: object) -> TypeGuard[Key[Array, "*shape"]]:
    return isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)


def _is_threefry(key: Key[Array, "*shape"]) -> bool:
    return str(jax.random.key_impl(key)) == IMPLEMENTATION


def _hashed(words: UInt32[Array, " n"], name: str) -> Key[Array, ""]:
    """The key of these words: two as they are, four through the cipher."""
    if words.shape == (4,):
        return _wrapped(jnp.stack(threefry2x32((words[0], words[1]), words[2], words[3])))
    if words.shape == (2,):
        return _wrapped(words)
    raise InputError(f"{name} is a key of {words.shape[0]} words: pass a seed such as 0, or one key such as jax.random.key(0)")


def _wrapped(words: UInt32[Array, "*shape 2"]) -> Key[Array, "*shape"]:
    return jax.random.wrap_key_data(words, impl=IMPLEMENTATION)


def _words(key: Key[Array, ""]) -> UInt32[Array, " 2"]:
    return jax.random.key_data(as_key(key))


@partial(jax.jit, static_argnames="rounds", inline=True)  # traced once for each shape; the program around it stays as it is
def threefry2x32(
    key: tuple[UInt32[Array, ""], UInt32[Array, ""]], x0: UInt32[Array, "*shape"], x1: UInt32[Array, "*shape"], rounds: int = 20
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Encrypt the counter (x0, x1)."""
    schedule = (*key, key[0] ^ key[1] ^ np.uint32(PARITY))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for done in range(1, rounds + 1):
        rotation = ROTATIONS[(done - 1) // 4 % 2][(done - 1) % 4]
        x0 = x0 + x1
        x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
        x1 = x1 ^ x0
        if done % 4 == 0:  # the key goes in again
            i = done // 4
            x0 = x0 + schedule[i % 3]
            x1 = x1 + schedule[(i + 1) % 3] + np.uint32(i)
    return x0, x1


def subkey(key: Key[Array, ""], number: int | Int[Array, ""]) -> Key[Array, ""]:
    """The key of this number under `key`: both words of the cipher at the counter (number, 1).

    What `jax.random.fold_in` is for, as a few scalar operations. `bits` takes the counters (number, 0).
    """
    words = _words(key)
    counter = jnp.asarray(number).astype(jnp.uint32)
    return _wrapped(jnp.stack(threefry2x32((words[..., 0], words[..., 1]), counter, jnp.ones_like(counter)), axis=-1))


def bits(key: Key[Array, ""], shape: tuple[int, ...]) -> UInt32[Array, "*shape"]:
    """32 random bits for each element: the first word of the cipher at the element's number."""
    words = _words(key)
    counter = jnp.zeros(shape, jnp.uint32)
    for axis, _ in enumerate(shape):
        stride = np.uint32(math.prod(shape[axis + 1 :]) % 2**32)
        counter = counter + stride * jax.lax.broadcasted_iota(jnp.uint32, shape, axis)
    return threefry2x32((words[..., 0], words[..., 1]), counter, jnp.zeros_like(counter), UNIT_ROUNDS)[0]


def bernoulli(key: Key[Array, ""], logits: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """0/1 floats that are 1 with probability sigmoid(logits): the one place where binary units are sampled.

    u < sigmoid(x) is written u (1 + exp(-x)) < 1, with u on the middles of 2^23 equal intervals of (0, 1).
    """
    return (uniform(key, logits) * (1 + jnp.exp(-logits)) < 1).astype(logits.dtype)


def categorical(key: Key[Array, ""], logits: Float[Array, "*shape values"]) -> Float[Array, "*shape"]:
    """Values 0, 1, ... as floats, with probability softmax(logits): one uniform number and one look at the sums of exp(logits)."""
    weights = jnp.exp(logits - jnp.max(logits, -1, keepdims=True))
    sums = weights @ jnp.triu(jnp.ones((logits.shape[-1],) * 2, logits.dtype))  # a product: faster than a running sum
    passed = uniform(key, logits[..., 0])[..., None] * sums[..., -1:] > sums[..., :-1]
    return jnp.sum(passed.astype(logits.dtype), -1)


def normal(key: Key[Array, ""], like: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Standard normal numbers in the shape of `like`, by the inverse of their distribution function; none beyond 5.3."""
    return math.sqrt(2) * jax.lax.erf_inv(2 * uniform(key, like) - 1)


def uniform(key: Key[Array, ""], like: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers on the middles of 2^23 equal intervals of (0, 1), in the shape of `like`."""
    return ((bits(key, like.shape) >> np.uint32(9)).astype(like.dtype) + 0.5) * 2.0**-23
