"""Tools that the laws are checked with: discovery, enumeration in float64, chi-square and Kolmogorov-Smirnov tests."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

import minprobflow as mpf
from minprobflow.model_files import model_families
from minprobflow.models import Latent
from minprobflow.samplers.engine import run
from minprobflow.spaces import Discrete

MODELS = {
    f"{family.__name__}-{i}" + (f"-tau{model.tau}" if hasattr(model, "tau") else ""): model
    for family in model_families()
    for i, model in enumerate(family.examples())
}
FIRST = [name for name in MODELS if "-0" in name]  # of each family
# for laws that take seconds a model: the first of each family, and the RBM at every temperature
SOME = {name: model for name, model in MODELS.items() if name in FIRST or name.startswith("RBM")}
COUNTABLE = {name: model for name, model in MODELS.items() if isinstance(model.space, Discrete)}
REAL = {name: model for name, model in MODELS.items() if name not in COUNTABLE}
RULES = mpf.rules.names()


def square(model):
    """A model with a hidden layer, given as many hidden units as visible ones: copies of its own, every second one turned over.

    Where the layers are of the same size, one key for both would give both the same random numbers.
    """
    size, n_hidden = model.space.size, model.hidden_bias.shape[-1]
    unit, sign = np.arange(size) % n_hidden, (1 - 2 * (np.arange(size) // n_hidden % 2)).astype(np.float32)
    widened = model.weights[..., unit] * sign, model.hidden_bias[..., unit] * sign
    return eqx.tree_at(lambda m: (m.weights, m.hidden_bias), model, widened)


SQUARE = {
    name: square(model)
    for name, model in MODELS.items()
    if name in FIRST and isinstance(model, Latent) and {"weights", "hidden_bias"} <= vars(model).keys()
}


def all_states(model):
    return model.space.states(jnp.arange(model.space.n_states))


def some_states(model):
    """All states in the order of their numbers; of real units, 40 exact samples."""
    return all_states(model) if isinstance(model.space, Discrete) else jnp.asarray(draw(model, 40))


def probabilities(model):
    """p(v) by brute force, in float64."""
    log_p = -np.asarray(model.free_energy(all_states(model)), np.float64)
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def draw(model, n, seed=0):
    """Exact samples of an enumerable model, as rows of data."""
    if not isinstance(model.space, Discrete):
        return Mixture(model).draw(n, seed)
    index = np.random.default_rng(seed).choice(model.space.n_states, size=n, p=probabilities(model))
    return np.asarray(all_states(model), np.uint8)[index]


def state_counts(v, values=2):
    """How often each state of the enumeration occurs, for units with this many values."""
    index = np.asarray(v).astype(np.int64) @ (values ** np.arange(v.shape[-1]))
    return np.bincount(index, minlength=values ** v.shape[-1])


class Mixture:
    """p(v) of real units with a small hidden layer, in float64: a Gaussian for each hidden state."""

    def __init__(self, model, held=None):
        """`held` gives the values of some units: then it is p(v | those), from which they are left out as they do not vary."""
        h = all_states(model.transposed())
        logits = np.asarray(model.visible_logits(h), np.float64)
        variance = -1 / (2 * logits[..., 1])
        self.mean, self.std = logits[..., 0] * variance, np.sqrt(variance)
        log_p = np.log(probabilities(model.transposed()))
        for unit, value in (held or {}).items():
            log_p = log_p + stats.norm.logpdf(value, self.mean[:, unit], self.std[:, unit])
            self.mean[:, unit], self.std[:, unit] = value, 0.0
        self.p = np.exp(log_p - np.logaddexp.reduce(log_p))
        self.free = [unit for unit in range(model.space.size) if unit not in (held or {})]

    def draw(self, n, seed=0):
        rng = np.random.default_rng(seed)
        index = rng.choice(len(self.p), size=n, p=self.p)
        return rng.normal(self.mean[index], self.std[index]).astype(np.float32)

    def moments(self):
        """Means and variances of the units."""
        mean = self.p @ self.mean
        return mean, self.p @ (self.mean**2 + self.std**2) - mean**2

    def p_value(self, v):
        """Probability that samples look less like p than `v` does: Kolmogorov-Smirnov over each unit, and chi-square over
        hidden states drawn given `v` by Bayes' rule, which sees what units do together; the smallest, times their number."""
        v = np.asarray(v, np.float64)
        found = [stats.kstest(v[:, i], lambda x, i=i: self._distribution(x, i)).pvalue for i in self.free]
        mean, std = self.mean[:, None, self.free], self.std[:, None, self.free]
        joint = np.log(self.p) + np.sum(stats.norm.logpdf(v[:, self.free], mean, std), -1).T
        posterior = np.cumsum(special.softmax(joint, axis=1), 1)
        h = np.sum(np.random.default_rng(9).random(len(v))[:, None] > posterior[:, :-1], 1)
        found.append(chi_square_p_value(np.bincount(h, minlength=len(self.p)), self.p))
        return min(found) * len(found)

    def _distribution(self, x, unit):
        return sum(p * special.ndtr((x - m) / s) for p, m, s in zip(self.p, self.mean[:, unit], self.std[:, unit], strict=True))


def log_independent(space, logits, x):
    """log p(x) of independent units by their logits: one a unit (binary), two (real), or one for each value along a last axis."""
    if isinstance(space, mpf.Real):
        variance = -1 / (2 * logits[..., 1])
        return stats.norm.logpdf(x, logits[..., 0] * variance, np.sqrt(variance)).sum(-1)
    if logits.ndim == np.ndim(x):
        return np.sum(np.where(np.asarray(x) == 1, -np.logaddexp(0, -logits), -np.logaddexp(0, logits)), -1)
    log_p = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    index = np.broadcast_to(np.asarray(x, np.int64)[..., None], (*np.broadcast_shapes(np.shape(x), logits.shape[:-1]), 1))
    return np.take_along_axis(np.broadcast_to(log_p, (*index.shape[:-1], log_p.shape[-1])), index, -1)[..., 0].sum(-1)


def moved(key, model, v, steps, kernel, held=None):
    """States after some steps of a kernel."""
    return run(key, model, kernel.init(key, model, v), steps, kernel, held).v


def every_other_state(v, values=2):
    """v (n, D) with each unit set to each of its other values, the dense way: (n, D, values - 1, D)."""
    out = np.tile(np.asarray(v)[:, None, None, :], (1, v.shape[1], values - 1, 1))
    for row, site in np.ndindex(*v.shape):
        out[row, site, :, site] = [value for value in range(values) if value != v[row, site]]
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
        return chi_square_p_value(state_counts(v, model.space.n_values), probabilities(model))
    return Mixture(model).p_value(v)


def doubled(tree):
    """A model or state in float64 (inside `double_precision`)."""
    return jax.tree.map(lambda x: x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def finite_difference(f, tree, direction, step=1e-5):
    plus, minus = (jax.tree.map(lambda x, d, s=sign: x + s * step * d, tree, direction) for sign in (1, -1))
    return (float(f(plus)) - float(f(minus))) / (2 * step)


def random_like(tree, seed):
    leaves, structure = jax.tree.flatten(tree)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(structure, [jnp.asarray(rng.normal(size=x.shape)).astype(x.dtype) for x in leaves])


def inner(a, b):
    return float(sum(jnp.sum(x * y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)))
