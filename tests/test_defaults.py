"""The defaults: one set for `fit`, the command line and the estimator, which works with any data."""

import inspect

import numpy as np
import pytest
from benchmarks import defaults as comparison

import minprobflow as mpf
from minprobflow.runs import train_run
from minprobflow.train import Config, fit_settings

DIGITS = mpf.load_dataset("digits")


def resolved(rule, rows=DIGITS.train, optimizer="sgd", batch_size=None):
    config = Config(rule=rule, batch_size=batch_size, optimizer=optimizer)
    return config.checked(mpf.RBM.init(0, 64, 4), rows)


def test_fit_and_the_command_line_have_the_same_defaults():
    of_fit = {name: parameter.default for name, parameter in inspect.signature(mpf.fit).parameters.items()}
    assert {"rule", "epochs", "batch_size", "optimizer", "learning_rate", "centred", "l1", "l2", "average", "seed"} <= fit_settings().keys()
    assert {name: of_fit[name] for name in fit_settings()} == {name: setting.default for name, setting in fit_settings().items()}
    assert all(setting.help and f"{name}: {setting.help[:50]}" in mpf.fit.__doc__ for name, setting in fit_settings().items())
    assert Config().rule_spec() == mpf.PCD(k=5, refresh=1) == mpf.sklearn.RBM()._config().rule_spec()


def test_the_defaults_are_those_the_comparison_chose():
    chosen = comparison.CANDIDATES[comparison.chosen(comparison.records())]
    config = resolved(Config.rule)
    found = (config.rule, config.rule_spec().k, config.learning_rate, config.batch_size, config.epochs)
    assert found == tuple(chosen)


def test_the_comparison_prefers_a_rival_only_if_it_is_clearly_ahead():
    def records(ahead, spread):
        values = {"old `fit`": 0.0, comparison.PRIOR: 1.0, "PCD-5, rate 0.4": 0.5, "FPMPF-5, rate 0.4": 1.0 + ahead}
        noise = {"FPMPF-5, rate 0.4": spread}
        return [
            {"case": case, "setting": name, "valid": value + noise.get(name, 0.0) * (seed - 1)}
            for case in "ab"
            for name, value in values.items()
            for seed in range(3)
        ]

    assert comparison.chosen(records(ahead=0.5, spread=0.1)) == "FPMPF-5, rate 0.4"
    assert comparison.chosen(records(ahead=0.5, spread=2.0)) == comparison.PRIOR
    assert comparison.lead(records(0.5, 1.0), "FPMPF-5, rate 0.4", comparison.PRIOR) == pytest.approx((0.5, (1 / 6) ** 0.5))


@pytest.mark.parametrize(("rows", "expected"), [(7, 7), (50, 50), (1000, 50)])
def test_a_default_batch_is_never_larger_than_the_data(rows, expected):
    assert resolved("pcd", DIGITS.train[:rows]).batch_size == expected
    assert resolved("pcd", DIGITS.train[:rows], batch_size=3).batch_size == 3


def test_a_few_rows_can_be_fitted_and_trained_on_with_the_defaults(tmp_path):
    few = DIGITS.train[:7]
    fit = mpf.fit(mpf.RBM.init(0, 64, 4, few), few, epochs=2)
    assert int(fit.state.step) == 2  # one batch of all rows per epoch
    np.save(tmp_path / "few.npy", DIGITS.train[:9])
    summary = train_run(Config.of(data=str(tmp_path / "few.npy"), hidden=4, epochs=2), tmp_path / "run").summary
    assert summary["last"]["epoch"] == 2


def test_rates_follow_the_size_of_the_gradient():
    rates = {name: resolved(name).learning_rate for name in ("cd", "pcd", "exact", "fmpf", "pmpf", "fpmpf")}
    assert rates == {"cd": 0.2, "pcd": 0.2, "exact": 0.2, "fmpf": 0.4, "pmpf": 0.4, "fpmpf": 0.4}  # log J: half the gradient
    assert {resolved(name, optimizer="momentum").learning_rate for name in rates} == {0.2 * 0.1, 0.4 * 0.1}
    assert {resolved(name, optimizer="adam").learning_rate for name in (*rates, "mpf-1flip")} == {0.01}  # it rescales the gradient
