"""Unit types: what is particular to each. The laws of every pair of them are in the conformance suite."""

import equinox as eqx
import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import optimize, special, stats

import minprobflow as mpf
from minprobflow.flow.one_flip import flip_differences
from minprobflow.models.rbm import Offsets
from minprobflow.numerics import double_precision
from minprobflow.samplers import heat_bath
from minprobflow.units.relu import log_mills, mean_of_truncated, truncated_normal

RNG = np.random.default_rng(8)
SPINS = mpf.SpinRBM(0.7 * RNG.normal(size=(5, 2)), 0.3 * RNG.normal(size=5), 0.3 * RNG.normal(size=2))
HOPFIELD = mpf.RBM(
    mpf.Bernoulli(0.3 * RNG.normal(size=5)), mpf.Gaussian(RNG.normal(size=2), 0.3 * RNG.normal(size=2), 0.1), RNG.normal(size=(5, 2)), 2.0
)
TABLE = mpf.RBM(
    mpf.Mixed(mpf.Bernoulli(0.3 * RNG.normal(size=2)), mpf.Categorical(0.3 * RNG.normal(size=(2, 3))), mpf.Gaussian([1.0], [0.0], 0.1)),
    mpf.Bernoulli([0.3, -0.2]),
    RNG.normal(size=(9, 2)),
)


def test_spins_are_bits_in_other_coordinates():
    """s = 2v - 1: the same probabilities, by fast sums and by enumeration; in either layer or both."""
    for visible, hidden in ((mpf.Spin, mpf.Spin), (mpf.Spin, mpf.Bernoulli), (mpf.Bernoulli, mpf.Spin)):
        model = mpf.RBM(visible(SPINS.visible.bias), hidden(SPINS.hidden.bias), SPINS.weights, 0.7)
        states = laws.all_states(model)
        brute = special.logsumexp(-np.asarray(model.free_energy(states), np.float64))
        assert float(mpf.enumeration.log_partition(model)) == pytest.approx(brute, rel=1e-5)
        wide = model.transposed()  # more hidden than visible units
        assert float(mpf.enumeration.log_partition(wide)) == pytest.approx(brute, rel=1e-5)


@pytest.mark.parametrize("rule", ["mpf-1flip", "exact"])
def test_spins_train_like_bits(rule):
    """The steps of the centred gradient are the same in either coordinates."""
    data = laws.draw(SPINS, 300)
    W, b, c = (np.asarray(x) for x in (SPINS.weights, SPINS.visible.bias, SPINS.hidden.bias))
    bits = mpf.BernoulliRBM(4 * W, 2 * b - 2 * W.sum(1), 2 * c - 2 * W.sum(0))
    a, b = (mpf.fit(m, x, rule, epochs=3, batch_size=50).model for m, x in ((SPINS, data), (bits, (data + 1) // 2)))
    np.testing.assert_allclose(4 * a.weights, b.weights, atol=1e-3)
    assert np.abs(4 * a.weights - 4 * W).max() > 0.02
    gap = np.asarray(a.free_energy(data)) - np.asarray(b.free_energy((data + 1) // 2))
    np.testing.assert_allclose(gap, gap[0], atol=5e-3)


def test_a_gaussian_hidden_layer_is_a_hopfield_network():
    """p(v) is proportional to exp((b'v + |W'v|^2 / 2 sigma^2) / tau), whatever the hidden units' means."""
    v = np.asarray(laws.all_states(HOPFIELD), np.float64)
    b, W, s = (np.asarray(x, np.float64) for x in (HOPFIELD.visible.bias, HOPFIELD.weights, HOPFIELD.hidden.variance))
    closed = (v @ b + ((v @ W) ** 2 / s).sum(1) / 2) / 2.0 + np.log(2 * np.pi * s * 2.0).sum() / 2
    np.testing.assert_allclose(-np.asarray(HOPFIELD.free_energy(v)), closed, rtol=1e-5)
    assert mpf.log_partition(HOPFIELD, "exact").value == pytest.approx(special.logsumexp(closed), rel=1e-6)
    assert mpf.log_partition(HOPFIELD, "ais", chains=300, betas=300).value == pytest.approx(special.logsumexp(closed), abs=0.1)


@pytest.mark.parametrize("truth", [SPINS, HOPFIELD, TABLE], ids=["spin", "gaussian-hidden", "mixed"])
def test_known_parameters_are_recovered(truth):
    """Maximum likelihood from n exact samples: log p, free of the gauge of the hidden units, with errors that fall like 1/sqrt(n)."""
    with double_precision():
        truth = laws.doubled(truth)
        x_true, rebuild = ravel_pytree(truth)
        fresh = laws.draw(truth, 2000, seed=99)

        @jax.jit
        def log_p(x, rows):
            return -rebuild(x).free_energy(rows) - mpf.enumeration.log_partition(rebuild(x))

        loss = jax.jit(jax.value_and_grad(lambda x, rows: -jnp.mean(log_p(x, rows))))

        def error(n, seed):
            rows = jnp.asarray(laws.draw(truth, n, seed)).astype(float)
            start = x_true + 0.1 * np.random.default_rng(seed).normal(size=x_true.shape)
            found = optimize.minimize(lambda x: [np.asarray(y) for y in loss(x, rows)], start, jac=True, method="BFGS").x
            return np.sqrt(np.mean((log_p(found, fresh) - log_p(x_true, fresh)) ** 2))

        sizes = np.asarray([1_000, 30_000])
        errors = [np.mean([error(n, seed) for seed in range(3)]) for n in sizes]
    assert np.diff(np.log(errors)) / np.diff(np.log(sizes)) == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.05


@pytest.mark.parametrize(
    ("truth", "rule", "rate"),
    [(HOPFIELD, "mpf-1flip", 0.1), (HOPFIELD, "pcd", None), (TABLE, "fpmpf", None)],
    ids=["hopfield-1flip", "hopfield-pcd", "table-fpmpf"],
)
def test_training_raises_the_exact_likelihood(truth, rule, rate):
    data = laws.draw(truth, 1000)
    start = jax.tree.map(lambda x: 0.5 * x + 0.05, truth)
    trained = mpf.fit(start, data, rule, epochs=30, batch_size=50, **({} if rate is None else {"learning_rate": rate})).model
    before, after, best = (mpf.log_likelihood(model, data, "exact").value for model in (start, trained, truth))
    assert best - after < 0.5 * (best - before) and best - before > 0.03


def test_a_distribution_without_a_normaliser_is_refused():
    real, rectified, bits = mpf.Gaussian([0.0], [0.0], 0.0), mpf.ReLU([0.0], [0.0], 0.0), mpf.Bernoulli([0.0])
    wide = mpf.Gaussian([0.0], [np.log(4.0)], 0.0)
    for visible, hidden in ((real, real), (real, rectified), (rectified, rectified), (mpf.Mixed(bits, real), real), (wide, real)):
        weight = np.ones(visible.feature_shape + hidden.feature_shape) * (2 if visible is wide else 1)
        mpf.RBM(visible, hidden, 0.9 * weight)
        with pytest.raises(mpf.InputError, match=r"no normalisable distribution.*singular value.* 1\.1, .*smaller weights"):
            mpf.RBM(visible, hidden, 1.1 * weight)
    mpf.RBM(rectified, rectified, [[-5.0]])  # units that are not negative may inhibit each other
    mpf.RBM(bits, real, [[5.0]])
    improper = eqx.tree_at(lambda m: m.weights, mpf.RBM(real, real, [[0.9]]), jnp.asarray([[1.2]]))  # as training could leave it
    with pytest.raises(mpf.InputError, match="no normalisable"):
        mpf.sample(improper, n=2, steps=1)


def test_truncated_gaussians_are_stable_in_single_precision():
    z = np.concatenate([np.linspace(-40, 40, 801), [-1e3, -1e5, 1e3]])
    below = np.log(special.erfcx(-np.minimum(z, 5) / np.sqrt(2)) * np.sqrt(np.pi / 2))
    log_integral = np.where(z < 5, below, z**2 / 2 + special.log_ndtr(z) + np.log(2 * np.pi) / 2)
    np.testing.assert_allclose(log_mills(jnp.asarray(z, jnp.float32)), log_integral, rtol=2e-6, atol=2e-6)
    nodes, weights = special.roots_legendre(300)
    scale = np.maximum(1, -z)[:, None]
    t = (nodes + 1) / 2 * np.where(z < 0, 60, z + 12)[:, None] / scale
    p = np.exp(z[:, None] * t - t**2 / 2 - np.maximum(z, 0)[:, None] ** 2 / 2) * weights
    mean = (p * t).sum(1) / p.sum(1)
    narrow = z < 100  # the nodes miss a peak that is far away
    np.testing.assert_allclose(mean_of_truncated(jnp.asarray(z, jnp.float32))[narrow], mean[narrow], rtol=3e-5)
    np.testing.assert_allclose(jax.vmap(jax.grad(log_mills))(jnp.asarray(z, jnp.float32))[narrow], mean[narrow], rtol=3e-5)


@pytest.mark.parametrize("z", [-300.0, -6.0, -4.9, 0.0, 3.0])
def test_truncated_gaussians_are_sampled_exactly(z):
    drawn = np.asarray(truncated_normal(jax.random.key(1), jnp.full(100_000, z)), np.float64)
    assert drawn.min() >= 0
    assert stats.kstest(drawn, lambda t: 1 - np.exp(special.log_ndtr(z - t) - special.log_ndtr(z))).pvalue > 1e-3


def test_units_fitted_to_data_have_its_means():
    """Layers of all kinds at a temperature: with zero weights, the means of features are those of the data."""
    rng, tau = np.random.default_rng(0), 2.0
    table = np.stack([rng.integers(2, size=500), rng.integers(4, size=500), rng.gamma(4.0, size=500), rng.normal(3, 2, size=500)], 1)
    space = mpf.Columns((mpf.Binary(1), mpf.Categories(1, 4), mpf.NonNegative(1), mpf.Real(1)))
    layer = space.layer(table, tau)
    zeros = jnp.zeros(layer.n_features)
    bit, letter, positive, real = table.T
    expected = [bit.mean(), *(np.bincount(letter.astype(int)) / 500), positive.mean(), real.mean()]
    np.testing.assert_allclose(layer.mean(zeros, tau), expected, rtol=5e-3)
    drawn = np.asarray(layer.sample(jax.random.key(0), jnp.zeros((40_000, layer.n_features)), tau))
    np.testing.assert_allclose(drawn[:, 2:].std(0), [positive.std(), real.std()], rtol=0.02)


def test_spins_fitted_to_data_have_its_means():
    rows = np.where(np.random.default_rng(0).random((500, 3)) < [0.2, 0.5, 0.9], 1, -1)
    layer = mpf.Signs(3).layer(rows, tau=2.0)
    np.testing.assert_allclose(layer.mean(jnp.zeros(3), 2.0), rows.sum(0) / 501, rtol=1e-5)  # half a row of each sign is added


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_the_base_of_real_units_has_the_moments_of_the_data(tau):
    """Unless those vary less than the units do by themselves: no variance of the base is below theirs."""
    gamma = np.random.default_rng(0).gamma(4.0, size=(500, 2)).astype(np.float32)
    for family, space in ((mpf.Gaussian, mpf.Real(2)), (mpf.ReLU, mpf.NonNegative(2))):
        units = family(np.zeros(2), np.log([0.1, 50.0]), 0.0)
        base = units.base(jnp.asarray(space.mean_features(gamma), jnp.float32), tau)
        drawn = np.asarray(base.sample(jax.random.key(0), jnp.zeros((100_000, 2)), tau))
        assert drawn[:, 0].mean() == pytest.approx(gamma[:, 0].mean(), rel=0.02)
        assert drawn[:, 0].std() == pytest.approx(gamma[:, 0].std(), rel=0.02)
        assert float(base.variance[1]) == pytest.approx(50, rel=1e-4)


def test_steps_of_real_units_are_never_longer_than_their_variance():
    """Where the other layer predicts a unit they are shorter, by the share of its variance in how far the data lie."""
    units = mpf.Gaussian([0.0, 0.0], np.log([3.0, 3.0]), 0.0)
    np.testing.assert_allclose(units.stride(jnp.asarray([60.0, 0.1]), 2.0), [0.3, 3.0], rtol=1e-5)


@pytest.mark.parametrize("hidden", [mpf.Bernoulli([0.3]), mpf.Spin([0.3]), mpf.Categorical([[0.1, 0.5, -0.4]])], ids=lambda x: x.kind)
def test_in_centred_coordinates_weights_do_not_move_the_hidden_units(hidden):
    """Of one hidden unit on real ones, p(h) is that of its bias alone, whatever the weights, variances and origins are."""
    with double_precision():
        hidden, rng = laws.doubled(hidden), np.random.default_rng(0)
        visible = laws.doubled(mpf.Gaussian(rng.normal(size=4), rng.normal(size=4), 0.1))
        weights = rng.normal(size=visible.feature_shape + hidden.feature_shape)
        origin = jnp.asarray(rng.normal(size=hidden.n_features))
        plain = mpf.RBM(visible, hidden, weights)._from_centred(Offsets(jnp.zeros(4), origin, None))
        states = hidden.space.states(jnp.arange(hidden.space.n_states)).astype(float)
        log_p = -np.asarray(plain.transposed().free_energy(states))
        expected = -np.asarray(hidden.energy(states))
        np.testing.assert_allclose(log_p - log_p[0], expected - expected[0], atol=1e-9)


def test_columns_of_one_kind_are_drawn_independently():
    layer = mpf.Mixed(mpf.Bernoulli(np.zeros(2)), mpf.Bernoulli(np.zeros(2)), mpf.Gaussian(np.zeros(2)), mpf.Gaussian(np.zeros(2)))
    drawn = np.asarray(layer.sample(jax.random.key(0), jnp.zeros((20_000, 8)), 1.0))
    assert np.abs(np.corrcoef(drawn.T) - np.eye(8)).max() < 0.04


def test_kinds_of_columns_at_their_limits():
    whole = np.arange(33)
    columns = {"categories": np.minimum(whole, 31), "real": whole, "negative": whole - 1, "halves": whole / 2, "spins": 2 * (whole % 2) - 1}
    kinds = mpf.units.kinds_of_columns(np.stack(list(columns.values()), 1))
    assert kinds.parts == (mpf.Categories(1, 32), mpf.Real(3), mpf.Signs(1)) and kinds.columns == ((0,), (1, 2, 3), (4,))


def test_a_table_of_mixed_columns_goes_all_the_way(tmp_path):
    """Kinds told from the data, in the table's own order of columns: training, likelihood, sampling, imputation, files."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=400)
    real = rng.normal(3.0 * hidden, 0.7)
    bit, letter = (rng.random(400) < 0.1 + 0.8 * hidden).astype(float), np.where(rng.random(400) < 0.8, 2 * hidden, 1)
    rows = np.stack([real, bit, letter, 1 - bit], 1)
    model = mpf.MixedRBM.init(0, None, n_hidden=2, data=rows)
    assert model.space.columns == ((0,), (1, 3), (2,)) and model.space.parts[2] == mpf.Categories(1, 3)
    trained = mpf.fit(model, rows, "pcd", epochs=40, batch_size=40).model
    found = [mpf.log_likelihood(m, rows, "exact").value for m in (model, trained)]
    assert found[1] > found[0] + 1
    drawn = mpf.sample(trained, n=2000, steps=50)
    assert set(np.unique(drawn[:, 1])) == {0, 1} and set(np.unique(drawn[:, 2])) == {0, 1, 2}
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] > 0.3
    gaps = rows[:6].copy()
    gaps[0, 2] = gaps[1, 0] = np.nan
    filled = mpf.impute(trained, gaps, steps=40, burn_in=10)
    assert filled[0, 2] in (0, 1, 2) and np.isfinite(filled).all()
    mpf.save(trained, tmp_path / "table.safetensors")
    np.testing.assert_array_equal(mpf.load(tmp_path / "table.safetensors").free_energy(rows), trained.free_energy(rows))


def test_columns_with_few_values_among_columns_with_many():
    """Neighbours, flips and the heat bath of units that differ in their number of values."""
    table = mpf.Mixed(mpf.Spin([0.3]), mpf.Categorical([[0.1, 0.5, -0.4]]), mpf.Bernoulli([0.2]), columns=((1,), (2,), (0,)))
    model = mpf.RBM(table, mpf.Bernoulli([0.1]), np.ones((5, 1)))
    space, v = model.space, laws.all_states(model)
    assert space.n_states == 12 and space.neighbours == (3, 2)
    slow = flip_differences(mpf.EnergyModel(lambda m, v: m.free_energy(v), model, space), v)
    np.testing.assert_allclose(model.flip_differences(v), slow, atol=1e-5)
    assert np.isneginf(np.asarray(slow)).sum() == 12 * 2  # the second other value of two of the units
    exact = laws.draw(model, 30_000).astype(np.float32)
    assert laws.p_value(model, laws.moved(jax.random.key(0), model, jnp.asarray(exact), 2, heat_bath)) > 1e-3
    pseudo = mpf.log_likelihood(model, np.asarray(v), "pseudo")
    energies = np.asarray(model.free_energy(laws.every_other_state(v, space)), np.float64)
    present = ~np.isneginf(np.asarray(slow))
    odds = np.where(present, np.exp(np.asarray(model.free_energy(v), np.float64)[:, None, None] - energies), 0).sum(-1)
    assert pseudo.value == pytest.approx(-np.log1p(odds).sum(1).mean(), rel=1e-5)
    trained = mpf.fit(jax.tree.map(lambda x: 0.3 * x, model), exact, "mpf-1flip", epochs=3, batch_size=100).model
    assert np.isfinite(mpf.log_likelihood(trained, exact).value)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: mpf.Signs(2).check([[0, 1]]), r"spins are -1 or \+1: turn 0/1 into -1/\+1"),
        (lambda: mpf.Signs(2).check([[0.5, 1]]), "np.where"),
        (lambda: mpf.Binary(2).check([[-1, 1]]), "mpf.SpinRBM"),
        (lambda: mpf.NonNegative(2).check([[-1, 1]]), "not negative"),
        (lambda: mpf.Columns((mpf.Binary(1), mpf.Real(1))).check([[2, 0.5]]), r"columns 0, counted.* must be binary"),
        (lambda: mpf.Columns((mpf.Binary(1), mpf.Real(1))).check([[1]]), "1 columns but the model has 2"),
        (lambda: mpf.Columns(()), "made of unit types"),
        (lambda: mpf.Columns((mpf.Binary(1), mpf.Real(1)), ((0,), (0,))), "do not share out 2 columns"),
        (mpf.Mixed, "layers side by side"),
        (lambda: mpf.MixedRBM.init(0, None, 3), "columns=None without data"),
        (lambda: mpf.Categorical([[1.0]]), "at least two values"),
        (lambda: mpf.Gaussian([[1.0]]), r"shape \(1, 1\)"),
        (lambda: mpf.Gaussian([1.0], [1.0, 2.0]), "do not fit"),
        (lambda: mpf.ReLU([1.0], min_variance=-1.0), "min_variance"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(use, message):
    with pytest.raises(mpf.InputError, match=message):
        use()
