"""What users call: `sample`, `impute`, and errors. The laws of the kernels are in the conformance suite."""

import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.samplers import Tempering, block_gibbs, engine

MODEL = laws.MODELS["RBM-2-tau2.0"]


@pytest.mark.parametrize("kernel", ["auto", block_gibbs, "heat-bath", Tempering(rungs=3)])
def test_samples_from_noise_reach_the_model(kernel):
    v = mpf.sample(MODEL, n=50_000, steps=30, seed=4, kernel=kernel)
    assert v.dtype == np.uint8
    assert laws.chi_square_p_value(laws.state_counts(v), laws.probabilities(MODEL)) > 1e-3


def test_seeds_and_starts():
    np.testing.assert_array_equal(mpf.sample(MODEL, 5, 3, seed=1), mpf.sample(MODEL, 5, 3, seed=1))
    assert not np.array_equal(mpf.sample(MODEL, 50, 3, seed=1), mpf.sample(MODEL, 50, 3, seed=2))
    start = np.eye(5)
    np.testing.assert_array_equal(mpf.sample(MODEL, steps=0, start=start), start)
    held = [True, True, False, False, True]
    np.testing.assert_array_equal(mpf.sample(MODEL, steps=9, start=start, held=held)[:, held], start[:, held])


def test_imputation_equals_the_exact_conditional():
    """Of a model whose hidden unit 0 ties all units together: what the others say matters far more than the tolerance."""
    pattern = np.asarray([3.0, 3.0, -3.0, -3.0, 3.0], np.float32)
    model = mpf.RBM(2 * pattern[:, None] * np.eye(1, 3, dtype=np.float32), -pattern, np.asarray([-3.0, 0.0, 0.0], np.float32), tau=2.0)
    states, p = np.asarray(laws.all_states(model)), laws.probabilities(model)
    row = np.asarray([1, np.nan, 0, np.nan, 1])
    given = (states[:, 0] == 1) & (states[:, 2] == 0) & (states[:, 4] == 1)
    expected = p[given] @ states[given] / p[given].sum()
    assert np.abs(expected - p @ states)[[1, 3]].min() > 0.2
    filled = mpf.impute(model, np.tile(row, (200, 1)), steps=500, burn_in=100)
    # 100,000 draws, of which at least a tenth count as independent: standard error below 0.005
    np.testing.assert_allclose(filled.mean(0), expected, atol=0.02)
    np.testing.assert_array_equal(filled[:, [0, 2, 4]], np.tile([1, 0, 1], (200, 1)))


def test_bad_requests_are_refused():
    with pytest.raises(mpf.InputError, match="start="):
        mpf.sample(MODEL, held=np.ones(5))
    with pytest.raises(mpf.InputError, match="one flag per unit"):
        mpf.sample(MODEL, start=np.eye(5), held=np.ones(4))
    with pytest.raises(mpf.InputError, match="steps=-1"):
        mpf.sample(MODEL, steps=-1)
    with pytest.raises(mpf.InputError, match="binary"):
        mpf.sample(MODEL, start=np.full((2, 5), 0.5))
    with pytest.raises(mpf.InputError, match="heat_bath"):
        mpf.sample(laws.MODELS["EnergyModel-0"], kernel=block_gibbs)
    with pytest.raises(mpf.InputError, match="burn_in"):
        mpf.impute(MODEL, np.zeros((1, 5)), steps=5, burn_in=-1)
    with pytest.raises(mpf.InputError, match="did you mean 'tempering'"):
        mpf.sample(MODEL, kernel="temper")
    with pytest.raises(mpf.InputError, match="two or more temperatures"):
        mpf.parallel_tempering(MODEL, jnp.zeros((1, 4, 5)), jnp.ones(1), 3)


def test_any_number_of_steps_compiles_once():
    before = engine._loop._cache_size()
    for steps in (3, 4, 5):
        mpf.sample(MODEL, n=9, steps=steps)
    assert engine._loop._cache_size() - before <= 1


def test_kernels_and_observers_that_hold_arrays_compile_once():
    """Of tempering and of reverse AIS: the inverse temperatures, the base and the first free energies are arguments."""
    for settings in ({}, {"samples": "tempering"}):
        sizes = []
        for seed in (0, 1):
            mpf.log_partition(MODEL, "ais", seed=seed, chains=10, betas=20, sample_steps=30, base_data=np.eye(5)[seed:], **settings)
            mpf.sample(MODEL, n=7, steps=2, kernel=Tempering(rungs=4, hottest=0.1 * seed))
            sizes.append(engine._loop._cache_size())
        assert sizes[0] == sizes[1]


@pytest.mark.parametrize("steps", [1, 4, 5])
def test_swaps_between_equal_temperatures_are_always_accepted(steps):
    """Pairs take turns, and a rate is that of the attempts; the second of two pairs has none in the first step."""
    start = jnp.asarray(laws.draw(MODEL, 60)).astype(float).reshape(3, 20, 5)
    rates = mpf.parallel_tempering(MODEL, start, jnp.ones(3), steps).swap_rates
    np.testing.assert_allclose(rates, [1.0, 1.0 if steps > 1 else 0.0])
