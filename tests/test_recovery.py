"""Consistency: MPF-1flip and the exact rule recover known parameters, with error shrinking like 1/sqrt(n)."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.scipy.special import logsumexp
from scipy import optimize

import minprobflow as mpf

SIZES = np.asarray([10**5, 10**6, 10**7])  # large enough that errors are linear in the noise
REPEATS = 8


def pairwise(params, v):
    couplings = jnp.zeros((4, 4), v.dtype).at[jnp.triu_indices(4, 1)].set(params["couplings"])
    return -(params["fields"] @ v) - v @ couplings @ v


def ising():
    couplings = np.random.default_rng(1).normal(scale=0.8, size=6)
    return mpf.EnergyModel(pairwise, {"fields": jnp.asarray([0.3, -0.5, 0.2, -0.1]), "couplings": jnp.asarray(couplings)}, 4)


def rbm():
    """One hidden unit with strong weights: the parameters are well determined by the distribution."""
    return mpf.RBM([[4.0], [-3.0], [3.6], [4.4], [-4.0]], [-2.0, 1.0, -1.6, -2.4, 2.0], [0.2], tau=2.0)


def objective(rule, model, states, share):
    """The rule's objective when each state makes up this share of the data: no need to list a million rows."""
    if rule == "exact":
        return share @ model.free_energy(states) + mpf.enumeration.log_partition(model)
    flow, _ = mpf.flow.one_flip().flow(model, (), states)
    return logsumexp(flow.log_outflow(), b=share)


@pytest.mark.parametrize("rule", ["mpf-1flip", "exact"])
def test_the_objective_is_the_rules_own(rule, float64):
    truth = ising()
    data = laws.draw(truth, 500)
    listed = mpf.rule(rule).build(500).loss(truth, (), jnp.asarray(data).astype(float))[0]
    counted = objective(rule, truth, laws.all_states(truth).astype(float), jnp.asarray(laws.state_counts(data) / 500))
    assert float(listed) == pytest.approx(float(counted), rel=1e-12)


@pytest.mark.parametrize("truth", [ising, rbm])
@pytest.mark.parametrize("rule", ["mpf-1flip", "exact"])
def test_error_shrinks_like_one_over_sqrt_n(rule, truth, float64):
    truth = laws.doubled(truth())
    x_true, rebuild = ravel_pytree(truth)
    states = laws.all_states(truth).astype(float)
    value = jax.jit(jax.value_and_grad(lambda x, share: objective(rule, rebuild(x), states, share)))
    rng = np.random.default_rng(0)

    def error(n):
        share = jnp.asarray(rng.multinomial(n, laws.probabilities(truth)) / n)
        loss = lambda x: [np.asarray(y) for y in value(x, share)]  # noqa: E731
        found = optimize.minimize(loss, np.asarray(x_true), jac=True, method="BFGS", options={"gtol": 1e-9})
        return np.sqrt(np.mean((found.x - x_true) ** 2))

    errors = [np.mean([error(n) for _ in range(REPEATS)]) for n in SIZES]
    slope = np.polyfit(np.log(SIZES), np.log(errors), 1)[0]
    # a mean of 8 errors has a relative spread of about 0.3/sqrt(8) = 0.1, so the slope over two decades 0.1*sqrt(2)/4.6 = 0.03
    assert slope == pytest.approx(-0.5, abs=0.12)
    assert errors[-1] < 0.03
