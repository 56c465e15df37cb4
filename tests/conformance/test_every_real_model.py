"""Laws that every model over real units must obey, where those of `test_every_model` count states. Models are discovered."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.flow.one_flip import flip_differences
from minprobflow.samplers import default_kernel, heat_bath, parallel_tempering

every_real_model = pytest.mark.parametrize("model", laws.REAL.values(), ids=laws.REAL)
N = 30_000


def log_joint(model, v, h):
    """log of the unnormalised p(v,h): of all v with all h."""
    logits = np.asarray(model.hidden_logits(v), np.float64)
    return -np.asarray(model.free_energy(v), np.float64)[:, None] + laws.log_independent(mpf.Binary(1), logits[:, None], h[None])


@every_real_model
def test_the_kernel_does_not_drift(model):
    """Exact samples stay exact samples."""
    exact = laws.Mixture(model)
    v = exact.draw(N)
    after = laws.moved(jax.random.key(1), model, jnp.asarray(v), 2, default_kernel(model))
    assert np.mean(v != after) == 1
    assert exact.p_value(after) > 1e-3
    assert exact.p_value(1.02 * np.asarray(after)) < 1e-3 or exact.p_value(np.asarray(after) + 0.03 * v.std(0)) < 1e-3  # it would show


@every_real_model
def test_samples_from_noise_reach_the_model(model):
    v = mpf.sample(model, n=N, steps=60, seed=4)
    assert v.dtype == np.float32
    assert laws.Mixture(model).p_value(v) > 1e-3


@every_real_model
def test_held_units_are_conditioned_on(model):
    held = dict(zip((0, 3), np.asarray(laws.draw(model, 1, seed=3))[0, [0, 3]].tolist(), strict=True))
    exact = laws.Mixture(model, held)
    mask = jnp.zeros((1, model.space.size), bool).at[0, jnp.asarray([0, 3])].set(True)
    after = laws.moved(jax.random.key(2), model, jnp.asarray(exact.draw(N)), 2, default_kernel(model), mask)
    assert exact.p_value(after) > 1e-3


@every_real_model
def test_imputation_gives_the_conditional_mean(model):
    row = np.asarray(laws.draw(model, 1, seed=3))
    exact = laws.Mixture(model, {0: float(row[0, 0]), 3: float(row[0, 3])})
    row[:, exact.free] = np.nan
    filled = mpf.impute(model, np.tile(row, (200, 1)), steps=200, burn_in=100)
    mean, variance = exact.moments()
    # 200 chains of 200 steps, of which at least a tenth count as independent
    np.testing.assert_allclose(filled.mean(0), mean, atol=4 * np.sqrt(variance.max() / 4000))


@every_real_model
def test_the_path_leads_from_a_solved_base_to_the_model(model):
    """Base: the data's means and variances, and its log Z. On the way: the mixture of energies, up to a constant."""
    rows, h = laws.draw(model, 500), laws.all_states(model.transposed())
    v, rows = rows[:40], 1.5 * rows  # none of the base's variances is then below the model's
    base = model.base(jnp.asarray(model.space.mean_features(rows), jnp.float32))
    mean, variance = laws.Mixture(base).moments()
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-4)
    np.testing.assert_allclose(variance, rows.var(0), rtol=1e-3)
    assert float(base.base_log_partition()) == pytest.approx(mpf.log_partition(base, "exact").value, rel=1e-5)
    ends = log_joint(base, v, h), log_joint(model, v, h)
    for beta in (0.0, 0.3, 0.9, 1.0):
        rung = model.between(base, jnp.asarray(beta))
        constant = log_joint(rung, v, h) - (1 - beta) * ends[0] - beta * ends[1]
        np.testing.assert_allclose(constant, 0.0 if beta in (0, 1) else constant[0, 0], atol=2e-4)


@every_real_model
def test_a_base_of_constant_columns_is_still_a_density(model):
    base = model.base(jnp.asarray(model.space.mean_features(np.ones((5, model.space.size), np.float32)), jnp.float32))
    assert np.isfinite(mpf.log_partition(base, "exact").value)
    assert np.isfinite(mpf.sample(base, n=4, steps=2)).all()


@every_real_model
def test_parallel_tempering_does_not_drift_on_any_rung(model):
    betas = jnp.asarray([0.0, 0.4, 1.0])
    base = model.base(jnp.asarray(model.space.mean_features(laws.draw(model, 500)), jnp.float32))
    rungs = [laws.Mixture(model.between(base, beta)) for beta in betas]
    v = jnp.stack([jnp.asarray(rung.draw(N, seed=i)) for i, rung in enumerate(rungs)])
    result = parallel_tempering(model, v, betas, 4, base, seed=3)
    assert np.all(np.asarray(result.swap_rates) > 0.1)
    for rung, states in zip(rungs, result.states, strict=True):
        assert rung.p_value(states) > 1e-3


@every_real_model
def test_csl_agrees_with_the_exact_value(model):
    rows = laws.draw(model, 200)
    exact = mpf.log_likelihood(model, rows, "exact")
    csl = mpf.log_likelihood(model, rows, "csl", chains=100, samples=30, burn_in=100)
    assert csl.value == pytest.approx(exact.value, abs=4 * csl.stderr + 0.01)


@every_real_model
def test_what_needs_countable_states_is_refused(model):
    rows = laws.draw(model, 10)
    for refused in (
        lambda: mpf.fit(model, rows, "mpf-1flip", batch_size=10),
        lambda: mpf.log_likelihood(model, rows, "pseudo"),
        lambda: mpf.sample(model, n=2, kernel=heat_bath),
        lambda: flip_differences(model, jnp.asarray(rows)),
    ):
        with pytest.raises(mpf.InputError, match=r"real numbers.*Train with cd"):
            refused()
    with pytest.raises(mpf.InputError, match="use auto, sampled"):
        mpf.moments(model, "exact")


@every_real_model
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda rows: np.where(rows == rows[1, 0], np.nan, rows), "missing value"),
        (lambda rows: np.where(rows == rows[1, 0], np.inf, rows), "inf at row 1, column 0: drop that row"),
        (lambda rows: 1e30 * rows, "standardise"),
        (lambda rows: rows[:, :-1], "columns"),
        (lambda rows: rows[0], "shape"),
        (lambda rows: rows.astype(str), "pass numbers"),
        (lambda rows: rows[:0], "empty"),
    ],
)
def test_bad_data_are_refused(model, change, match):
    with pytest.raises(mpf.InputError, match=match):
        mpf.fit(model, change(laws.draw(model, 10).astype(np.float64)), "cd", batch_size=5)
