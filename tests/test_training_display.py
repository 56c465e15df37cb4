"""What a user sees of a training run: the figures that inform, the time left, the remarks at the end."""

import math
import re
from typing import NamedTuple

import jax.numpy as jnp
import pytest

import minprobflow as mpf
from minprobflow.cli.train import result_lines
from minprobflow.runs import Look, RunFolder, Validation, train_run
from minprobflow.runs.validation import remarks
from minprobflow.train import Config, TrainingProgress
from minprobflow.train.pace import Pace, duration
from minprobflow.train.progress import figures

METRICS = {"objective": 0.0, "log_flow": 0.0, "ess": 1.0, "gradient_norm": 0.3125, "reconstruction_error": 0.125}


class Event(NamedTuple):
    number: int
    epochs: int
    metrics: dict = METRICS


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def simulated(capsys, epochs, seconds, evaluate_every=1, evaluation=0.0, compilation=30.0, valid=-20.0, stderr=0.0, **settings):
    """The lines of a run whose epochs and evaluations take the times given; after each line, how long the run really took from there."""
    clock, lines, times = Clock(), [], []
    config = Config.of(epochs=epochs, evaluate_every=evaluate_every, **settings)
    with TrainingProgress(epochs, config.rule_spec().informative(), config.look_epochs(), clock) as show:
        for number in range(1, epochs + 1):
            evaluated = number % evaluate_every == 0 or number == epochs
            clock.now += seconds(number) + (compilation if number == 1 else 0)
            if evaluated:
                clock.now += evaluation + (compilation if number == evaluate_every else 0)
            show(Event(number, epochs), Look(-19.0, valid, stderr, "exact", -24.5) if evaluated else None)
            for line in capsys.readouterr().err.splitlines():
                lines.append(line)
                times.append(clock.now)
    return lines, [clock.now - time for time in times]


def told(line):
    hours, minutes, seconds = (re.search(rf"(\d+) {unit}\b(?!/)", line) for unit in ("h", "min", "s"))
    return sum(int(found[1]) * factor for found, factor in ((hours, 3600), (minutes, 60), (seconds, 1)) if found)


@pytest.mark.parametrize(("evaluate_every", "evaluation"), [(1, 10.0), (10, 33.0)])
def test_the_time_left_includes_evaluation_and_not_compilation(capsys, evaluate_every, evaluation):
    """Epochs of a second with evaluations of up to 33: what the old display left out. One epoch in ten meets a busy machine."""
    lines, truth = simulated(capsys, 100, lambda n: 1.0 + 20 * (n % 10 == 7), evaluate_every, evaluation)
    sure = [(line, left) for line, left in zip(lines, truth, strict=True) if " left" in line and "at " not in line.rsplit("  ", 1)[1]]
    assert len(sure) > 75
    for line, left in sure:
        busy = 20 * sum(n % 10 == 7 for n in range(int(re.match(r"epoch (\d+)", line)[1]) + 1, 101))  # no display can foresee these
        assert told(line) == pytest.approx(left - busy, rel=0.2, abs=2), line


def test_before_an_evaluation_without_compilation_was_timed_the_time_left_is_a_bound(capsys):
    lines, truth = simulated(capsys, 40, lambda n: 1.0, 10, 10.0)
    assert " left" not in lines[0]  # compilation is all that was timed
    assert "at least 38 s left" in lines[1]
    assert "at most" in lines[9] and told(lines[9]) > truth[9]
    assert lines[19].endswith("  2 s/epoch  40 s left")
    assert "left" not in lines[39]


def test_a_line_shows_the_likelihood_and_its_gain_and_no_constants(capsys):
    lines, _ = simulated(capsys, 3, lambda n: 1.0)
    assert lines[1] == "epoch 2/3  valid -20.00 (+4.50 over independent units)  gradient norm 0.312  1 s/epoch  1 s left"
    lines, _ = simulated(capsys, 2, lambda n: 1.0, stderr=0.25, rule="fpmpf", refresh=2)
    assert "valid -20.00 +- 0.25 (+4.50 over independent units)  gradient norm 0.312  ESS 100%  objective 0" in lines[0]
    lines, _ = simulated(capsys, 2, lambda n: 1.0, rule="pcd", refresh=2)
    assert "ESS 100%" in lines[0] and "objective" not in lines[0]
    lines, _ = simulated(capsys, 2, lambda n: 1.0, rule="mpf-1flip")
    assert "objective 0" in lines[0] and "ESS" not in lines[0]


def test_an_old_likelihood_is_marked_as_such(capsys):
    lines, _ = simulated(capsys, 5, lambda n: 1.0, evaluate_every=2)
    assert "valid" not in lines[0]
    assert "units)  gradient" in lines[1] and "units) at epoch 2  gradient" in lines[2]


@pytest.mark.parametrize(("epochs", "seconds", "expected"), [(50, 0.01, 50), (100, 1.0, 100), (20_000, 0.01, 101), (150, 60.0, 150)])
def test_long_runs_print_about_a_hundred_lines_and_slow_ones_a_line_per_epoch(capsys, epochs, seconds, expected):
    lines, _ = simulated(capsys, epochs, lambda n: seconds)
    assert len(lines) == expected
    assert lines[0].startswith(f"epoch 1/{epochs} ") and lines[-1].startswith(f"epoch {epochs}/{epochs} ")


def test_pace_takes_the_median_so_that_a_busy_moment_passes():
    clock = Clock()
    pace = Pace(clock)
    for seconds in (50.0, 1.0, 1.0, 100.0, 1.0):
        clock.now += seconds
        pace.lap()
    assert pace.seconds() == 1.0 and pace.left({None: 7}) == 7.0
    for _ in range(9):  # the machine stays busy
        clock.now += 3.0
        pace.lap()
    assert pace.seconds() == 3.0


def test_durations_are_said_in_their_own_units():
    said = [duration(seconds) for seconds in (89.0, 91.0, 594.0, 596.0, 5340.0, 5401.0, 36_000.0)]
    assert said == ["89 s", "1 min 30 s", "9 min 50 s", "10 min", "89 min", "1 h 30 min", "10 h 0 min"]


def record(epoch, valid, stderr=0.0):
    return {"epoch": epoch, "valid": valid, "train": valid, "stderr": stderr, "method": "exact"}


def test_a_model_below_independent_units_gets_a_warning():
    (remark,) = remarks([record(1, -24.0), record(2, -26.5)], -24.5)
    assert remark == "worse than independent units by 2 nats: lower the learning rate"
    assert remarks([record(1, -24.0), record(2, -26.5, stderr=1.0)], -24.5) == []  # too noisy to say


def test_a_run_that_still_rises_is_told_how_to_continue():
    (remark,) = remarks([record(n, -24.0 + n / 10) for n in range(1, 21)], -24.5)
    assert remark.startswith("still rising (1 nats since epoch 10): a run with --epochs 40")
    assert "--resume --epochs 40 continues this one: the learning rate returns to half its initial value" in remark
    assert remarks([record(n, -24.0 + min(n, 11) / 10) for n in range(1, 21)], -24.5) == []  # best is not the last
    assert remarks([record(n, -24.0 + n / 1e4) for n in range(1, 21)], -24.5) == []  # by next to nothing
    assert remarks([record(n, -24.0 + n / 10, stderr=0.5) for n in range(1, 21)], -24.5) == []  # by less than the noise
    assert remarks([], -24.5) == []


def test_the_rate_after_resume_is_what_the_remark_says():
    rate = mpf.train.optimizer.decaying_rate(0.2, 40)
    assert float(rate(jnp.asarray(20))) == pytest.approx(0.1)


def test_the_summary_holds_the_baseline_and_its_words(tmp_path):
    digits = mpf.load_dataset("digits")
    seen = []
    config = Config.of(rule="cd", hidden=4, epochs=3, batch_size=100)
    summary = train_run(config, tmp_path / "run", show=lambda _, look: seen.append(look)).summary
    expected = mpf.likelihood.independent_units(mpf.Binary(64), digits.train, digits.valid)
    assert summary["independent_units"] == pytest.approx(expected)
    assert {look.independent for look in seen} == {summary["independent_units"]}
    assert seen[-1].gain == pytest.approx(summary["last"]["valid"] - expected)
    assert RunFolder(tmp_path / "run").summary_file.read_text().count("independent_units") == 1
    lines = result_lines({**summary, "independent_units": summary["last"]["valid"] - 4.123, "remarks": ["worse"]})
    assert lines[1].endswith("nats, 4.12 above independent units (exact)")
    assert lines[-1] == "note      worse"
    assert "0.50 below independent units" in result_lines({**summary, "independent_units": summary["last"]["valid"] + 0.5})[1]


def test_without_validation_rows_both_the_look_and_the_baseline_are_of_training_rows():
    digits = mpf.load_dataset("digits")
    bare = digits._replace(valid=digits.valid[:0])
    model = mpf.BernoulliRBM.init(0, 64, 4, digits.train)
    look = Validation(model, bare)(model, 0)
    assert look.valid == look.train
    assert look.independent == pytest.approx(mpf.likelihood.independent_units(mpf.Binary(64), digits.train, digits.train))
    assert math.isclose(look.gain, 0, abs_tol=0.1)  # nothing is learned yet


def test_fits_own_progress_shows_no_constants(capsys):
    with TrainingProgress(2, mpf.PCD().informative()) as show:
        show(Event(1, 2))
        show(Event(2, 2))
    err = " ".join(capsys.readouterr().err.split())
    assert "gradient norm 0.312" in err and "reconstruction error 0.125" in err
    assert "objective" not in err and "ESS" not in err
    assert figures(METRICS, mpf.FMPF(refresh=3).informative()) == ["ESS 100%", "objective 0"]
