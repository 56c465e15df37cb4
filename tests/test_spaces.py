"""Spaces: enumeration, neighbours, checks of data, sums over a number of states that is no power of two."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import minprobflow as mpf
from minprobflow import enumeration
from minprobflow.random_bits import categorical

SPACE = mpf.Categories(4, 3)


def test_every_state_is_enumerated_once():
    states = np.asarray(SPACE.states(jnp.arange(SPACE.n_states)))
    assert states.shape == (81, 4) and len(np.unique(states, axis=0)) == 81
    np.testing.assert_array_equal(laws.state_counts(states, 3), np.ones(81))
    np.testing.assert_array_equal(states[5], [2, 1, 0, 0])


def test_two_values_are_the_binary_space():
    v = mpf.Binary(3).states(jnp.arange(8))
    two = mpf.Categories(3, 2)
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
    model = mpf.Potts(mpf.Potts.init(8, 3).couplings, fields)
    expected = np.asarray(jax.nn.softmax(jnp.asarray(fields))) @ np.arange(3)
    found = mpf.moments(model, "exact").pairs[~np.eye(8, dtype=bool)]
    np.testing.assert_allclose(found, np.outer(expected, expected)[~np.eye(8, dtype=bool)], rtol=1e-5)


@pytest.mark.parametrize("size", [5, 9])  # 243 states: less than one slab; 19,683: the last slab is not full
def test_sums_over_all_states(size):
    model = mpf.Potts.init(size, 3)
    rng = np.random.default_rng(0)
    model = mpf.Potts(model.couplings, rng.normal(size=(size, 3)))
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
    with pytest.raises(mpf.InputError, match="from 2 to 256"):
        mpf.Categories(3, 1)


def test_a_run_is_not_resumed_on_other_letters(tmp_path):
    """The digest of the data must tell 1 from 2."""
    data = np.asarray([[0, 1, 2, 0], [2, 2, 1, 0]] * 5)
    settings = {"rule": "mpf-1flip", "epochs": 1, "batch_size": 5, "checkpoint": tmp_path / "state.safetensors"}
    mpf.fit(mpf.Potts.init(4, 3), data, **settings)
    with pytest.raises(mpf.ModelFileError, match="data was"):
        mpf.fit(mpf.Potts.init(4, 3), np.where(data == 1, 2, data), **settings, resume=True)


# what callers pass instead of a table of numbers

RBM = mpf.BernoulliRBM.init(0, 3, 2)
BITS = np.asarray([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0]])


def masked(hide):
    table = np.ma.masked_array(BITS.astype(float), mask=False)
    if hide:
        table[2, 1] = np.ma.masked
    return table


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (None, "data is None: pass numbers 0 and 1"),
        ("rows.csv", "data is the text 'rows.csv'"),
        ([[0, 1, 1], [0, 1]], "data has rows of different lengths"),
        ([[0, 1, None]], "data holds object values"),
        ([[0, 1, 1j]], "data holds complex128 values"),
        ([[0, 1, 2**70]], "data holds object values"),
        ({"a": 1}, "data holds object values"),
        (scipy.sparse.csr_matrix((10**6, 10**5)), r"sparse matrix of shape .* takes 745\.1 GiB when dense"),
        (
            pd.DataFrame({"a": [0], "b": ["maybe"], "c": [1]}),
            r"column 1 \('b'\) holds words such as 'maybe': pass the frame to mpf.load_dataset",
        ),
        (masked(True), r"1 missing value \(masked\), the first at row 2, column 1: drop those rows.*complete rows.*mpf.impute"),
        (list(masked(True)), r"1 missing value \(masked\), the first at row 2, column 1"),
        (np.where(BITS == 1, np.nan, 0), r"6 missing values \(NaN\), the first at row 0, column 1: drop those rows.*complete rows"),
        (
            np.broadcast_to(np.uint8(0), (2**45, 3)),
            r"data does not fit in memory \(Unable to allocate .*TiB.*\): pass fewer rows, as uint8",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else None,
)
def test_what_is_not_a_table_of_numbers_is_refused(wrong, match):
    with pytest.raises(mpf.InputError, match=match):
        RBM.space.check(wrong)


def test_a_whole_data_set_is_refused_with_the_way_out():
    digits = mpf.load_dataset("digits")
    with pytest.raises(mpf.InputError, match=r"three parts: pass one part, such as dataset\.train"):
        mpf.fit(mpf.BernoulliRBM.init(0, 64, 2), digits, "cd", epochs=1)


@pytest.mark.parametrize("rows", [masked(False), scipy.sparse.csr_matrix(BITS), pd.DataFrame(BITS), BITS.tolist(), jnp.asarray(BITS)])
def test_tables_of_other_libraries_are_accepted(rows):
    checked = RBM.space.check(rows)
    assert type(checked) is np.ndarray and checked.dtype == np.uint8
    np.testing.assert_array_equal(checked, BITS)


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: mpf.fit(RBM, rows, "cd", epochs=1, batch_size=2),
        lambda rows: mpf.log_likelihood(RBM, rows),
        lambda rows: mpf.sample(RBM, start=rows, steps=1),
        lambda rows: mpf.BernoulliRBM.init(0, 3, 2, data=rows),
        RBM.free_energy,
        lambda rows: mpf.sklearn.RBM(n_components=2).fit(rows),
    ],
    ids=["fit", "log_likelihood", "sample", "init", "free_energy", "sklearn"],
)
def test_a_mask_is_never_ignored(use):
    with pytest.raises(mpf.InputError, match=r"missing value \(masked\)"):
        use(masked(True))


def test_imputation_fills_in_what_is_masked_as_it_does_nan():
    as_nan = masked(True).filled(np.nan)
    filled = mpf.impute(RBM, masked(True), steps=20, burn_in=5)
    np.testing.assert_array_equal(filled, mpf.impute(RBM, as_nan, steps=20, burn_in=5))
    known = ~np.isnan(as_nan)
    np.testing.assert_array_equal(filled[known], BITS[known])
    assert 0 < filled[2, 1] < 1


def test_means_are_counts_with_pseudocounts():
    rows = np.asarray([[0, 1], [2, 1], [2, 1]], np.uint8)
    np.testing.assert_allclose(mpf.Binary(2).mean_features(rows // 2, 1.0), [3 / 5, 1 / 5])
    shares = np.asarray([[1.5, 0.5, 2.5], [0.5, 3.5, 0.5]]) / 4.5
    np.testing.assert_allclose(mpf.Categories(2, 3).mean_features(rows, 0.5), shares)
    np.testing.assert_allclose(mpf.Real(2).mean_features(rows), [[4 / 3, 8 / 3], [1, 1]])


def test_noise_of_units_that_are_not_negative_is_not():
    space = mpf.NonNegative(3)
    assert float(space.noise(jax.random.key(0), 100).min()) > 0 and space.random_rows(np.random.default_rng(0), 100).min() > 0


def test_the_best_guess_is_the_mean_or_the_most_frequent_value():
    assert mpf.Categories(2, 3).best_guess(np.asarray([[0.2, 0.7, 0.1], [0.5, 0.2, 0.3]])).tolist() == [1, 0]
    assert mpf.Real(2).best_guess(np.asarray([[0.5, 4.0], [-1.0, 9.0]])).tolist() == [0.5, -1]
    assert mpf.Signs(2).best_guess(np.asarray([0.5, -1.0])).tolist() == [0.5, -1]


def test_mistakes_are_probabilities_or_distances():
    logits = np.log(np.asarray([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], np.float32))
    np.testing.assert_allclose(mpf.Categories(2, 3).mistakes(logits, jnp.asarray([2.0, 0.0])), [0.5, 0.3], rtol=1e-5)
    np.testing.assert_allclose(mpf.Binary(2).mistakes(jnp.log(jnp.asarray([3.0, 3.0])), jnp.asarray([1.0, 0.0])), [0.25, 0.75], rtol=1e-5)
    up = mpf.Signs(2).logits(jnp.asarray([0.5, 0.5]))  # up in three of four cases
    np.testing.assert_allclose(mpf.Signs(2).mistakes(up, jnp.asarray([1.0, -1.0])), [0.25, 0.75], rtol=1e-5)
    half = mpf.NonNegative(1).logits_of_moments(jnp.zeros(1), jnp.ones(1))  # half of a Gaussian: its mean is sqrt(2 / pi)
    np.testing.assert_allclose(mpf.NonNegative(1).mistakes(half, jnp.asarray([3.0])), [3 - np.sqrt(2 / np.pi)], rtol=1e-5)
    real = mpf.Real(1).logits(jnp.asarray([[1.0, 3.0]]))  # mean 1, variance 2
    np.testing.assert_allclose(real, [[0.5, -0.25]])
    np.testing.assert_allclose(mpf.Real(1).mistakes(real, jnp.asarray([4.0])), [3.0])
    x = np.linspace(-30, 30, 20_001)
    assert float(mpf.Real(1).log_norm(real)) == pytest.approx(np.log(np.sum(np.exp(0.5 * x - 0.25 * x**2)) * (x[1] - x[0])), rel=1e-5)
