"""Theorem 1: detailed balance for every odd function, and what it does not promise."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.connectivity.one_flip import flip_differences
from minprobflow.rates import log_rate, odd_function

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
