"""One run of a row: its start, its rate, its looks at the validation split and the model that it keeps."""

import dataclasses

import numpy as np
import pytest
from paper import run
from tiny_tables import tiny, without_test

import minprobflow as mpf
from minprobflow.runs import validation


def test_where_the_likelihood_is_estimated_the_safe_side_is_what_is_chosen_by(monkeypatch):
    digits = mpf.load_dataset("digits")
    monkeypatch.setattr(validation, "SAFE", {"chains": 10, "betas": 20})
    model = mpf.fit(
        mpf.BernoulliRBM.init(0, 64, 8, data=digits.train), digits.train, "cd", epochs=20, batch_size=100, learning_rate=1.0, progress=False
    ).model
    by_hand = mpf.log_likelihood(model, digits.valid, "ais", base_data=digits.train, chains=10, betas=20)
    log_z = mpf.log_partition(model, "ais", base_data=digits.train, chains=10, betas=20)
    worse = by_hand.value + log_z.value - max(log_z.settings["reverse"], *log_z.settings["forward_by_base"].values())
    assert by_hand.lower + 0.1 < worse < by_hand.value - 0.1
    interval, sides = (validation.Validation(model, without_test(digits), score)(model, 0).valid for score in ("interval", "sides"))
    assert interval == by_hand.lower and sides == pytest.approx(worse, rel=1e-12)


def test_the_paper_profile_is_plain_descent():
    plan = tiny(("FMPF10",), plain=True, learning_rate=0.01, refresh="epoch", min_ess=0.0)
    digits = mpf.load_dataset("digits")
    done = run.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    by_hand = mpf.fit(
        lambda key: run.as_in_the_scripts(key, 64, 4),
        digits.train,
        mpf.FMPF(k=2, refresh=12, min_ess=0.0),
        epochs=2,
        batch_size=100,
        learning_rate=lambda step: 0.01,
        centred=False,
    )
    np.testing.assert_allclose(done.model.weights, by_hand.model.weights, rtol=1e-5)
    assert np.abs(run.as_in_the_scripts(mpf.numerics.as_key(0), 64, 4).weights).max() <= 4 * np.sqrt(6 / 68)


def test_at_a_constant_rate_the_model_is_that_of_the_best_look(monkeypatch):
    plan, digits = tiny(("CD1",), plain=True, learning_rate=0.1, epochs=4), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(validation.Validation, "__call__", lambda *_: validation.Look(0.0, next(scores), 0.0, "exact", 0.0))
    done = run.train(plan, plan.rows[0].resolved({}), 0, digits)
    monkeypatch.undo()
    shorter = run.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    assert done.epochs == 2 and shorter.epochs == 2
    np.testing.assert_array_equal(done.model.weights, shorter.model.weights)


@pytest.mark.parametrize("early_stop", [False, True])
def test_early_stopping_takes_the_best_look_and_nothing_else_does(monkeypatch, early_stop):
    plan, digits = tiny(("CD1",), learning_rate=0.1, epochs=4, early_stop=early_stop), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(validation.Validation, "__call__", lambda *_: validation.Look(0.0, next(scores), 0.0, "exact", 0.0))
    done = run.train(plan, plan.rows[0].resolved({}), 0, digits, looks=4)
    assert (done.epochs, done.valid) == ((2, -3.0) if early_stop else (4, -6.0))


def test_candidates_are_scored_on_validation_data():
    digits = mpf.load_dataset("digits")
    model = mpf.BernoulliRBM.init(0, 64, 4, data=digits.train)
    expected = mpf.log_likelihood(model, digits.valid, "exact").value
    score = run.configured(tiny(), tiny().rows[0].resolved({"learning_rate": 0.1}), 0, digits).score
    assert validation.Validation(model, digits, score)(model, 0).valid == pytest.approx(expected, rel=1e-9)
    assert abs(expected - mpf.log_likelihood(model, digits.test, "exact").value) > 1e-3


def test_a_row_is_a_run_configuration():
    digits, plan = mpf.load_dataset("digits"), dataclasses.replace(tiny(("FPMPF10",)), estimators=("ais",), score="sides", looks=5)
    settings = {**plan.rows[0].resolved({"learning_rate": 0.1}), "l2": 1e-3, "average": 0.99, "search_seeds": 2}
    config = run.configured(plan, settings, 3, digits, looks=2)
    assert config.flat().items() >= {"rule": "fpmpf", "k": 2, "refresh": 2, "learning_rate": 0.1, "l2": 1e-3, "average": 0.99}.items()
    assert config.flat().items() >= {"data": "digits", "model": "rbm", "hidden": 4, "seed": 3, "looks": 2, "score": "sides"}.items()
    assert config.centred and config.schedule == "linear"
    plain = run.configured(plan, {**settings, "plain": True, "refresh": "epoch"}, 3, digits, looks=2)
    assert not plain.centred and plain.schedule == "constant" and plain.looks == 5 and plain.rule_spec().refresh == 12
    assert run.configured(plan, {**settings, "plain": True}, 3, digits, looks=0).looks == 0
