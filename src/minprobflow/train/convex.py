"""`fit_convex`: where the objective is convex, go to its minimum and say so.

The rules with one-flip connectivity are means over rows of sums of convex functions of F(x) - F(flip_i x). Where F is linear in the
parameters there is one minimum, and no learning rate, batch size or number of epochs to choose. Equal rows are counted
once. The search runs in centred features scaled by their curvature, in double precision.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree, UInt8
from numpy.typing import ArrayLike

from ..arguments import flag, number, whole
from ..errors import InputError
from ..flow import NeighbourFlow, RowMean
from ..models.base import LogLinear, Model, as_model
from ..numerics import as_float64, double_precision
from ..rules import FlipRule, RuleSpec
from ..rules import rule as find_rule
from ..spaces import discrete
from ..tables import numbers
from .owlqn import Iterate, Vector, minimise, pseudo_gradient

ENTRIES = 2**14  # rows x features at a time: what fits a core's cache
Sums = TypeVar("Sums")


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
    data: ArrayLike,
    rule: str | RuleSpec = "mpf-1flip",
    *,
    counts: ArrayLike | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    progress: bool | None = None,
) -> ConvexFit:
    """Minimise a rule's objective to convergence where it is convex, by L-BFGS; with L1, by its orthant-wise form.

    Args:
        model: a model whose free energy is linear in its parameters, `mpf.Ising` or `mpf.Potts`; the search starts there.
        data: rows of what the model's units can hold, of any dtype, shape (examples, units).
        rule: "mpf-1flip" or "pseudo-likelihood", or an object such as `mpf.MPF1Flip(log=False)`.
        counts: how often each row was seen; by default once.
        l1: strength of the penalty l1 * sum|J| on the couplings (not the fields). With it many are exactly zero.
        l2: strength of the penalty l2 * sum J^2 on the couplings.
        tolerance: stop when the gradient's norm, relative to that at independent units, is this small.
        max_iterations: give up after so many (`converged` is then False).
        progress: show a line per iteration; by default on a terminal.

    Returns:
        The model at the minimum, whether it was reached, and how.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits").train
    >>> fit = mpf.fit_convex(mpf.Ising.init(64, digits), digits, l2=1e-4)
    >>> fit.converged, fit.model.couplings.shape
    (True, (64, 64))

    References:
        Sohl-Dickstein, Battaglino & DeWeese 2011; Besag 1975; Andrew & Gao 2007 (L1).
    """
    as_model(model, finite=True)
    if not isinstance(model, LogLinear):
        raise InputError(f"the objective is not known to be convex for {type(model).__name__}: use mpf.fit, or mpf.Ising or mpf.Potts")
    spec = find_rule(rule)
    if not isinstance(spec, FlipRule) or not spec.convex():
        raise InputError(f'the objective of {spec} is not convex: use mpf-1flip with o="zero", or pseudo-likelihood, or mpf.fit')
    spec.check(model)
    l1, l2, tolerance = number("l1", l1, 0), number("l2", l2, 0), number("tolerance", tolerance, above=0)
    max_iterations = whole("max_iterations", max_iterations, 1)
    if progress is not None:
        flag("progress", progress)
    rows, share = counted(model.space.check(data), counts)
    show = progress or (progress is None and sys.stderr.isatty())
    with double_precision():
        problem = _Problem(model, rows, share, spec, l1, l2)
        return _searched(problem, model, tolerance, max_iterations, show)


class _Problem:
    """The objective as a function of a vector: the parameters of the model in features less the data's means."""

    def __init__(self, model: LogLinear, rows: UInt8[np.ndarray, "n D"], share: Vector, rule: FlipRule, l1: float, l2: float):
        width = int(np.prod(discrete(model.space, rule.name).neighbours))
        size = max(min(ENTRIES // width, len(rows)), 1)
        padding = -len(rows) % size  # rows of no weight fill the last block
        blocks = np.pad(rows, ((0, padding), (0, 0))).reshape(-1, size, rows.shape[1]), np.pad(share, (0, padding)).reshape(-1, size)
        self.data = _Blocks(*map(jnp.asarray, blocks))
        self.unique_rows, self.rule = len(rows), rule
        self.given = as_float64(model)
        self.mean, *vectors = _prepared(self.given, self.data, rule)
        self.start, self.independent, curvatures = map(np.asarray, vectors)
        penalised = zip(jax.tree.leaves(model.penalised()), jax.tree.leaves(model), strict=True)
        on = np.concatenate([np.full(leaf.size, float(flag)) for flag, leaf in penalised])
        self.l1, self.l2 = l1 * on, l2 * on
        curvatures = curvatures + 2 * self.l2
        self.scale = np.divide(1, curvatures, out=np.zeros_like(curvatures), where=curvatures > 0)

    def smooth(self, x: Vector) -> tuple[float, Vector]:
        """All but the L1 penalty, and its gradient."""
        value, gradient = _value_and_gradient(x, self.given, self.data, self.mean, self.rule)
        return float(value) + self.l2 @ x**2, np.asarray(gradient) + 2 * self.l2 * x

    def gradient_norm(self, x: Vector, gradient: Vector) -> float:
        """That of the plain parameters' gradient."""
        plain = np.asarray(_plain_gradient(gradient, self.given, self.mean))
        return float(np.linalg.norm(pseudo_gradient(x, plain, self.l1)))

    def model(self, x: Vector, like: Model) -> Model:
        """The plain model, in the precision of the one that was given."""
        found = _plain(x, self.given, self.mean)
        return jax.tree.map(lambda leaf, given: jnp.asarray(np.asarray(leaf), given.dtype), found, like)


class _Blocks(NamedTuple):
    """Distinct rows in blocks, and the share of the data that each makes up."""

    rows: UInt8[Array, "blocks n D"]
    share: Float[Array, "blocks n"]

    def sums(self, function: Callable[[Array, Array], Sums]) -> Sums:
        """function(rows, share) summed over the blocks."""
        first = jax.eval_shape(function, self.rows[0].astype(self.share.dtype), self.share[0])
        zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), first)

        def add(total: Sums, block: tuple[Array, Array]) -> tuple[Sums, None]:
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


def counted(rows: UInt8[np.ndarray, "n D"], counts: ArrayLike | None) -> tuple[UInt8[np.ndarray, "m D"], Float[np.ndarray, " m"]]:
    """Distinct rows and the share of the data that each makes up."""
    weights = np.ones(len(rows)) if counts is None else numbers(counts, "counts").astype(np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(f"counts must be {len(rows)} numbers that are not negative, one per row, and not all zero")
    packed = np.packbits(rows, axis=1) if rows.max() < 2 else rows
    words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)  # sorting words is faster than sorting bytes
    keys = words[:, 0] if words.shape[1] == 1 else words
    _, first, group = np.unique(keys, return_index=True, return_inverse=True, axis=0)
    return rows[first], np.bincount(group.ravel(), weights, len(first)) / weights.sum()


@partial(jax.jit, static_argnames="rule")
def _prepared(model: LogLinear, data: _Blocks, rule: FlipRule) -> tuple[Array, Array, Array, Array]:
    """The means of the features; and as vectors in centred features the model, independent units with these means, and the
    Hessian's diagonal there. The diagonal lacks what a log takes off it, and so is never too small.
    """
    space, n, objective = model.space, data.share.size, rule.objective()
    mean = data.sums(lambda v, share: jnp.tensordot(share, space.features(v), 1))
    independent = cast(LogLinear, model.base((n * mean + space.even_means()) / (n + 1)))  # no frequency is 0 or 1

    def block(v: Array, share: Array) -> tuple[Array, PyTree]:
        flow, _ = rule.connectivity().flow(independent, (), v)
        weights = share.reshape(-1, *[1] * (flow.differences.ndim - 1)) * _second_derivatives(objective, flow)
        return share @ objective.averaged(flow), independent.flip_curvatures(space.features(v) - mean[None], weights)

    total, curvatures = data.sums(block)
    start, base, diagonal = (ravel_pytree(m)[0] for m in (model.recentred(mean), independent.recentred(mean), curvatures))
    return mean, start, base, jax.grad(objective.of_mean)(total) * diagonal


def _second_derivatives(objective: RowMean[NeighbourFlow], flow: NeighbourFlow) -> Float[Array, "n D *others"]:
    """Of what is averaged, in each difference. It is a sum over units, so that all units can be looked at together."""
    differences = flow.differences
    first = jax.grad(lambda differences: jnp.sum(objective.averaged(flow._replace(differences=differences))))
    others = jnp.ones((1, 1)) if differences.ndim == 2 else jnp.eye(differences.shape[2])

    def along(other: Float[Array, " others"]) -> Float[Array, "n D *others"]:
        direction = jnp.broadcast_to(other.reshape([1] * (differences.ndim - other.ndim) + [-1]), differences.shape)
        return direction * jax.jvp(first, (differences,), (direction,))[1]

    return jnp.sum(jax.vmap(along)(others), 0)


@partial(jax.jit, static_argnames="rule")
def _value_and_gradient(
    x: Float[Array, " n"], like: LogLinear, data: _Blocks, mean: Float[Array, " D *values"], rule: FlipRule
) -> tuple[Float[Array, ""], Float[Array, " n"]]:
    plain, back = jax.vjp(lambda x: _plain(x, like, mean), x)
    objective, flow_of = rule.objective(), rule.connectivity().flow

    def block(v: Array, share: Array) -> tuple[Array, PyTree]:
        return jax.value_and_grad(lambda model: share @ objective.averaged(flow_of(model, (), v)[0]))(plain)

    total, gradient = data.sums(block)
    value, slope = jax.value_and_grad(objective.of_mean)(total)
    return value, slope * back(gradient)[0]


@jax.jit
def _plain(x: Float[Array, " n"], like: LogLinear, mean: Float[Array, " D *values"]) -> Model:
    """The plain model of a vector in centred features; `like` gives its structure."""
    return ravel_pytree(like)[1](x).recentred(-mean)


@jax.jit
def _plain_gradient(gradient: Float[Array, " n"], like: LogLinear, mean: Float[Array, " D *values"]) -> Float[Array, " n"]:
    """The gradient in the plain parameters, of one in centred features: through d(centred)/d(plain)."""
    back = jax.vjp(lambda model: ravel_pytree(model.recentred(mean))[0], like)[1]
    return ravel_pytree(back(gradient)[0])[0]
