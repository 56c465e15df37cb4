"""Laws that an RBM must obey for every visible with every hidden unit type, at three temperatures.

The energy is written down again in numpy, and sums over hidden units are taken by brute force: over all values of bits, spins and
categories, by Gauss-Legendre quadrature of real units. All that is checked of a pair comes out of one compiled function of the
parameters and the temperature.
"""

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from scipy import special

import minprobflow as mpf
from minprobflow.models.rbm import _made
from minprobflow.numerics import double_precision
from minprobflow.samplers import block_gibbs
from minprobflow.units import Discrete

TAUS = (0.5, 1.0, 2.0)


def layer(kind, seed):
    rng = np.random.default_rng(seed)
    bias = 0.5 * rng.normal(size=3)
    if kind in ("Bernoulli", "Spin"):
        return getattr(mpf, kind)(bias)
    if kind == "Categorical":
        return mpf.Categorical(0.5 * rng.normal(size=(2, 3)))
    if kind in ("Gaussian", "ReLU"):
        return getattr(mpf, kind)(bias[:2], 0.3 * rng.normal(size=2), 0.1)
    if kind == "Table":  # columns in another order than the parts
        return mpf.Mixed(
            mpf.Bernoulli(bias[:1]), mpf.Categorical([bias]), mpf.Gaussian(bias[:1], bias[1:2], 0.1), columns=((1,), (2,), (0,))
        )
    return mpf.Mixed(mpf.Spin(bias[:2]), mpf.Categorical([bias]))


VISIBLE = ("Bernoulli", "Spin", "Categorical", "Gaussian", "ReLU", "Table", "CountableTable")
HIDDEN = ("Bernoulli", "Spin", "Categorical", "Gaussian", "ReLU")
PAIRS = list(itertools.product(VISIBLE, HIDDEN))
every_pair = pytest.mark.parametrize(("visible", "hidden"), PAIRS)
# What takes longer to compile (flips, the path, centring) is checked on pairs in which every type meets a bounded one, an unbounded
# one and itself
FULL = {
    *(("Bernoulli", hidden) for hidden in ("Bernoulli", "Gaussian", "ReLU")),
    *(("Spin", hidden) for hidden in ("Bernoulli", "Spin", "Gaussian")),
    *(("Categorical", hidden) for hidden in ("Bernoulli", "Categorical", "ReLU")),
    *(("Gaussian", hidden) for hidden in HIDDEN),
    *(("ReLU", hidden) for hidden in ("Bernoulli", "ReLU")),
    *(("Table", hidden) for hidden in ("Bernoulli", "Gaussian")),
    ("CountableTable", "Categorical"),
}


@cache
def rbm(visible, hidden, tau=1.0):
    """Weights that let the layers see each other, and yet small enough where both are unbounded."""
    v, h = layer(visible, 1), layer(hidden, 2)
    weights = 0.4 * np.random.default_rng(3).normal(size=v.feature_shape + h.feature_shape)
    return mpf.RBM(v, h, weights / (2 if v.unbounded and h.unbounded else 1), tau)


def parts(units):
    """(layer, its columns, its features) of what a layer is made of."""
    found, first = [], 0
    columns = getattr(units, "columns", (tuple(range(units.space.size)),))
    for part, own in zip(getattr(units, "parts", (units,)), columns, strict=True):
        found.append((part, list(own), slice(first, first + part.n_features)))
        first += part.n_features
    return found


def energy_and_features(units, x):
    """E(x) and f(x) in numpy, from the definitions."""
    energy, features = 0.0, np.zeros((*x.shape[:-1], units.n_features))
    for part, columns, place in parts(units):
        bias, own = np.asarray(part.bias, np.float64), x[..., columns]
        if isinstance(part, mpf.Gaussian | mpf.ReLU):
            variance = np.exp(np.asarray(part.log_variance, np.float64)) + part.min_variance
            centre = bias if isinstance(part, mpf.Gaussian) else 0.0
            features[..., place] = (own - centre) / variance
            bent = (own - bias) ** 2 if isinstance(part, mpf.Gaussian) else own**2 - 2 * own * bias
            energy = energy + (bent / (2 * variance)).sum(-1)
        else:
            one_hot = own[..., None] == np.arange(bias.shape[1]) if isinstance(part, mpf.Categorical) else own[..., None]
            features[..., place] = one_hot.reshape(*own.shape[:-1], -1)
            energy = energy - features[..., place] @ bias.ravel()
    return energy, features


def energy(model, v, h):
    (own_v, f_v), (own_h, f_h) = energy_and_features(model.visible, v), energy_and_features(model.hidden, h)
    return own_v + own_h - np.einsum("...a,ab,...b->...", f_v, np.asarray(model._matrix, np.float64), f_h)


def values_of(units, tau):
    """For each column, values of a unit and what each counts in a sum or integral."""
    found = [None] * units.space.size
    for part, columns, _ in parts(units):
        for i, column in enumerate(columns):
            if isinstance(part, mpf.Gaussian | mpf.ReLU):
                reach = 16 * np.sqrt(tau * float(part.variance[i]))
                nodes, weights = special.roots_legendre(140)
                low, high = (
                    (float(part.bias[i]) - reach, float(part.bias[i]) + reach) if isinstance(part, mpf.Gaussian) else (0.0, reach + 3)
                )
                found[column] = low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2
            else:
                one = type(part.space)(1, part.bias.shape[1]) if isinstance(part, mpf.Categorical) else type(part.space)(1)
                found[column] = np.asarray(one.states(jnp.arange(one.n_states)), np.float64)[:, 0], np.ones(one.n_states)
    return found


def grid(units, tau):
    """All states, or the nodes of a quadrature; and the logarithm of what each counts."""
    values = values_of(units, tau)
    states = np.stack([x.ravel() for x in np.meshgrid(*(v for v, _ in values), indexing="ij")], -1)
    weights = np.stack([x.ravel() for x in np.meshgrid(*(np.log(w) for _, w in values), indexing="ij")], -1).sum(-1)
    return states, weights


def some_states(units, n=6):
    rng = np.random.default_rng(5)
    return units.space.random_rows(rng, n).astype(np.float64)


def inner(a, b):
    return sum(jnp.sum(x * y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@cache
def compiled(visible, hidden):
    """Everything that is checked, from the parameters, tau and beta."""
    countable, full = isinstance(rbm(visible, hidden).space, Discrete), (visible, hidden) in FULL

    @jax.jit
    def everything(parameters, tau, beta, direction, v, h, changed, means, weight):
        def at(x):
            return _made(x.visible, x.hidden, x.weights, tau)

        def loss(x):
            energies = jnp.sum(at(x).free_energy(v))
            present = jnp.isfinite(weight)
            flips = jnp.where(present, at(x).flip_differences(v), 0) if countable and full else 0.0
            return energies + jnp.sum(jnp.where(present, weight, 0) * flips)

        model = at(parameters)
        value, gradient = jax.value_and_grad(loss)(parameters)
        found = {
            "energy": model.energy(v[:, None], h[None]),
            "free_energy": model.free_energy(v),
            "free_energy_of_hidden": model.transposed().free_energy(h),
            "hidden_logits": model.hidden_logits(v),
            "visible_logits": model.visible_logits(h),
            "slope": inner(gradient, direction),
            "loss": value,
        }
        if not full:
            return found
        base = model.base(means)
        rung, before = model.between(base, beta), model.between(base, 0.8 * beta)
        fields = jnp.ones((2, model.hidden.n_features)) * 0.3
        offsets = model.offsets(v)
        return found | {
            "slow": model.free_energy(v)[:, None, None] - model.free_energy(changed),
            "fast": model.flip_differences(v) if countable else 0.0,
            "base_log_partition": base.base_log_partition(),
            "base_layers": (base.visible, base.hidden),
            "rungs": [m.energy(v[:, None], h[None]) for m in (base, rung)],
            "gain": model.anneal(jax.random.key(0), base, v, 0.8 * beta, beta)[1],
            "expected_gain": before.free_energy(v) - rung.free_energy(v),
            "mean_features": model.hidden.mean_features(fields, tau),
            "slope_of_cumulant": tau * jax.grad(lambda x: jnp.sum(model.hidden.cumulant(x, tau)))(fields),
            "descent": inner(gradient, parameters.centre(gradient, offsets)),
            "still": jax.tree.leaves(parameters.centre(jax.tree.map(jnp.zeros_like, gradient), offsets)),
        }

    return everything


class Found:
    """The figures of a pair at one temperature."""

    def __init__(self, visible, hidden, tau):
        self.model, self.tau, self.beta = laws.doubled(rbm(visible, hidden, tau)), tau, 0.6
        self.v, self.h = some_states(self.model.visible), some_states(self.model.hidden, 5)
        space = self.model.space
        self.countable = isinstance(space, Discrete)
        self.changed = laws.every_other_state(self.v, space) if self.countable else self.v[:, None, None]
        self.weight = np.zeros(1)
        if self.countable:
            self.weight = np.random.default_rng(1).normal(size=(len(self.v), *space.neighbours))
            if (missing := space.missing()) is not None:
                self.weight = np.where(missing, np.inf, self.weight)  # their differences are infinite
        rows = np.concatenate([self.v, 3 * self.v] if not self.countable and space.size == 2 else [self.v])
        self.means = np.asarray(space.mean_features(rows.astype(space.dtype)))
        self.compute = compiled(visible, hidden)
        self.parameters = laws.doubled(rbm(visible, hidden))  # with the model's own tau each temperature would be compiled
        self.direction = laws.random_like(self.parameters, 7)
        vars(self).update(self.at(self.parameters))

    def at(self, parameters):
        rest = (self.direction, *(jnp.asarray(x) for x in (self.v, self.h, self.changed, self.means, self.weight)))
        return self.compute(parameters, jnp.asarray(self.tau), jnp.asarray(self.beta), *rest)

    def slope_by_differences(self, step=1e-6):
        plus, minus = (jax.tree.map(lambda x, d, s=s: x + s * step * d, self.parameters, self.direction) for s in (1, -1))
        return (self.at(plus)["loss"] - self.at(minus)["loss"]) / (2 * step)


@every_pair
def test_every_pair_obeys_the_laws_at_every_temperature(visible, hidden):
    for tau in TAUS:
        with double_precision():
            found = Found(visible, hidden, tau)
            model, v, h = found.model, found.v, found.h
            np.testing.assert_allclose(found.energy, energy(model, v[:, None], h[None]), rtol=1e-9, atol=1e-9)
            # F(v) is the marginal over h, and that of the transposed model over v
            states, weights = grid(model.hidden, tau)
            brute = -np.logaddexp.reduce(weights - energy(model, v[:, None], states[None]) / tau, axis=1)
            np.testing.assert_allclose(found.free_energy, brute, rtol=1e-7, atol=1e-7)
            states, weights = grid(model.visible, tau)
            brute = -np.logaddexp.reduce(weights - energy(model, states[None], h[:, None]) / tau, axis=1)
            np.testing.assert_allclose(found.free_energy_of_hidden, brute, rtol=1e-7, atol=1e-7)
            # the conditionals are those of the same joint distribution
            joint = -np.asarray(found.energy) / tau
            by_v = -np.asarray(found.free_energy)[:, None] + laws.log_independent(
                model.hidden.space, np.asarray(found.hidden_logits)[:, None], np.broadcast_to(h[None], (len(v), *h.shape))
            )
            by_h = -np.asarray(found.free_energy_of_hidden)[None] + laws.log_independent(
                model.space, np.asarray(found.visible_logits)[None], np.broadcast_to(v[:, None], (len(v), len(h), v.shape[1]))
            )
            np.testing.assert_allclose(by_v, joint, rtol=1e-7, atol=1e-7)
            np.testing.assert_allclose(by_h, joint, rtol=1e-7, atol=1e-7)
            # derivatives
            assert float(found.slope) == pytest.approx(float(found.slope_by_differences()), rel=1e-6, abs=1e-6)
            if (visible, hidden) not in FULL:
                continue
            np.testing.assert_allclose(found.mean_features, found.slope_of_cumulant, rtol=1e-9, atol=1e-12)
            if found.countable:
                present = np.isfinite(found.weight).reshape(np.shape(found.slow))
                fast = np.asarray(found.fast).reshape(present.shape)
                np.testing.assert_allclose(fast[present], np.asarray(found.slow)[present], rtol=1e-8, atol=1e-9)
                assert (fast[~present] == -np.inf).all()
            # the path: a solved base with the given means, mixtures of energies up to a constant, weights as defined
            log_p = weights - energy_and_features(found.base_layers[0], states)[0] / tau
            over_v = np.logaddexp.reduce(log_p)
            hidden_states, hidden_weights = grid(found.base_layers[1], tau)
            over_h = np.logaddexp.reduce(hidden_weights - energy_and_features(found.base_layers[1], hidden_states)[0] / tau)
            assert float(found.base_log_partition) == pytest.approx(over_v + over_h, rel=1e-7, abs=1e-7)
            features = np.asarray(model.space.features(jnp.asarray(states)))
            if not model.visible.unbounded:  # variances of real units have a floor
                np.testing.assert_allclose(np.tensordot(np.exp(log_p - over_v), features, 1), found.means, rtol=1e-6, atol=1e-7)
            first, middle = (np.asarray(x) for x in found.rungs)
            constant = middle - (1 - found.beta) * first - found.beta * np.asarray(found.energy)
            np.testing.assert_allclose(constant, constant[0, 0], rtol=1e-7, atol=1e-7)
            difference = np.asarray(found.gain) - np.asarray(found.expected_gain)
            np.testing.assert_allclose(difference, difference[0], rtol=1e-7, atol=1e-7)
            # centring keeps descent and stationary points
            assert float(found.descent) > 0
            assert all(not np.asarray(leaf).any() for leaf in found.still)


# block Gibbs of one layer does not depend on the other's type: each is drawn with a few
DRAWN = [
    ("Bernoulli", "Gaussian"),
    ("Spin", "ReLU"),
    ("Categorical", "Categorical"),
    ("CountableTable", "Spin"),
    ("Gaussian", "Spin"),
    ("ReLU", "Bernoulli"),
    ("Table", "Categorical"),
    ("Gaussian", "Gaussian"),
    ("ReLU", "ReLU"),
]


def exact_samples(model, n):
    """Of two real units too, by their density on a fine grid."""
    if isinstance(model.space, Discrete) or isinstance(model.hidden.space, Discrete):
        return laws.draw(model, n)
    rng = np.random.default_rng(0)
    axes, p = density(model)
    chosen = np.unravel_index(rng.choice(p.size, size=n, p=p.ravel()), p.shape)
    return np.stack([axis[i] + (axis[1] - axis[0]) * (rng.random(n) - 0.5) for axis, i in zip(axes, chosen, strict=True)], -1)


def density(model, points=301):
    axes = [np.linspace(0, 9, points) if isinstance(model.visible, mpf.ReLU) else np.linspace(-9, 9, points) for _ in range(2)]
    if isinstance(model.visible, mpf.ReLU):
        axes = [axis + (axis[1] - axis[0]) / 2 for axis in axes]  # cells that begin at zero
    v = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    log_p = -np.asarray(laws.free_energy(model, v), np.float64)
    return axes, np.exp(log_p - np.logaddexp.reduce(log_p, axis=None))


def p_value(model, v):
    if isinstance(model.space, Discrete) or isinstance(model.hidden.space, Discrete):
        return laws.p_value(model, v)
    axes, p = density(model)
    sums = np.cumsum(p.reshape(-1))  # of cells in a row: chi-square over 60 groups of them, in two directions
    found = []
    for order in (p, p.T):
        sums = np.cumsum(order.ravel())
        group = np.minimum((60 * (sums - order.ravel() / 2)).astype(int), 59)
        cell = [np.clip(np.rint((v[:, i] - axes[i][0]) / (axes[i][1] - axes[i][0])).astype(int), 0, len(axes[i]) - 1) for i in range(2)]
        index = np.ravel_multi_index(cell if order is p else cell[::-1], p.shape)
        found.append(laws.chi_square_p_value(np.bincount(group[index], minlength=60), np.bincount(group, order.ravel(), 60)))
    return 2 * min(found)


@pytest.mark.parametrize(
    ("pair", "tau"), zip(DRAWN, itertools.cycle(TAUS), strict=False), ids=lambda x: "-".join(x) if isinstance(x, tuple) else f"tau{x}"
)
def test_block_gibbs_does_not_drift(pair, tau):
    """Exact samples stay exact samples; and the path's step leaves samples of its end."""
    model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), rbm(*pair, tau))
    v = exact_samples(model, 40_000).astype(np.float32)
    assert p_value(model, v) > 1e-3
    after = np.asarray(laws.moved(jax.random.key(1), model, jnp.asarray(v), 2, block_gibbs))
    assert np.mean(v != after) > 0.1
    assert p_value(model, after) > 1e-3
    base = laws.base(model, model.space.mean_features(v.astype(model.space.dtype)))
    annealed = jax.jit(lambda m, b, v: m.anneal(jax.random.key(2), b, v, jnp.asarray(0.7), jnp.asarray(1.0))[0])(
        model, base, jnp.asarray(v)
    )
    assert p_value(model, np.asarray(annealed)) > 1e-3
