"""Paired differences between models."""

import laws
import numpy as np
import pytest

import minprobflow as mpf

MODELS = [laws.MODELS[f"RBM-{i}-tau{tau}"] for i, tau in ((0, 0.5), (1, 1.0))]
ROWS = laws.draw(MODELS[0], 60)
QUICK = {"betas": 20, "chains": 10}


def test_differences_are_paired_and_their_error_joins_all_three():
    width = min(model.space.size for model in MODELS)
    first, second = mpf.BernoulliRBM.init(0, width, 2), mpf.BernoulliRBM.init(1, width, 3, ROWS[:, :width])
    rows = ROWS[:, :width]
    a, b = mpf.compare([first, second], rows)
    each = [-mpf.likelihood.free_energies(m, rows) - mpf.log_partition(m).value for m in (first, second)]
    apart = each[1] - each[0]
    assert (a.difference, a.stderr) == (0, 0) and a.log_likelihood == mpf.log_likelihood(first, rows)
    assert b.difference == pytest.approx(apart.mean()) and b.stderr == pytest.approx(apart.std(ddof=1) / np.sqrt(len(rows)))
    by_ais = mpf.compare([first, second], rows, "ais", betas=50, chains=20)
    errors = [found.log_likelihood.stderr for found in by_ais]
    spread = (each[1] - each[0]).var(ddof=1) / len(rows)
    assert by_ais[1].stderr == pytest.approx(np.sqrt(spread + errors[0] ** 2 + errors[1] ** 2)) and errors[0] > 0


def test_the_base_is_fitted_to_the_rows_that_are_given_for_it():
    found = mpf.compare(MODELS, ROWS, "ais", base_data=1 - ROWS, **QUICK)
    for model, compared in zip(MODELS, found, strict=True):
        assert compared.log_likelihood.value == mpf.log_likelihood(model, ROWS, "ais", base_data=1 - ROWS, **QUICK).value


def test_a_difference_has_the_errors_of_both_estimates():
    """Of a model to itself they are all there is."""
    first, second = mpf.compare([MODELS[0], MODELS[0]], ROWS, "ais", **QUICK)
    assert second.difference == 0 and second.stderr == pytest.approx(np.sqrt(2) * first.log_likelihood.stderr) and second.stderr > 0.01


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(mpf.InputError, match="at least two models"):
        mpf.compare([MODELS[0]], ROWS)
    with pytest.raises(mpf.InputError, match="columns"):
        mpf.compare([mpf.BernoulliRBM.init(0, 3, 2), mpf.BernoulliRBM.init(0, 4, 2)], ROWS[:, :3])
    only = mpf.compare([mpf.BernoulliRBM.init(0, 3, 2), mpf.BernoulliRBM.init(1, 3, 2)], ROWS[:1, :3])[1]
    assert only.stderr == 0 and np.isfinite(only.difference)
