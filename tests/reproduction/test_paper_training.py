"""One run of a row: its start, its rate, its looks at the validation split and the model that it keeps."""

import dataclasses

import numpy as np
import pytest
from paper import training
from tiny_tables import tiny, without_test

import minprobflow as mpf


def test_where_the_likelihood_is_estimated_the_safe_side_is_what_is_chosen_by(monkeypatch):
    plan, digits = dataclasses.replace(tiny(), estimators=("ais",)), mpf.load_dataset("digits")
    monkeypatch.setattr(training, "VALIDATION", {"chains": 10, "betas": 20})
    model = mpf.fit(
        mpf.BernoulliRBM.init(0, 64, 8, data=digits.train), digits.train, "cd", epochs=20, batch_size=100, learning_rate=1.0, progress=False
    ).model
    by_hand = mpf.log_likelihood(model, digits.valid, "ais", base_data=digits.train, chains=10, betas=20)
    log_z = mpf.log_partition(model, "ais", base_data=digits.train, chains=10, betas=20)
    worse = by_hand.value + log_z.value - max(log_z.settings["reverse"], *log_z.settings["forward_by_base"].values())
    assert by_hand.lower + 0.1 < worse < by_hand.value - 0.1
    interval, sides = (
        training.validation_score(dataclasses.replace(plan, score=score), model, without_test(digits)) for score in ("interval", "sides")
    )
    assert interval == by_hand.lower and sides == pytest.approx(worse, rel=1e-12)


def test_the_paper_profile_is_plain_descent():
    plan = tiny(("FMPF10",), plain=True, learning_rate=0.01, refresh="epoch", min_ess=0.0)
    digits = mpf.load_dataset("digits")
    done = training.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    by_hand = mpf.fit(
        lambda key: training.as_in_the_scripts(key, 64, 4),
        digits.train,
        mpf.FMPF(k=2, refresh=12, min_ess=0.0),
        epochs=2,
        batch_size=100,
        learning_rate=lambda step: 0.01,
        centred=False,
    )
    np.testing.assert_allclose(done.model.weights, by_hand.model.weights, rtol=1e-5)
    assert np.abs(training.as_in_the_scripts(mpf.numerics.as_key(0), 64, 4).weights).max() <= 4 * np.sqrt(6 / 68)


def test_at_a_constant_rate_the_model_is_that_of_the_best_look(monkeypatch):
    plan, digits = tiny(("CD1",), plain=True, learning_rate=0.1, epochs=4), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(training, "validation_score", lambda *_: next(scores))
    done = training.train(plan, plan.rows[0].resolved({}), 0, digits)
    monkeypatch.undo()
    shorter = training.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    assert done.epochs == 2 and shorter.epochs == 2
    np.testing.assert_array_equal(done.model.weights, shorter.model.weights)


@pytest.mark.parametrize("early_stop", [False, True])
def test_early_stopping_takes_the_best_look_and_nothing_else_does(monkeypatch, early_stop):
    plan, digits = tiny(("CD1",), learning_rate=0.1, epochs=4, early_stop=early_stop), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(training, "validation_score", lambda *_: next(scores))
    done = training.train(plan, plan.rows[0].resolved({}), 0, digits, looks=4)
    assert (done.epochs, done.valid) == ((2, -3.0) if early_stop else (4, -6.0))


def test_candidates_are_scored_on_validation_data():
    digits = mpf.load_dataset("digits")
    model = mpf.BernoulliRBM.init(0, 64, 4, data=digits.train)
    expected = mpf.log_likelihood(model, digits.valid, "exact").value
    assert training.validation_score(tiny(), model, digits) == pytest.approx(expected, rel=1e-9)
    assert abs(expected - mpf.log_likelihood(model, digits.test, "exact").value) > 1e-3
