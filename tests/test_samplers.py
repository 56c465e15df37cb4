"""What users call: `sample`, `impute`, and errors. The laws of the kernels are in the conformance suite."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.samplers import block_gibbs, chains, heat_bath

MODEL = laws.MODELS["RBM-2-tau2.0"]


@pytest.mark.parametrize("kernel", [None, block_gibbs, heat_bath])
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
    states, p = np.asarray(laws.all_states(MODEL)), laws.probabilities(MODEL)
    row = np.asarray([1, np.nan, 0, np.nan, 1])
    given = (states[:, 0] == 1) & (states[:, 2] == 0) & (states[:, 4] == 1)
    expected = p[given] @ states[given] / p[given].sum()
    filled = mpf.impute(MODEL, np.tile(row, (200, 1)), steps=600, burn_in=100)
    # 100,000 draws, of which at least a tenth count as independent: standard error below 0.005
    np.testing.assert_allclose(filled.mean(0), expected, atol=0.02)
    np.testing.assert_array_equal(filled[:, [0, 2, 4]], np.tile([1, 0, 1], (200, 1)))


def test_bad_requests_are_refused():
    with pytest.raises(mpf.InputError, match="start="):
        mpf.sample(MODEL, held=np.ones(5))
    with pytest.raises(mpf.InputError, match="one flag a unit"):
        mpf.sample(MODEL, start=np.eye(5), held=np.ones(4))
    with pytest.raises(mpf.InputError, match="steps=-1"):
        mpf.sample(MODEL, steps=-1)
    with pytest.raises(mpf.InputError, match="binary"):
        mpf.sample(MODEL, start=np.full((2, 5), 0.5))
    with pytest.raises(mpf.InputError, match="heat_bath"):
        mpf.sample(laws.MODELS["EnergyModel-0"], kernel=block_gibbs)
    with pytest.raises(mpf.InputError, match="burn_in"):
        mpf.impute(MODEL, np.zeros((1, 5)), steps=5, burn_in=5)
    with pytest.raises(mpf.InputError, match="two or more temperatures"):
        mpf.parallel_tempering(jax.random.key(0), MODEL, jnp.zeros((1, 4, 5)), jnp.ones(1), 3)


def test_any_number_of_steps_compiles_once():
    before = chains._run._cache_size()
    for steps in (3, 4, 5):
        mpf.sample(MODEL, n=9, steps=steps)
    assert chains._run._cache_size() - before <= 1
