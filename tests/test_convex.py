"""Convex fits: they reach the minimum that an independent minimiser finds, with and without penalties."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from benchmarks import consistency
from benchmarks import ising as benchmark
from scipy import optimize

import minprobflow as mpf
from minprobflow.data import datasets
from minprobflow.train import convex
from minprobflow.train.owlqn import minimise, pseudo_gradient

OBJECTIVES = ("mpf-1flip", "pseudo-likelihood")
TRUTH = mpf.Ising.from_spins(np.triu(np.random.default_rng(3).normal(scale=0.3, size=(6, 6)), 1), [0.2, -0.3, 0.1, 0.4, -0.2, 0.0])
DATA = laws.draw(TRUTH, 2000)


def by_scipy(objective, rows, l2=0.0):
    """The minimum in (fields, upper triangle) over all rows."""
    function = benchmark.scipy_objective(objective, rows, np.full(len(rows), 1 / len(rows)))
    n = rows.shape[1]

    def penalised(x):
        value, gradient = function(x)
        return value + l2 * np.sum(x[n:] ** 2), gradient + 2 * l2 * np.concatenate([np.zeros(n), x[n:]])

    found = optimize.minimize(penalised, np.zeros(n + n * (n - 1) // 2), jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.x, found.fun


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_minimum_is_that_of_scipy(objective, l2):
    fit = mpf.fit_convex(mpf.Ising.init(6, DATA), DATA, objective, l2=l2)
    expected, value = by_scipy(objective, DATA, l2)
    assert fit.converged and fit.gradient_norm <= 1e-5 and fit.iterations < 30
    np.testing.assert_allclose(benchmark.vector(fit.model), expected, atol=1e-4)
    assert fit.objective == pytest.approx(value, rel=1e-9)
    assert fit.unique_rows == len(np.unique(DATA, axis=0)) < len(DATA)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_temperature_scales_the_parameters(objective):
    cold, hot = (mpf.fit_convex(mpf.Ising.init(6, DATA, tau), DATA, objective).model for tau in (1.0, 2.0))
    np.testing.assert_allclose(2 * cold.couplings, hot.couplings, atol=1e-4)
    np.testing.assert_allclose(2 * cold.fields, hot.fields, atol=1e-4)


def test_the_objective_is_that_of_the_rule():
    """log J of MPF-1flip, and the pseudo-likelihood that the library reports."""
    fit = mpf.fit_convex(mpf.Ising.init(6, DATA), DATA)
    log_flow = mpf.rule("mpf-1flip").build(len(DATA)).loss(fit.model, (), jnp.asarray(DATA).astype(float))[0]
    assert fit.objective == pytest.approx(float(log_flow), rel=1e-6)
    fit = mpf.fit_convex(mpf.Ising.init(6, DATA), DATA, "pseudo-likelihood")
    assert fit.objective == pytest.approx(-mpf.log_likelihood(fit.model, DATA, "pseudo").value, rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_l1_meets_the_conditions_of_a_minimum(objective):
    """Of each coupling: the gradient balances the penalty, or the coupling is zero and the gradient is smaller than it."""
    l1 = 0.01
    fit = mpf.fit_convex(mpf.Ising.init(6, DATA), DATA, objective, l1=l1, tolerance=1e-7)
    x = benchmark.vector(fit.model)
    _, gradient = benchmark.scipy_objective(objective, DATA, np.full(len(DATA), 1 / len(DATA)))(x)
    fields, pairs, at_zero = gradient[:6], gradient[6:], x[6:] == 0
    assert fit.converged and 0 < at_zero.sum() < 15
    np.testing.assert_allclose(fields, 0, atol=1e-6)
    np.testing.assert_allclose(pairs[~at_zero], -l1 * np.sign(x[6:][~at_zero]), atol=1e-6)
    assert np.all(np.abs(pairs[at_zero]) <= l1 + 1e-6)


def test_a_strong_l1_leaves_independent_units():
    fit = mpf.fit_convex(mpf.Ising(0.3 * (1 - np.eye(6)), np.zeros(6)), DATA, l1=10.0)
    assert fit.converged and not np.any(fit.model.pairs)
    np.testing.assert_allclose(mpf.moments(fit.model).mean, DATA.mean(0), atol=1e-4)


def test_counts_stand_for_repeated_rows():
    rows, counts = np.unique(DATA, axis=0, return_counts=True)
    one, other = mpf.fit_convex(mpf.Ising.init(6), DATA).model, mpf.fit_convex(mpf.Ising.init(6), rows, counts=counts).model
    np.testing.assert_allclose(one.couplings, other.couplings, atol=1e-6)
    for wrong in (counts[:-1], -counts, 0 * counts):
        with pytest.raises(mpf.InputError, match="counts"):
            mpf.fit_convex(mpf.Ising.init(6), rows, counts=wrong)


def test_rows_in_many_blocks_and_wide_rows_arecounted_right(monkeypatch):
    expected = mpf.fit_convex(mpf.Ising.init(6), DATA).model
    monkeypatch.setattr(convex, "ENTRIES", 6 * 7)  # blocks of 7 rows, the last one padded
    np.testing.assert_allclose(mpf.fit_convex(mpf.Ising.init(6), DATA).model.couplings, expected.couplings, atol=1e-6)
    wide = np.random.default_rng(0).integers(2, size=(20, 70), dtype=np.uint8)
    rows, share = convex.counted(np.repeat(wide, 3, axis=0), None)
    assert len(rows) == 20 and np.allclose(share, 1 / 20)
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(wide, axis=0))


def test_the_start_does_not_matter():
    starts = (mpf.Ising.init(6), mpf.Ising.init(6, DATA), TRUTH, mpf.Ising(2 * (1 - np.eye(6)), -3 * np.ones(6)))
    fits = [mpf.fit_convex(start, DATA, tolerance=1e-7) for start in starts]
    for fit in fits:
        assert fit.converged
        np.testing.assert_allclose(fit.model.couplings, fits[0].model.couplings, atol=1e-5)
    again = mpf.fit_convex(fits[0].model, DATA)
    assert again.converged and again.iterations == 0


def test_input_dtype_does_not_matter():
    fits = [mpf.fit_convex(mpf.Ising.init(6), DATA.astype(t)).model for t in (bool, np.uint8, np.int64, np.float32, np.float64)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].pairs, other.pairs)
        np.testing.assert_array_equal(fits[0].fields, other.fields)
    assert fits[0].pairs.dtype == np.float32


def test_compiles_once():
    before = convex._value_and_gradient._cache_size()
    for l2 in (0.0, 0.1):
        mpf.fit_convex(mpf.Ising.init(5), DATA[:100, :5], l2=l2)
    assert convex._value_and_gradient._cache_size() - before <= 1


def test_a_fit_cut_short_says_so(capsys):
    fit = mpf.fit_convex(mpf.Ising.init(6), DATA, max_iterations=2, progress=True)
    assert not fit.converged and fit.iterations == 2 and fit.gradient_norm > 1e-5
    assert [set(record) for record in fit.history] == [{"objective", "gradient_norm", "seconds"}] * 3
    assert fit.history[0]["objective"] > fit.history[-1]["objective"]
    assert capsys.readouterr().err.count("relative gradient") == 3


def test_constant_and_doubled_units_do_not_break_it():
    """Their best parameters are infinite: the gradient still falls below the tolerance, at finite ones."""
    data = np.concatenate([DATA, np.zeros((2000, 1), np.uint8), DATA[:, :1]], axis=1)
    for objective in OBJECTIVES:
        fit = mpf.fit_convex(mpf.Ising.init(8, data), data, objective)
        assert fit.converged and all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fit.model))


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (mpf.RBM.init(0, 6, 2), {}, "mpf.fit"),
        (mpf.Ising.init(6), {"rule": "likelihood"}, "pseudo-likelihood"),
        (mpf.Ising.init(6), {"rule": "pcd"}, "not convex"),
        (mpf.Ising.init(6), {"rule": mpf.MPF1Flip(o="tanh")}, "not convex"),
        (mpf.Ising.init(6), {"l1": -1.0}, "l1=-1.0.* at least 0"),
        (mpf.Ising.init(6), {"tolerance": 0.0}, "above 0"),
        (mpf.Ising.init(7), {}, "columns"),
        (mpf.Ising(np.zeros((6, 6)), np.full(6, np.nan)), {}, "non-finite"),
    ],
)
def test_what_cannot_work_is_refused(model, settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.fit_convex(model, DATA, **settings)


def test_owlqn_solves_an_ill_conditioned_lasso():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(50, 20)) * np.logspace(0, 2, 20)
    target, l1 = rng.normal(size=50), np.append(np.full(19, 20.0), 0.0)

    def smooth(x):
        residual = design @ x - target
        return float(residual @ residual) / 2, design.T @ residual

    scale = 1 / np.sum(design**2, axis=0)
    for at in minimise(smooth, np.zeros(20), l1, scale):
        if np.linalg.norm(np.sqrt(scale) * pseudo_gradient(at.x, at.gradient, l1)) < 1e-10 or at.evaluations > 500:
            break
    x = np.zeros(20)  # coordinate descent, slow and sure
    for _ in range(20_000):
        for i in range(20):
            rest = target - design @ x + design[:, i] * x[i]
            slope = design[:, i] @ rest
            x[i] = np.sign(slope) * max(abs(slope) - l1[i], 0) * scale[i]
        if _ > 200 and np.allclose(at.x, x, atol=1e-12):
            break
    assert at.evaluations < 500 and 0 < np.sum(x == 0) < 19
    np.testing.assert_allclose(at.x, x, atol=1e-8)


@pytest.mark.parametrize(("truth", "error"), [(consistency.ising, consistency.ising_error), (consistency.rbm, consistency.rbm_error)])
def test_the_error_falls_like_one_over_sqrt_n(truth, error):
    """A small version of `python -m benchmarks consistency`; the slope's own error is about 0.3 / sqrt(10) * sqrt(2) / log(100) = 0.03."""
    result = consistency.measure(truth(), error, sizes=(10_000, 1_000_000), repeats=10)
    assert result["slope"] == pytest.approx(-0.5, abs=0.1)


def test_spikes():
    """50 neurons, 40,000 time bins, to a relative gradient of 1e-5."""
    if not datasets()["spikes"].is_present():
        pytest.skip("the spikes are not in the data folder (set MINPROBFLOW_DATA)")
    rows = benchmark.spikes()
    fit = mpf.fit_convex(mpf.Ising.init(50, rows), rows)
    assert fit.converged and fit.iterations < 40
    every = benchmark.scipy_objective("mpf-1flip", rows, np.full(len(rows), 1 / len(rows)))
    at_start, at_end = (np.linalg.norm(every(benchmark.vector(m))[1]) for m in (mpf.Ising.init(50, rows), fit.model))
    assert at_end < 2e-5 * at_start  # by NumPy, over all rows, at the parameters rounded to single precision
