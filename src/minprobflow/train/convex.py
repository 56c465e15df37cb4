"""`fit_convex`: where the objective is convex, go to its minimum and say so.

MPF-1flip and the pseudo-likelihood are sums of convex functions of F(x) - F(flip_i x). Where F is linear in the
parameters there is one minimum, and no learning rate, batch size or number of epochs to choose. Equal rows are counted
once. The search goes on in centred units scaled by their curvature, in double precision.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, UInt8

from ..arguments import choice, flag, number, whole
from ..errors import InputError
from ..models.base import LogLinear, Model, as_model
from ..numerics import as_float64, double_precision, sum_softplus
from ..tables import numbers
from .owlqn import Iterate, Vector, minimise, pseudo_gradient

ENTRIES = 2**14  # rows x units at a time: what fits a core's cache


class FlipObjective(NamedTuple):
    """outer(sum over rows of the row's share times over_units(F(x) - F(flip_i x)))."""

    over_units: Callable[[Array], Array]
    outer: Callable[[Array], Array]


OBJECTIVES = {
    "mpf-1flip": FlipObjective(lambda differences: jnp.sum(jnp.exp(differences / 2), -1), jnp.log),  # log J, as in the rule of that name
    "pseudo-likelihood": FlipObjective(sum_softplus, lambda total: total),  # -sum_i log p(x_i | all others)
}


class ConvexFit(NamedTuple):
    """What a convex fit gives."""

    model: Model
    converged: bool
    iterations: int
    evaluations: int
    gradient_norm: float
    """relative to that at independent units with the data's means; with L1, that of the smallest subgradient"""
    objective: float  # with its penalties
    unique_rows: int
    history: list[dict[str, float]]  # per iteration: objective, gradient_norm, seconds since the start


def fit_convex(
    model: Model,
    data: Any,
    objective: str = "mpf-1flip",
    *,
    counts: Any = None,
    l1: float = 0.0,
    l2: float = 0.0,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    progress: bool | None = None,
) -> ConvexFit:
    """Minimise a convex objective to convergence, by L-BFGS; with L1, by its orthant-wise form.

    Args:
        model: a model whose free energy is linear in its parameters, such as `mpf.Ising`; the search starts there.
        data: rows of 0 and 1 of any dtype, shape (examples, units).
        objective: "mpf-1flip" or "pseudo-likelihood".
        counts: how often each row was seen; by default once.
        l1, l2: penalties l1 * sum|J| + l2 * sum J^2 on the couplings (not the fields). With L1 many are exactly zero.
        tolerance: stop when the gradient's norm, relative to that at independent units, is this small.
        max_iterations: give up after so many (`converged` is then False).
        progress: show a line per iteration; by default on a terminal.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits").train
    >>> fit = mpf.fit_convex(mpf.Ising.init(64, digits), digits, l2=1e-4)
    >>> fit.converged, fit.model.couplings.shape
    (True, (64, 64))
    """
    as_model(model, finite=True)
    if not isinstance(model, LogLinear):
        raise InputError(f"the objective is not known to be convex for {type(model).__name__}: use mpf.fit, or a model such as mpf.Ising")
    choice("objective", objective, OBJECTIVES)
    l1, l2, tolerance = number("l1", l1, 0), number("l2", l2, 0), number("tolerance", tolerance, above=0)
    max_iterations = whole("max_iterations", max_iterations, 1)
    if progress is not None:
        flag("progress", progress)
    rows, share = counted(model.space.check(data), counts)
    show = progress or (progress is None and sys.stderr.isatty())
    with double_precision():
        problem = _Problem(model, rows, share, OBJECTIVES[objective], l1, l2)
        return _searched(problem, model, tolerance, max_iterations, show)


class _Problem:
    """The objective as a function of a vector: the parameters of the model in units less the data's means."""

    def __init__(self, model: LogLinear, rows: UInt8[np.ndarray, "n D"], share: Vector, objective: FlipObjective, l1: float, l2: float):
        width = rows.shape[1]
        size = max(min(ENTRIES // width, len(rows)), 1)
        padding = -len(rows) % size  # rows of no weight fill the last block
        blocks = np.pad(rows, ((0, padding), (0, 0))).reshape(-1, size, width), np.pad(share, (0, padding)).reshape(-1, size)
        self.data = _Data(*map(jnp.asarray, (*blocks, share @ rows)))
        self.unique_rows, self.objective = len(rows), objective
        self.given = as_float64(model)
        self.start, self.independent, curvatures = map(np.asarray, _prepared(self.given, self.data, objective))
        penalised = zip(jax.tree.leaves(model.penalised()), jax.tree.leaves(model), strict=True)
        on = np.concatenate([np.full(leaf.size, float(flag)) for flag, leaf in penalised])
        self.l1, self.l2 = l1 * on, l2 * on
        curvatures = curvatures + 2 * self.l2
        self.scale = np.divide(1, curvatures, out=np.zeros_like(curvatures), where=curvatures > 0)

    def smooth(self, x: Vector) -> tuple[float, Vector]:
        """All but the L1 penalty, and its gradient."""
        value, gradient = _value_and_gradient(x, self.given, self.data, self.objective)
        return float(value) + self.l2 @ x**2, np.asarray(gradient) + 2 * self.l2 * x

    def gradient_norm(self, x: Vector, gradient: Vector) -> float:
        """That of the plain parameters' gradient."""
        plain = np.asarray(_plain_gradient(gradient, self.given, self.data.mean))
        return float(np.linalg.norm(pseudo_gradient(x, plain, self.l1)))

    def model(self, x: Vector, like: Model) -> Model:
        """The plain model, in the precision of the one that was given."""
        found = _plain(x, self.given, self.data.mean)
        return jax.tree.map(lambda leaf, given: jnp.asarray(np.asarray(leaf), given.dtype), found, like)


class _Data(NamedTuple):
    """Distinct rows in blocks, the share of the data that each makes up, and the means of the units."""

    rows: UInt8[Array, "blocks n D"]
    share: Float[Array, "blocks n"]
    mean: Float[Array, " D"]

    def sums(self, function: Callable[[Array, Array], Any]) -> Any:
        """function(rows, share) summed over the blocks."""
        first = jax.eval_shape(function, self.rows[0].astype(self.share.dtype), self.share[0])
        zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), first)

        def add(total: Any, block: tuple[Array, Array]) -> tuple[Any, None]:
            rows, share = block
            return jax.tree.map(jnp.add, total, function(rows.astype(share.dtype), share)), None

        return jax.lax.scan(add, zero, (self.rows, self.share))[0]


def _searched(problem: _Problem, given: Model, tolerance: float, max_iterations: int, show: bool) -> ConvexFit:
    begun, history, norm = time.perf_counter(), [], np.inf
    reference = problem.gradient_norm(problem.independent, problem.smooth(problem.independent)[1])
    at: Iterate
    for iterations, at in enumerate(minimise(problem.smooth, problem.start, problem.l1, problem.scale)):
        norm = problem.gradient_norm(at.x, at.gradient) / max(reference, np.finfo(float).tiny)
        total = at.smooth + float(problem.l1 @ np.abs(at.x))
        history.append({"objective": total, "gradient_norm": norm, "seconds": time.perf_counter() - begun})
        if show:
            print(f"iteration {iterations}: objective {total:.8g}, relative gradient {norm:.1e}", file=sys.stderr, flush=True)
        if norm <= tolerance or iterations == max_iterations:
            break
    model = problem.model(at.x, given)
    return ConvexFit(model, norm <= tolerance, iterations, at.evaluations, norm, total, problem.unique_rows, history)


def counted(rows: UInt8[np.ndarray, "n D"], counts: Any) -> tuple[UInt8[np.ndarray, "m D"], Float[np.ndarray, " m"]]:
    """Distinct rows and the share of the data that each makes up."""
    weights = np.ones(len(rows)) if counts is None else numbers(counts, "counts").astype(np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(f"counts must be {len(rows)} numbers that are not negative, one per row, and not all zero")
    packed = np.packbits(rows, axis=1)
    words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)  # sorting words is faster than sorting bytes
    keys = words[:, 0] if words.shape[1] == 1 else words
    _, first, group = np.unique(keys, return_index=True, return_inverse=True, axis=0)
    return rows[first], np.bincount(group.ravel(), weights, len(first)) / weights.sum()


@partial(jax.jit, static_argnames="objective")
def _prepared(model: Any, data: _Data, objective: FlipObjective) -> tuple[Array, Array, Array]:
    """As vectors in centred units: the model, independent units with the data's means, and the Hessian's diagonal there.

    The diagonal lacks what `outer` takes off it, and so is never too small.
    """
    second = jax.vmap(jax.vmap(jax.grad(jax.grad(lambda difference: objective.over_units(difference[None])))))
    n = data.share.size
    independent = model.base((data.mean * n + 0.5) / (n + 1))  # never a mean of 0 or 1

    def block(v: Array, share: Array) -> tuple[Array, Any]:
        differences = independent.flip_differences(v)
        curvatures = independent.flip_curvatures(v - data.mean[None], share[:, None] * second(differences))
        return share @ objective.over_units(differences), curvatures

    total, curvatures = data.sums(block)
    models = model.recentred(data.mean), independent.recentred(data.mean), curvatures
    start, base, diagonal = (ravel_pytree(m)[0] for m in models)
    return start, base, jax.grad(objective.outer)(total) * diagonal


@partial(jax.jit, static_argnames="objective")
def _value_and_gradient(x: Float[Array, " n"], like: Any, data: _Data, objective: FlipObjective) -> tuple[Float[Array, ""], Array]:
    plain, back = jax.vjp(lambda x: _plain(x, like, data.mean), x)

    def block(v: Array, share: Array) -> tuple[Array, Any]:
        return jax.value_and_grad(lambda model: share @ objective.over_units(model.flip_differences(v)))(plain)

    total, gradient = data.sums(block)
    value, slope = jax.value_and_grad(objective.outer)(total)
    return value, slope * back(gradient)[0]


@jax.jit
def _plain(x: Float[Array, " n"], like: Any, mean: Float[Array, " D"]) -> Any:
    """The plain model of a vector in centred units; `like` gives its structure."""
    return ravel_pytree(like)[1](x).recentred(-mean)


@jax.jit
def _plain_gradient(gradient: Float[Array, " n"], like: Any, mean: Float[Array, " D"]) -> Float[Array, " n"]:
    """The gradient in the plain parameters, of one in centred units: through d(centred)/d(plain)."""
    back = jax.vjp(lambda model: ravel_pytree(model.recentred(mean))[0], like)[1]
    return ravel_pytree(back(gradient)[0])[0]
