"""Exact log Z and its gradient against brute force in float64."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.likelihood import exact_log_partition, exact_log_partition_and_gradient
from minprobflow.numerics import double_precision


def brute_force(model):
    """log Z over all joint states of an RBM, in numpy's float64; and E[v h'], E[v], E[h], all divided by tau."""
    w, b, c = (np.asarray(x, np.float64) for x in (model.weights, model.visible_bias, model.hidden_bias))
    v, h = (np.asarray([[i >> j & 1 for j in range(n)] for i in range(2**n)], np.float64) for n in w.shape)
    log_p = (v @ w @ h.T + (v @ b)[:, None] + (h @ c)[None]) / model.tau
    log_z = np.logaddexp.reduce(np.sort(log_p.ravel()))
    p = np.exp(log_p - log_z)
    return log_z, (v.T @ p @ h / model.tau, p.sum(1) @ v / model.tau, p.sum(0) @ h / model.tau)


def random_rbm(n_visible, n_hidden, scale, tau, seed=0):
    rng = np.random.default_rng(seed)
    return mpf.BernoulliRBM(
        *(rng.normal(scale=scale, size=s).astype(np.float32) for s in ((n_visible, n_hidden), n_visible, n_hidden)), tau
    )


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 300.0])
@pytest.mark.parametrize(
    ("shape", "tau"),  # each pair is compiled; scales are not
    [((5, 3), 0.5), ((5, 3), 1.0), ((5, 3), 2.0), ((3, 5), 0.5), ((3, 5), 2.0), ((10, 9), 2.0), ((9, 10), 0.5), ((1, 1), 2.0)],
)
def test_log_partition_and_gradient_equal_brute_force(shape, tau, scale):
    model = random_rbm(*shape, scale, tau)
    expected, moments = brute_force(model)
    assert exact_log_partition(model) == pytest.approx(expected, rel=1e-12)
    value, gradient = exact_log_partition_and_gradient(model)
    assert value == pytest.approx(expected, rel=1e-12)
    for found, wanted in zip((gradient.weights, gradient.visible_bias, gradient.hidden_bias), moments, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_gradient_over_several_blocks_equals_brute_force():
    """13 hidden units: 32 high parts, in two blocks. All of h are listed, and v summed out for each."""
    model = random_rbm(14, 13, 0.5, 2.0)
    w, b, c = (np.asarray(x, np.float64) / model.tau for x in (model.weights, model.visible_bias, model.hidden_bias))
    h = np.asarray([[i >> j & 1 for j in range(13)] for i in range(2**13)], np.float64)
    logits = h @ w.T + b
    log_p = h @ c + np.logaddexp(0, logits).sum(1)
    log_z = np.logaddexp.reduce(np.sort(log_p))
    p, on = np.exp(log_p - log_z), 1 / (1 + np.exp(-logits))
    value, gradient = exact_log_partition_and_gradient(model)
    assert value == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(gradient.weights, (on * p[:, None]).T @ h / model.tau, rtol=1e-9)
    np.testing.assert_allclose(gradient.visible_bias, p @ on / model.tau, rtol=1e-9)
    np.testing.assert_allclose(gradient.hidden_bias, p @ h / model.tau, rtol=1e-9)


def test_factors_too_small_for_single_precision_are_not_lost():
    """exp(-89) is no normal float32, and yet exp(-89) exp(83) counts: nine hidden units, of which the last is the high part."""
    weights = np.zeros((16, 9), np.float32)
    weights[:, 8] = 83.0
    model = mpf.BernoulliRBM(weights, np.full(16, -89.0, np.float32), np.zeros(9, np.float32))
    expected = 8 * np.log(2) + np.log(1 + (1 + np.exp(-6.0)) ** 16)  # with h_9 = 0 the visible units are off
    value, gradient = jax.jit(jax.value_and_grad(mpf.enumeration.log_partition))(model)
    assert float(value) == pytest.approx(expected, abs=1e-4)
    on = (1 + np.exp(-6.0)) ** 16 / (1 + (1 + np.exp(-6.0)) ** 16) / (1 + np.exp(6.0))
    np.testing.assert_allclose(gradient.visible_bias, on, rtol=1e-3)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 300.0])
def test_single_precision_is_good_to_single_precision(scale):
    model = random_rbm(10, 9, scale, 1.0)
    expected, moments = brute_force(model)
    value, gradient = jax.jit(jax.value_and_grad(mpf.enumeration.log_partition))(model)
    assert value.dtype == jnp.float32
    assert float(value) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient.weights, moments[0], atol=2e-4 * max(1.0, scale / 10))


@pytest.mark.parametrize("name", laws.COUNTABLE)
def test_every_model_can_be_enumerated(name):
    model = laws.MODELS[name]
    with double_precision():
        f = np.asarray(laws.doubled(model).free_energy(laws.all_states(model)))
    assert exact_log_partition(model) == pytest.approx(np.logaddexp.reduce(-f), rel=1e-12)


def test_many_slabs_and_progress():
    """2^21 states by the generic way and by the factored one; progress ends at one."""
    model = random_rbm(21, 22, 0.3, 1.0)
    shares = []
    value = exact_log_partition(model, shares.append)
    assert shares[-1] == 1.0 and len(shares) > 1 and shares == sorted(shares)
    generic = mpf.EnergyModel(lambda p, v: p.free_energy(v), model, 21)
    assert exact_log_partition(generic) == pytest.approx(value, rel=1e-11)


def test_replicas_can_be_enumerated_at_once():
    models = [random_rbm(6, 4, scale, 1.0, seed=i) for i, scale in enumerate((0.5, 200.0, 1.0))]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *models)
    together = jax.vmap(mpf.enumeration.log_partition)(stacked)
    np.testing.assert_allclose(together, [exact_log_partition(m) for m in models], rtol=1e-5)


def test_too_many_units_are_refused():
    with pytest.raises(mpf.InputError, match=r"2\^26"):
        mpf.log_partition(mpf.BernoulliRBM.init(0, 26, 30), "exact")
