"""What is not finite is never trusted."""

import dataclasses
import math

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import likelihood

ROWS = (np.arange(60).reshape(12, 5) * 7 % 3 == 0).astype(np.uint8)
GOOD = mpf.Estimate(1.0, 0.1, 0.8, 1.2, 50.0, "ais", "trusted")
SETTINGS = {"ais": {"chains": 10, "betas": 10, "sample_steps": 4}, "csl": {"chains": 10, "samples": 2, "burn_in": 2}}


def rbm(value, tau=1.0):
    weights = np.sin(np.arange(15.0)).reshape(5, 3).astype(np.float32)
    weights[1, 1] = value
    return mpf.BernoulliRBM(weights, np.zeros(5, np.float32), np.zeros(3, np.float32), tau)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["value", "stderr"])
def test_an_estimate_that_is_not_finite_is_not_trusted(field, bad):
    estimate = dataclasses.replace(GOOD, **{field: bad})
    assert estimate.verdict == "do not trust"
    assert f"not finite ({field})" in str(estimate)
    assert dataclasses.replace(estimate, method="x").warnings == estimate.warnings  # the reason is given once


def test_an_interval_that_is_no_interval_is_not_trusted_but_an_open_one_may_be():
    assert dataclasses.replace(GOOD, lower=math.nan).verdict == "do not trust"
    assert dataclasses.replace(GOOD, upper=math.inf).verdict == "trusted"


@pytest.mark.parametrize("log_z", [math.nan, math.inf, -math.inf])
def test_a_likelihood_from_a_log_z_that_is_not_finite_is_not_trusted(log_z):
    broken = dataclasses.replace(GOOD, value=log_z)
    estimate = likelihood.from_log_partition(rbm(1.0), ROWS, broken)
    assert estimate.verdict == "do not trust"
    assert not math.isfinite(estimate.value)


@pytest.mark.parametrize("method", ["exact", "ais", "csl", "pseudo"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_models_that_are_not_finite_have_no_likelihood(method, value):
    with pytest.raises(mpf.InputError, match="non-finite parameters"):
        mpf.log_likelihood(rbm(value), ROWS, method, **SETTINGS.get(method, {}))


@pytest.mark.parametrize("value", [3e38, -3e38])
def test_log_z_near_the_end_of_single_precision_is_right_or_refused(value):
    exact = mpf.log_partition(rbm(value)).value  # in double precision
    assert exact == pytest.approx(max(float(np.float32(value)), 0.0), rel=1e-9, abs=10)
    try:
        estimate = mpf.log_partition(rbm(value), "ais", **SETTINGS["ais"])
    except mpf.InputError as problem:
        assert "not finite" in str(problem)
    else:
        assert estimate.verdict == "do not trust" or estimate.lower <= exact <= estimate.upper


@pytest.mark.parametrize("method", ["csl", "pseudo"])
def test_other_figures_near_the_end_of_single_precision_are_not_trusted(method):
    try:
        assert mpf.log_likelihood(rbm(3e38), ROWS, method, **SETTINGS.get(method, {})).verdict != "trusted"
    except mpf.InputError as problem:
        assert "not finite" in str(problem)


@pytest.mark.parametrize("tau", [1e-320, 1e-39, 1e39, math.inf, math.nan, 0.0, -1.0])
def test_temperatures_beyond_single_precision_are_refused(tau):
    for make in (lambda: rbm(1.0, tau), lambda: mpf.Ising.init(3, tau=tau), lambda: mpf.Potts.init(3, 3, tau=tau)):
        with pytest.raises(mpf.InputError, match="tau="):
            make()


def test_parameters_that_overflow_when_divided_by_tau_are_refused():
    with pytest.raises(mpf.InputError, match="overflows float32; raise tau"):
        rbm(1e10, 1e-30)
    assert mpf.log_partition(rbm(1e7, 1e-30)).verdict == "trusted"
