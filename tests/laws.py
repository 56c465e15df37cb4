"""Tools that the laws are checked with: discovery, enumeration in float64, chi-square tests."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import minprobflow as mpf
from minprobflow.model_files import model_families

MODELS = {
    f"{family.__name__}-{i}" + (f"-tau{model.tau}" if hasattr(model, "tau") else ""): model
    for family in model_families()
    for i, model in enumerate(family.examples())
}
# for laws that take seconds a model: of each family the first, and the RBM at every temperature
SOME = {name: model for name, model in MODELS.items() if "-0" in name or name.startswith("RBM")}
RULES = mpf.rules.names()


def all_states(model):
    return model.space.states(jnp.arange(model.space.n_states))


def probabilities(model):
    """p(v) by brute force, in float64."""
    log_p = -np.asarray(model.free_energy(all_states(model)), np.float64)
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def draw(model, n, seed=0):
    """Exact samples of an enumerable model, as uint8."""
    index = np.random.default_rng(seed).choice(model.space.n_states, size=n, p=probabilities(model))
    return np.asarray(all_states(model), np.uint8)[index]


def state_counts(v, values=2):
    """How often each state of the enumeration occurs, for units with this many values."""
    index = np.asarray(v).astype(np.int64) @ (values ** np.arange(v.shape[-1]))
    return np.bincount(index, minlength=values ** v.shape[-1])


def log_independent(logits, x):
    """log p(x) of independent units by their logits: one a unit (binary), or one for each value along a last axis."""
    if logits.ndim == np.ndim(x):
        return np.sum(np.where(np.asarray(x) == 1, -np.logaddexp(0, -logits), -np.logaddexp(0, logits)), -1)
    log_p = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    index = np.broadcast_to(np.asarray(x, np.int64)[..., None], (*np.broadcast_shapes(np.shape(x), logits.shape[:-1]), 1))
    return np.take_along_axis(np.broadcast_to(log_p, (*index.shape[:-1], log_p.shape[-1])), index, -1)[..., 0].sum(-1)


def every_other_state(v, values=2):
    """v (n, D) with each unit set to each of its other values, the dense way: (n, D, values - 1, D)."""
    out = np.tile(np.asarray(v)[:, None, None, :], (1, v.shape[1], values - 1, 1))
    for row, site in np.ndindex(*v.shape):
        out[row, site, :, site] = [value for value in range(values) if value != v[row, site]]
    return out


def chi_square_p_value(counts, p):
    """Probability of counts at least this far from p. Rare states are pooled so that the statistic is chi-square."""
    expected = p * counts.sum()
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    keep = wanted > 0
    return stats.chisquare(observed[keep], wanted[keep] * observed[keep].sum() / wanted[keep].sum()).pvalue


def doubled(tree):
    """A model or state in float64 (inside `jax.enable_x64`)."""
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
