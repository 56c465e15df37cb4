"""Convex fits of Potts models: units with more than two values, and parameters that are not unique."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.train import convex

RULES = ("mpf-1flip", "pseudo-likelihood")
TRUTH = next(model for name, model in laws.MODELS.items() if name.startswith("Potts") and model.tau == 2)
STATES = np.asarray(laws.all_states(TRUTH), np.uint8)
DATA = laws.draw(TRUTH, 3000)


def start(data=None, tau=1.0):
    return mpf.Potts.init(5, 3, data, tau)


@pytest.mark.parametrize("rule", RULES)
def test_known_couplings_are_recovered(rule):
    """Of all states, each counted by its probability: the minimum is the truth, in whatever gauge."""
    fit = mpf.fit_convex(start(tau=TRUTH.tau), STATES, rule, counts=laws.probabilities(TRUTH), tolerance=1e-8)
    assert fit.converged and fit.iterations < 100 and fit.unique_rows == len(STATES)
    found, expected = fit.model.zero_sum(), TRUTH.zero_sum()
    np.testing.assert_allclose(found.couplings, expected.couplings, atol=1e-4)
    np.testing.assert_allclose(found.fields, expected.fields, atol=1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_the_minimum_is_where_training_ends(rule):
    """All rows in one batch and a constant rate: plain descent on the rule's own loss with the same penalty."""
    rows, rate, l2 = DATA[:600], {"pseudo-likelihood": 1.0, "mpf-1flip": 10.0}[rule], 0.02
    descent = mpf.fit(start(rows), rows, rule, epochs=400, batch_size=len(rows), learning_rate=lambda step: rate, l2=l2).model
    fit = mpf.fit_convex(start(), rows, rule, l2=l2)
    assert fit.converged and fit.iterations < 50
    np.testing.assert_allclose(fit.model.couplings, descent.couplings, atol=1e-3)
    np.testing.assert_allclose(fit.model.zero_sum().fields, descent.zero_sum().fields, atol=1e-3)
    loss = mpf.rule(rule).build(len(rows)).loss(fit.model, (), jnp.asarray(rows).astype(float))[0]
    assert fit.objective == pytest.approx(float(loss) + l2 * float(jnp.sum(fit.model.couplings**2)), rel=1e-5)


def test_a_penalty_chooses_the_gauge_of_smallest_couplings():
    """Whatever the gauge of the start: with L2 the couplings sum to zero over each unit's values."""
    begins = start(), TRUTH, TRUTH.zero_sum()
    for begin in begins:
        model = mpf.fit_convex(mpf.Potts(begin.fields, begin.couplings), DATA, l2=1e-3, tolerance=1e-7).model
        np.testing.assert_allclose(model.couplings, model.zero_sum().couplings, atol=1e-4)
        np.testing.assert_allclose(model.couplings, mpf.fit_convex(start(DATA), DATA, l2=1e-3).model.couplings, atol=1e-3)


def test_rows_with_many_values_are_counted_right():
    rows = np.random.default_rng(0).integers(21, size=(30, 11), dtype=np.uint8)
    distinct, share = convex.counted(np.repeat(rows, 2, axis=0), None)
    assert len(distinct) == 30 and np.allclose(share, 1 / 30)
    np.testing.assert_array_equal(np.unique(distinct, axis=0), np.unique(rows, axis=0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", [TRUTH, mpf.Ising.examples()[2]], ids=["Potts", "Ising"])
def test_the_scale_is_the_hessian_of_each_parameter(rule, model, float64):
    """At independent units: second differences of what is averaged; of pseudo-likelihoods it is larger, by what other values share."""
    spec, n = mpf.rule(rule), model.space.size
    rows = np.asarray(laws.all_states(model), np.uint8)[::3]
    share = np.random.default_rng(0).dirichlet(np.ones(len(rows)))
    problem = convex._Problem(laws.doubled(model), rows, share, spec, 0.0, 0.0)
    like, mean, v = problem.given, problem.mean, jnp.asarray(rows).astype(float)

    def averaged(x):
        flow, _ = spec.connectivity().flow(convex._plain(x, like, mean), (), v)
        return share @ spec.objective().averaged(flow)

    at = jnp.asarray(problem.independent)
    exact = np.diagonal(jax.jit(jax.hessian(averaged))(at)) * float(jax.grad(spec.objective().of_mean)(averaged(at)))
    used = np.divide(1, problem.scale, out=np.zeros_like(problem.scale), where=problem.scale > 0)
    live = exact > 1e-12
    assert live.sum() >= n and not used[~live].any()
    assert np.all(used[live] >= exact[live] * (1 - 1e-9)) and np.all(used[live] <= 4 * exact[live])
