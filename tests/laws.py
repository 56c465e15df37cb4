"""Tools that the laws are checked with: discovery, enumeration in float64, chi-square and Kolmogorov-Smirnov tests."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

import minprobflow as mpf
from minprobflow import testing
from minprobflow.samplers.engine import run
from minprobflow.units import Columns, Discrete

MODELS = testing.all_examples()
# For laws that take seconds per model: the first of each family and of most unit types; those of the others are in test_every_rbm.py
FIRST = [name for name in MODELS if "-0" in name and not name.startswith(("SpinRBM", "MixedRBM"))]
SOME = {name: model for name, model in MODELS.items() if name in FIRST or name.startswith("RBM")}  # and the RBM at every temperature
COUNTABLE = {name: model for name, model in MODELS.items() if isinstance(model.space, Discrete)}
REAL = {name: model for name, model in MODELS.items() if isinstance(model.space, mpf.Real)}
RULES = mpf.rules.names()


def square(model):
    """A model with a hidden layer, given as many hidden units as visible ones: copies of its own, every second one turned over.

    Where the layers are of the same size, one key for both would give both the same random numbers.
    """
    size, n_hidden = model.space.size, model.n_hidden
    unit, sign = np.arange(size) % n_hidden, (1 - 2 * (np.arange(size) // n_hidden % 2)).astype(np.float32)
    widened = model.weights[..., unit] * sign, model.hidden.bias[..., unit] * sign
    return eqx.tree_at(lambda m: (m.weights, m.hidden.bias), model, widened)


SQUARE = {name: square(model) for name, model in MODELS.items() if name in FIRST and isinstance(model, mpf.RBM)}


@partial(jax.jit, static_argnums=0)
def _states(space):
    return space.states(jnp.arange(space.n_states))


def all_states(model):
    return _states(model.space)


@jax.jit
def free_energy(model, v):
    """F(v) as one compiled program: a model's operations one by one are a dozen, each compiled for each shape."""
    return model.free_energy(v)


def some_states(model):
    """All states in the order of their numbers; of real units, 40 exact samples."""
    return all_states(model) if isinstance(model.space, Discrete) else jnp.asarray(draw(model, 40)).astype(float)


@jax.jit
def visible_logits(model, h):
    return model.visible_logits(h)


@jax.jit
def base(model, means):
    return model.base(jnp.asarray(means, jnp.float32))


@jax.jit
def between(model, base, beta):
    return model.between(base, jnp.asarray(beta, jnp.float32))


def probabilities(model):
    """p(v) by brute force, in float64."""
    log_p = -np.asarray(free_energy(model, all_states(model)), np.float64)
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def draw(model, n, seed=0):
    """Exact samples of an enumerable model, as rows of data."""
    if not isinstance(model.space, Discrete):
        return Mixture(model).draw(n, seed)
    index = np.random.default_rng(seed).choice(model.space.n_states, size=n, p=probabilities(model))
    return np.asarray(all_states(model), model.space.dtype)[index]


def state_counts(v, values=2):
    """How often each state of the enumeration occurs, for units with this many values."""
    index = np.asarray(v).astype(np.int64) @ (values ** np.arange(v.shape[-1]))
    return np.bincount(index, minlength=values ** v.shape[-1])


def counts_of_states(model, v):
    """How often each state of the model's enumeration occurs among `v`."""
    states, found = np.asarray(all_states(model)), np.asarray(v)
    weights = np.random.default_rng(0).normal(size=states.shape[1])  # a number that tells states apart
    order = np.argsort(states @ weights)
    nearest = order[np.clip(np.searchsorted((states @ weights)[order], found @ weights - 1e-9), 0, len(states) - 1)]
    np.testing.assert_array_equal(states[nearest], found)
    return np.bincount(nearest, minlength=len(states))


class Mixture:
    """p(v) of any units with a small countable hidden layer, in float64: independent units for each hidden state."""

    def __init__(self, model, held=None):
        """`held` gives the values of some (Gaussian) units: then it is p(v | those), which do not vary."""
        h = all_states(model.transposed())
        self.space, self.logits = model.space, np.asarray(visible_logits(model, h), np.float64)
        self.held = held or {}
        self.free = [unit for unit in range(self.space.size) if unit not in self.held]
        log_p = np.log(probabilities(model.transposed()))
        for unit, value in self.held.items():
            variance = -1 / (2 * self.logits[:, unit, 1])
            log_p = log_p + stats.norm.logpdf(value, self.logits[:, unit, 0] * variance, np.sqrt(variance))
        self.p = np.exp(log_p - np.logaddexp.reduce(log_p))

    def draw(self, n, seed=0):
        rng = np.random.default_rng(seed)
        rows = draw_independent(self.space, self.logits[rng.choice(len(self.p), size=n, p=self.p)], rng)
        for unit, value in self.held.items():
            rows[:, unit] = value
        return rows.astype(self.space.dtype)

    def moments(self):
        """Means and variances of Gaussian units."""
        variance = -1 / (2 * self.logits[..., 1])
        means = self.logits[..., 0] * variance
        for unit, value in self.held.items():
            means[:, unit], variance[:, unit] = value, 0
        mean = self.p @ means
        return mean, self.p @ (means**2 + variance) - mean**2

    def p_value(self, v):
        """Probability that samples look less like p than `v` does: Kolmogorov-Smirnov over each real unit, chi-square over each other
        one, and over hidden states drawn given `v` by Bayes' rule, which sees what units do together; the smallest, times their number."""
        v = np.asarray(v, np.float64)
        found = [self._of_unit(v, unit) for unit in self.free]
        space, logits, rows = self.space, self.logits, v
        if self.held:
            space, logits, rows = mpf.Real(len(self.free)), logits[:, self.free], rows[:, self.free]
        joint = np.log(self.p) + np.stack([log_independent(space, one[None], rows) for one in logits], 1)
        posterior = np.cumsum(special.softmax(joint, axis=1), 1)
        h = np.sum(np.random.default_rng(9).random(len(v))[:, None] > posterior[:, :-1], 1)
        found.append(chi_square_p_value(np.bincount(h, minlength=len(self.p)), self.p))
        return min(found) * len(found)

    def _of_unit(self, v, unit):
        space, logits = one_column(self.space, self.logits, unit)
        if isinstance(space, mpf.Real):
            return stats.kstest(v[:, unit], lambda x: self.p @ distribution(space, logits, x)).pvalue
        states = np.asarray(space.states(jnp.arange(space.n_states)))
        p = self.p @ np.exp(np.stack([log_independent(space, logits, np.broadcast_to(x, (len(logits), 1))) for x in states], 1))
        return chi_square_p_value(np.asarray([(v[:, unit] == x[0]).sum() for x in states]), p)


def parts(space, logits):
    """The parts of a mixed space with their logits and columns; of another space, itself."""
    if isinstance(space, Columns):
        return [(part, x, list(columns)) for (part, x), columns in zip(space.split(logits), space.columns, strict=True)]
    return [(space, logits, list(range(space.size)))]


def one_column(space, logits, unit):
    part, own, columns = next(entry for entry in parts(space, logits) if unit in entry[2])
    place = columns.index(unit)
    alone = mpf.Categories(1, part.n_values) if isinstance(part, mpf.Categories) else type(part)(1)
    return alone, own[:, place : place + 1]


def gaussian(logits):
    variance = -1 / (2 * logits[..., 1])
    return logits[..., 0] * variance, np.sqrt(variance)


def distribution(space, logits, x):
    """P(unit <= x) of one real unit, for each of these logits."""
    mean, std = (y[:, :1] for y in gaussian(logits))
    below = special.ndtr(-mean / std) if isinstance(space, mpf.NonNegative) else 0.0
    return np.clip((special.ndtr((x[None] - mean) / std) - below) / (1 - below), 0, 1)


def draw_independent(space, logits, rng):
    """Samples of independent units, by numpy and scipy."""
    rows = np.empty((len(logits), space.size))
    for part, own, columns in parts(space, logits):
        if isinstance(part, mpf.NonNegative):
            mean, std = gaussian(own)
            drawn = stats.truncnorm.rvs(-mean / std, np.inf, mean, std, random_state=rng)
        elif isinstance(part, mpf.Real):
            drawn = rng.normal(*gaussian(own))
        elif isinstance(part, mpf.Categories):
            drawn = np.argmax(own + rng.gumbel(size=own.shape), -1)
        else:
            sign = isinstance(part, mpf.Signs)
            drawn = rng.random(own.shape) < special.expit((1 + sign) * own)
            drawn = (1 + sign) * drawn - 1.0 * sign
        rows[:, columns] = drawn
    return rows


def log_independent(space, logits, x):
    """log p(x) of independent units by their logits: one per unit (bits, spins), two (real), or one for each value along a last axis."""
    total = 0.0
    for part, own, columns in parts(space, np.asarray(logits)):
        total = total + _log_independent(part, own, np.asarray(x)[..., columns])
    return total


def _log_independent(space, logits, x):
    if isinstance(space, mpf.Real):
        mean, std = gaussian(logits)
        log_p = stats.norm.logpdf(x, mean, std)
        return (log_p - special.log_ndtr(mean / std) if isinstance(space, mpf.NonNegative) else log_p).sum(-1)
    if isinstance(space, mpf.Signs):
        return np.sum(-np.logaddexp(0, -2 * logits * x), -1)
    if isinstance(space, mpf.Binary):
        return np.sum(-np.logaddexp(0, np.where(x == 1, -logits, logits)), -1)
    log_p = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    index = np.broadcast_to(np.asarray(x, np.int64)[..., None], (*np.broadcast_shapes(np.shape(x), logits.shape[:-1]), 1))
    return np.take_along_axis(np.broadcast_to(log_p, (*index.shape[:-1], log_p.shape[-1])), index, -1)[..., 0].sum(-1)


def moved(key, model, v, steps, kernel, held=None):
    """States after some steps of a kernel."""
    return run(key, model, kernel.init(key, model, v), steps, kernel, held).v


def every_other_state(v, space):
    """v (n, D) with each unit set to each of its other values, the dense way: (n, D, values - 1, D). Absent values leave v."""
    values = [np.unique(column) for column in np.asarray(space.states(jnp.arange(space.n_states))).T]
    v = np.asarray(v)
    out = np.tile(v[:, None, None, :], (1, v.shape[1], space.n_values - 1, 1))
    for row, site in np.ndindex(*v.shape):
        others = [value for value in values[site] if value != v[row, site]]
        out[row, site, : len(others), site] = others
    return out


def chi_square_p_value(counts, p):
    """Probability of counts at least this far from p. Rare states are pooled so that the statistic is chi-square."""
    if counts[p == 0].any():
        return 0.0  # what cannot be has been seen
    expected = p * counts.sum()
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    keep = wanted > 0
    return stats.chisquare(observed[keep], wanted[keep] * observed[keep].sum() / wanted[keep].sum()).pvalue


def p_value(model, v):
    """Probability of samples at least as unlike the model as `v`: over all states, or as in `Mixture`."""
    if isinstance(model.space, Discrete):
        return chi_square_p_value(counts_of_states(model, v), probabilities(model))
    return Mixture(model).p_value(v)


def doubled(tree):
    """A model or state in float64 (inside `double_precision`)."""
    return jax.tree.map(lambda x: x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def slopes(f, tree, directions, step=1e-5):
    """In each of some random directions: the slope of f by its gradient, and by finite differences."""
    f = jax.jit(f)

    @jax.jit
    def both(tree, direction):
        plus, minus = (f(jax.tree.map(lambda x, d, s=sign: x + s * step * d, tree, direction)) for sign in (1, -1))
        return inner(jax.grad(f)(tree), direction), (plus - minus) / (2 * step)

    return np.asarray([both(tree, random_like(tree, seed)) for seed in range(directions)])


def random_like(tree, seed):
    leaves, structure = jax.tree.flatten(tree)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(structure, [jnp.asarray(rng.normal(size=x.shape)).astype(x.dtype) for x in leaves])


def inner(a, b):
    return sum(jnp.sum(x * y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
