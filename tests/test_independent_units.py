"""The baseline of independent units against other ways to get the same number."""

import numpy as np
import pytest
from benchmarks.chow_liu import log_likelihoods
from scipy import stats

import minprobflow as mpf
from minprobflow.likelihood import independent_units

RNG = np.random.default_rng(0)


def test_bits_are_coins_counted_with_a_pseudocount():
    train, rows = (RNG.random((200, 5)) < 0.3).astype(np.uint8), (RNG.random((50, 5)) < 0.3).astype(np.uint8)
    train[:, 0] = 0  # never 1 in training; the pseudocount keeps a 1 possible
    rows[0, 0] = 1
    p = (train.sum(0) + 1) / 202
    expected = stats.bernoulli.logpmf(rows, p).sum(1).mean()
    assert independent_units(mpf.Binary(5), train, rows) == pytest.approx(expected, rel=1e-12)


def test_letters_are_dice():
    train, rows = RNG.integers(0, 4, (200, 3)).astype(np.uint8), RNG.integers(0, 4, (50, 3)).astype(np.uint8)
    p = np.stack([np.bincount(column, minlength=4) + 1 for column in train.T]) / 204
    expected = np.log(p[np.arange(3), rows]).sum(1).mean()
    assert independent_units(mpf.Categories(3, 4), train, rows) == pytest.approx(expected, rel=1e-12)


def test_real_units_are_gaussian():
    train, rows = (RNG.normal(1000, 2, (n, 3)).astype(np.float32) for n in (200, 50))  # single precision would lose the variance
    mean, std = train.mean(0, np.float64), train.std(0, dtype=np.float64)
    expected = stats.norm.logpdf(rows, mean, std).sum(1).mean()
    assert independent_units(mpf.Real(3), train, rows) == pytest.approx(expected, rel=1e-7)


def test_a_constant_column_of_real_numbers_has_a_finite_density():
    train = RNG.normal(0, 2, (200, 2)).astype(np.float32)
    train[:, 0] = 0
    variances = np.array([train[:, 1].var() / 2000, train[:, 1].var()])
    expected = stats.norm.logpdf(train, train.mean(0), np.sqrt(variances)).sum(1).mean()
    assert independent_units(mpf.Real(2), train, train) == pytest.approx(expected, rel=1e-5)


def test_it_is_the_likelihood_of_an_rbm_without_weights():
    digits = mpf.load_dataset("digits")
    rbm = mpf.BernoulliRBM.init(0, 64, 4, digits.train)
    bare = mpf.BernoulliRBM(np.zeros((64, 4)), rbm.visible_bias, np.zeros(4))
    found = independent_units(mpf.Binary(64), digits.train, digits.valid)
    assert found == pytest.approx(mpf.log_likelihood(bare, digits.valid).value, abs=0.05)  # its start has other pseudocounts
    assert found == pytest.approx(log_likelihoods(digits.train, digits.valid, tree=False).mean(), abs=0.05)
