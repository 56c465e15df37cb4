"""The one loop that runs chains: for training, samples, imputation, moments and diagnostics. Observers measure along the way.

Step i draws from subkey(key, i), whatever the steps are divided into. `key`, `model` and `state` are not checked here: what users call
(`sample`, `impute`, `moments`, `parallel_tempering`) checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
from jax.tree_util import Partial, register_dataclass
from jaxtyping import Array, Int, Key, PyTree

from ..models.base import Model
from ..random_bits import subkey
from .base import ChainState, Held, I, Kernel, S, pure

Seen = TypeVar("Seen")
Steps = int | Int[Array, ""]


@runtime_checkable
class Measure(Protocol):
    """What is to be known of each step."""

    def __call__(self, model: Model, state: ChainState, info: object, /) -> PyTree[Array]:
        """Any pytree of arrays.

        Args:
            model: what the chains sample.
            state: the kernel's, after the step.
            info: the kernel's report of the step.
        """
        ...


@register_dataclass
@dataclass(frozen=True)
class Observer(Generic[Seen]):
    """begin(one) -> seen before any step, where `one` has the shapes of a measurement; add(seen, one, i) -> seen after step i."""

    measure: Measure
    begin: Partial[Seen]
    add: Partial[Seen]


def total(measure: Measure) -> Observer[PyTree[Array]]:
    """The sum of a measurement over the steps."""
    return Observer(pure(measure), Partial(_zeros, ()), Partial(_plus))


def trace(measure: Measure, length: int) -> Observer[PyTree[Array]]:
    """A measurement of each of the first `length` steps, along a new first axis."""
    return Observer(pure(measure), Partial(_zeros, (length,)), Partial(_written))


def _zeros(leading: tuple[int, ...], one: PyTree) -> PyTree[Array]:
    return jax.tree.map(lambda leaf: jnp.zeros((*leading, *leaf.shape), leaf.dtype), one)


def _plus(seen: PyTree[Array], one: PyTree[Array], i: Int[Array, ""]) -> PyTree[Array]:
    return jax.tree.map(jnp.add, seen, one)


def _written(seen: PyTree[Array], one: PyTree[Array], i: Int[Array, ""]) -> PyTree[Array]:
    return jax.tree.map(lambda seen, one: seen.at[i].set(one), seen, one)


def run(key: Key[Array, ""], model: Model, state: S, steps: Steps, kernel: Kernel[S, I], held: Held = None) -> S:
    """The chains after `steps` steps. Any number of steps, one compilation."""
    return _run(key, model, state, 0, steps, kernel, held)


@jax.jit
def _run(key: Key[Array, ""], model: Model, state: S, first: Steps, last: Steps, kernel: Kernel[S, I], held: Held) -> S:
    done = None if kernel.many is None else kernel.many(key, model, state, first, last, held)
    return _loop(key, model, state, first, last, kernel, held, None, None)[0] if done is None else done


def observe(
    key: Key[Array, ""],
    model: Model,
    state: S,
    steps: Steps,
    kernel: Kernel[S, I],
    observer: Observer[Seen],
    *,
    burn_in: int = 0,
    held: Held = None,
) -> tuple[S, Seen]:
    """The chains after `burn_in` + `steps` steps, and what was seen in the last `steps` of them."""
    if burn_in:
        state = run(key, model, state, burn_in, kernel, held)
    seen = _unseen(observer, kernel, key, model, state, held)
    return _loop(key, model, state, burn_in, burn_in + steps, kernel, held, observer, seen)


def walk(
    key: Key[Array, ""], model: Model, state: S, stops: Iterable[int], kernel: Kernel[S, I], observer: Observer[Seen]
) -> Iterator[tuple[int, S, Seen]]:
    """Halt after these numbers of steps: each time that number, the chains, and what was seen so far."""
    seen, done = _unseen(observer, kernel, key, model, state, None), 0
    for stop in stops:
        state, seen = _loop(key, model, state, done, stop, kernel, None, observer, seen)
        done = stop
        yield stop, state, seen


@jax.jit
def _loop(
    key: Key[Array, ""],
    model: Model,
    state: S,
    first: Steps,
    last: Steps,
    kernel: Kernel[S, I],
    held: Held,
    observer: Observer[Seen] | None,
    seen: Seen,
) -> tuple[S, Seen]:
    def step(i: Array, carry: tuple[S, Seen]) -> tuple[S, Seen]:
        state, seen = carry
        state, info = kernel.step(subkey(key, i), model, state, held)
        return state, seen if observer is None else observer.add(seen, observer.measure(model, state, info), i)

    return jax.lax.fori_loop(first, last, step, (state, seen))


def _unseen(observer: Observer[Seen], kernel: Kernel[S, I], key: Key[Array, ""], model: Model, state: S, held: Held) -> Seen:
    def one(model: Model, state: S) -> PyTree[Array]:
        return observer.measure(model, *kernel.step(key, model, state, held))

    return observer.begin(jax.eval_shape(one, model, state))
