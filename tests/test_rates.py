"""Theorem 1: detailed balance for every odd function, and what it does not promise."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.flow.one_flip import flip_differences
from minprobflow.flow.rates import log_rate, odd_function

ODD = ["zero", "sign", "tanh", lambda x: jnp.clip(x**3, -1, 1)]
rbm = pytest.mark.parametrize("model", [m for name, m in laws.MODELS.items() if name.startswith("RBM")], ids=["0.5", "1", "2"])


@pytest.mark.parametrize("o", ODD)
@rbm
def test_detailed_balance(model, o, float64):
    """Gamma_ij p_j = Gamma_ji p_i for every pair of states."""
    f = np.asarray(laws.doubled(model).free_energy(laws.all_states(model)))
    log_gamma = np.asarray(log_rate(jnp.asarray(f[None, :] - f[:, None]), odd_function(o)))  # [i, j]: from j to i
    flow = log_gamma - f[None, :]
    np.testing.assert_allclose(flow, flow.T, atol=1e-10)


def test_rates_by_hand():
    """sign gives Metropolis' min(1, p_i/p_j): the sign of o's argument matters, and detailed balance cannot see it."""
    d = jnp.asarray([-3.0, -0.5, 0.0, 2.0])
    np.testing.assert_allclose(log_rate(d), d / 2)
    np.testing.assert_allclose(log_rate(d, odd_function("sign")), np.minimum(d, 0))
    np.testing.assert_allclose(log_rate(d, odd_function("tanh")), (1 - np.tanh(d)) / 2 * d, rtol=1e-6)


@pytest.mark.parametrize("o", ODD[1:])
def test_o_reaches_training_and_its_metrics(o):
    model = laws.MODELS["RBM-1-tau1.0"]
    data = laws.draw(model, 100)
    settings = {"epochs": 1, "batch_size": 100, "learning_rate": 1.0}
    with_o, plain = (mpf.fit(model, data, mpf.MPF1Flip(o=choice), **settings) for choice in (o, "zero"))
    assert not np.allclose(with_o.model.weights, plain.model.weights, atol=1e-4)
    record = with_o.history[0]
    assert record["log_flow"] == pytest.approx(record["objective"], rel=1e-6)
    expected = jnp.mean(jnp.sum(jnp.exp(log_rate(flip_differences(model, jnp.asarray(data).astype(float)), odd_function(o))), 1))
    assert record["objective"] == pytest.approx(float(jnp.log(expected)), rel=1e-4)


def gradient_norm_at_truth(model, o):
    """Of J over all states weighted by their probability: infinite data."""
    states, p = laws.all_states(model).astype(float), jnp.asarray(laws.probabilities(model))

    def flow(m):
        return jnp.sum(p[:, None] * jnp.exp(log_rate(flip_differences(m, states), odd_function(o))))

    return float(jnp.sqrt(mpf.numerics.squared_norm(jax.grad(flow)(model))))


@rbm
def test_objective_is_stationary_at_the_truth_for_o_zero_only(model, float64):
    model = laws.doubled(model)
    assert gradient_norm_at_truth(model, "zero") < 1e-12
    assert gradient_norm_at_truth(model, "tanh") > 1e-3
    assert gradient_norm_at_truth(model, "sign") > 1e-3


def test_rates_do_not_overflow():
    model = mpf.RBM(jnp.full((4, 2), 300.0), jnp.zeros(4), jnp.zeros(2))
    for o in ODD:
        rule = mpf.MPF1Flip(o=o).build(4)
        loss, _ = rule.loss(model, (), jnp.eye(4))
        assert np.isfinite(float(loss))


def test_odd_functions_are_checked():
    with pytest.raises(mpf.InputError, match="not odd"):
        mpf.MPF1Flip(o=lambda x: x**2)
    with pytest.raises(mpf.InputError, match="zero, sign, tanh"):
        mpf.MPF1Flip(o="cosine")
