"""Spaces: enumeration, neighbours, checks of data, sums over a number of states that is no power of two."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import enumeration
from minprobflow.random_bits import categorical

SPACE = mpf.Categorical(4, 3)


def test_every_state_is_enumerated_once():
    states = np.asarray(SPACE.states(jnp.arange(SPACE.n_states)))
    assert states.shape == (81, 4) and len(np.unique(states, axis=0)) == 81
    np.testing.assert_array_equal(laws.state_counts(states, 3), np.ones(81))
    np.testing.assert_array_equal(states[5], [2, 1, 0, 0])


def test_two_values_are_the_binary_space():
    v = mpf.Binary(3).states(jnp.arange(8))
    two = mpf.Categorical(3, 2)
    np.testing.assert_array_equal(two.states(jnp.arange(8)), v)
    for site in range(3):
        np.testing.assert_array_equal(two.others(v, jnp.asarray(site)), mpf.Binary(3).others(v, jnp.asarray(site)))
        np.testing.assert_array_equal(two.site_states(v, jnp.asarray(site)), mpf.Binary(3).site_states(v, jnp.asarray(site)))


def test_noise_is_uniform():
    counts = laws.state_counts(SPACE.noise(jax.random.key(0), 20_000), 3)
    assert laws.chi_square_p_value(counts, np.full(81, 1 / 81)) > 1e-3


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_categorical_draws_follow_the_logits(scale):
    logits = scale * jnp.asarray([[0.3, -0.2, 0.1, 0.0], [-1.0, 0.0, -1.0, 0.0]])
    drawn = np.asarray(categorical(jax.random.key(1), jnp.broadcast_to(logits, (50_000, 2, 4)))).astype(int)
    for unit, p in enumerate(np.asarray(jax.nn.softmax(logits), np.float64)):
        assert laws.chi_square_p_value(np.bincount(drawn[:, unit], minlength=4), p) > 1e-3


def test_exact_moments_count_every_state_once():
    """3^8 states: the last chunk is not full."""
    fields = np.random.default_rng(0).normal(size=(8, 3))
    model = mpf.Potts(fields, mpf.Potts.init(8, 3).couplings)
    expected = np.asarray(jax.nn.softmax(jnp.asarray(fields))) @ np.arange(3)
    found = mpf.moments(model, "exact").pairs[~np.eye(8, dtype=bool)]
    np.testing.assert_allclose(found, np.outer(expected, expected)[~np.eye(8, dtype=bool)], rtol=1e-5)


@pytest.mark.parametrize("size", [5, 9])  # 243 states: less than one slab; 19,683: the last slab is not full
def test_sums_over_all_states(size):
    model = mpf.Potts.init(size, 3)
    rng = np.random.default_rng(0)
    model = mpf.Potts(rng.normal(size=(size, 3)), model.couplings)
    expected = np.logaddexp.reduce(np.asarray(model.fields, np.float64), 1).sum()
    assert float(enumeration.log_partition(model)) == pytest.approx(expected, rel=1e-5)
    gradient = jax.jit(jax.grad(enumeration.log_partition))(model)
    np.testing.assert_allclose(gradient.fields, jax.nn.softmax(model.fields), atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([[0, 1, 2, 3]], "from 0 to 2"),
        ([[0, 1, -1, 2]], "-1 at row 0, column 2"),
        ([[0, 1, 0.5, 2]], "0.5 at row 0"),
        ([[0, 1, np.nan, 2]], "missing value"),
        ([[0, 1, 2]], "3 columns"),
        ([0, 1, 2, 0], "shape"),
        ([["A", "C", "D", "E"]], "pass whole numbers from 0"),
    ],
)
def test_data_that_do_not_fit_are_refused(rows, match):
    with pytest.raises(mpf.InputError, match=match):
        SPACE.check(rows)


def test_data_of_any_dtype_become_bytes():
    rows = np.asarray([[0, 1, 2, 0], [2, 2, 1, 0]])
    for dtype in (np.uint8, np.int64, np.float32):
        checked = SPACE.check(rows.astype(dtype))
        assert checked.dtype == np.uint8
        np.testing.assert_array_equal(checked, rows)
    with pytest.raises(mpf.InputError, match="at least 2"):
        mpf.Categorical(3, 1)


def test_a_run_is_not_resumed_on_other_letters(tmp_path):
    """The digest of the data must tell 1 from 2."""
    data = np.asarray([[0, 1, 2, 0], [2, 2, 1, 0]] * 5)
    settings = {"rule": "mpf-1flip", "epochs": 1, "batch_size": 5, "checkpoint": tmp_path / "state.safetensors"}
    mpf.fit(mpf.Potts.init(4, 3), data, **settings)
    with pytest.raises(mpf.ModelFileError, match="data was"):
        mpf.fit(mpf.Potts.init(4, 3), np.where(data == 1, 2, data), **settings, resume=True)
