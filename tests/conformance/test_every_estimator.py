"""Laws that every estimator of log Z must obey, on every model. Both are discovered."""

import math

import laws
import pytest

import minprobflow as mpf
from minprobflow.likelihood import estimators


@pytest.mark.parametrize("name", laws.FIRST)
@pytest.mark.parametrize("method", estimators())
def test_the_stated_interval_holds_the_enumerated_value(method, name):
    model = laws.MODELS[name]
    exact = mpf.log_partition(model, "exact").value
    estimate = mpf.log_partition(model, method, seed=0)
    assert estimate.method == method and estimate.stderr >= 0
    assert estimate.lower <= estimate.value <= estimate.upper
    assert all(map(math.isfinite, (estimate.value, estimate.stderr)))
    if estimate.verdict == "trusted":
        assert estimate.lower - 1e-9 <= exact <= estimate.upper + 1e-9
        assert estimate.warnings == ()
    else:
        assert estimate.warnings


@pytest.mark.parametrize("method", estimators())
def test_easy_models_are_trusted(method):
    assert mpf.log_partition(mpf.RBM.init(0, 6, 4), method).verdict == "trusted"
