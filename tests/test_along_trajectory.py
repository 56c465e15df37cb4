"""log Z along a trajectory: the sums over links, the verdict, the two checks of every estimate, and samples."""

import json
import sys
import time
import warnings

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import cli
from minprobflow.likelihood import checks, links
from minprobflow.likelihood.climb import ROUNDS, Climb
from minprobflow.likelihood.ladder_verdict import Found, judged
from minprobflow.likelihood.verdict import Targets
from minprobflow.likelihood.weights import bennett

MODEL = laws.MODELS["RBM-1-tau1.0"]
EXACT = mpf.log_partition(MODEL, "exact").value
ROWS = laws.draw(MODEL, 40)


def gaussian_weights(n=2000, chains=20, spread=1.5, ratio=3.0, seed=0):
    """Log weights in both directions that fit each other (Crooks): normal ones, spread^2 / 2 below and above the ratio."""
    rng = np.random.default_rng(seed)
    up = ratio - spread**2 / 2 + spread * rng.normal(size=(n, chains))
    down = -(ratio + spread**2 / 2 + spread * rng.normal(size=(n, chains)))
    return links.Weights(up, down)


def test_bennetts_ratio_is_that_of_the_root_finder():
    up, down = gaussian_weights(50, 6)
    root, influence = links.bennett_by_chain(up, down)
    assert root == pytest.approx(bennett(up.ravel(), down.ravel())[0], abs=1e-6)
    without = [links.bennett_by_chain(np.delete(up, c, 1), np.delete(down, c, 1))[0] for c in range(6)]
    np.testing.assert_allclose(influence, (root - np.asarray(without)) * 5 / 6, atol=0.02)  # what a column does to the root


def test_the_sums_over_links_are_right_and_their_errors_too():
    errors, stated = [], []
    for seed in range(40):
        found = links.measured([gaussian_weights(100, 20, seed=seed), gaussian_weights(100, 20, spread=0.5, ratio=-1.0, seed=seed + 100)])
        errors.append([total.value - 2.0 for total in (found.between, found.lower, found.upper)])
        stated.append([total.stderr for total in (found.between, found.lower, found.upper)])
    np.testing.assert_allclose(np.mean(stated, 0), np.std(errors, 0), rtol=0.35)
    assert np.all(np.abs(np.mean(errors, 0)) < 4 * np.std(errors, 0) / np.sqrt(40) + 0.01)


def test_errors_do_not_shrink_with_repeated_measurements():
    """Columns are independent, rounds are not: each measurement ten times over says no more than once."""
    up, down = gaussian_weights(100)
    once, often = (links.measured([links.Weights(np.repeat(up, k, 0), np.repeat(down, k, 0))]) for k in (1, 10))
    for a, b in zip(once[:3], often[:3], strict=True):
        assert (a.value, a.stderr) == pytest.approx((b.value, b.stderr), rel=1e-6)


@pytest.mark.parametrize("slope", [1.0, 0.3])
def test_the_crooks_slope_tells_equilibrium_from_what_is_not(slope):
    up, down = gaussian_weights(spread=1.0)
    found, error = links.crooks_slope(up / slope, down / slope)  # weights stretched by 1 / slope
    assert abs(found - slope) < 4 * error and error < 0.05


def test_acceptance_is_the_mean_probability_of_a_swap():
    up, down = gaussian_weights(20, 5)
    work = np.zeros((40, 5, 3))
    work[::2, :, 0], work[::2, :, 1] = -up, -down  # even rounds measure link 0
    work[1::2, :, 1], work[1::2, :, 2] = 1.0, -1.0
    split = links.split(work, 0)
    np.testing.assert_array_equal(split[0].up, up)
    np.testing.assert_array_equal(split[1].down, np.ones((20, 5)))
    found = links.measured(split)
    assert found.acceptance[0] == pytest.approx(np.exp(np.minimum(up + down, 0)).mean())
    assert found.between.value == pytest.approx(links.bennett_by_chain(up, down)[0] - 1.0, abs=1e-6)


def test_new_rungs_get_the_states_of_their_neighbours():
    ladder = mpf.Trajectory.scaled(MODEL, n=3)
    climb = Climb(jax.random.key(0), ladder, np.zeros((6, 5)), 1)
    climb.advance()
    before = climb.state
    assert climb.refine([1]) and len(climb.ladder) == 4 and climb.turn == ROUNDS
    np.testing.assert_array_equal(climb.state.states[:, [0, 1, 3]], before.states)
    np.testing.assert_array_equal(climb.state.born[:, [0, 1, 3]], before.born)
    np.testing.assert_array_equal(climb.state.states[::2, 2], before.states[::2, 1])
    np.testing.assert_array_equal(climb.state.states[1::2, 2], before.states[1::2, 2])
    np.testing.assert_allclose(climb.ladder[2].weights, (ladder[1].weights + ladder[2].weights) / 2)
    climb.advance()
    assert climb.state.turn.tolist() == [2 * ROUNDS] * 6 and len(climb.paths(0)) == 4


def test_a_trajectory_that_ends_elsewhere_gets_the_model_as_a_rung():
    shorter = mpf.Trajectory.of(list(mpf.Trajectory.scaled(MODEL, ROWS, n=4))[:3])
    estimate = mpf.log_partition(MODEL, "trajectory", trajectory=shorter, chains=20)
    assert estimate.settings["rungs"] == 4 and not estimate.settings["scaled"]
    assert estimate.verdict == "trusted" and estimate.lower <= EXACT <= estimate.upper
    assert len(estimate.settings["acceptance"]) == 3 and estimate.ess == estimate.settings["climbs"] > 20
    likelihood = mpf.log_likelihood(MODEL, ROWS, "trajectory", trajectory=shorter, chains=20, seed=0, base_data=ROWS)
    assert likelihood.value == pytest.approx(mpf.log_likelihood(MODEL, ROWS).value, abs=0.1)
    json.dumps(mpf.runs.evaluate(MODEL, {"test": ROWS}, "trajectory", trajectory=shorter, chains=20))  # a record


def far_apart(strength=0.25, tilt=1.0, size=12):
    """A pattern and its opposite, which hold e^tilt to 1 of the mass, behind a barrier that chains do not cross."""
    pattern = np.where(np.arange(size) % 2, 1.0, -1.0)
    J = strength * np.outer(pattern, pattern) * (1 - np.eye(size))
    return mpf.Ising.from_spins(J, tilt / size / 2 * pattern)


def test_a_ladder_with_a_hole_is_not_trusted():
    """From independent units straight to a model of two deep modes: what comes up is never accepted, and what is there stays there."""
    model = far_apart()
    exact = mpf.log_partition(model, "exact").value
    hole = mpf.Trajectory.scaled(model, n=2)
    estimate = mpf.log_partition(model, "trajectory", trajectory=hole, chains=20, max_rounds=200, max_rungs=2)
    assert estimate.verdict == "do not trust" and estimate.lower <= exact <= estimate.upper
    assert any("come from rung 0" in reason for reason in estimate.warnings)
    assert any("hardly any exchange" in reason for reason in estimate.warnings)
    completed = mpf.log_partition(model, "trajectory", trajectory=hole, chains=20, seed=1)
    assert completed.settings["rungs"] > 2 and completed.lower <= exact <= completed.upper
    assert completed.verdict == "trusted" and abs(completed.value - exact) < 0.5


def test_a_column_that_is_caught_is_harmless_if_it_finds_no_more_than_others():
    climb = Climb(jax.random.key(0), mpf.Trajectory.scaled(MODEL, n=4), np.zeros((40, 5)), 1)
    for _ in range(15):
        climb.advance()
    climb.unborn = dict.fromkeys(climb.unborn, 0.004)
    climb.state = climb.state._replace(born=jnp.asarray(np.where(climb.births() < 0, 290, climb.births())).at[3, 2].set(-1))
    measured = links.measured(climb.weights(100))
    for more, reasons in ((0.0, 0), (5.0, 1)):
        columns = measured.upper.columns.copy()
        columns[3] = measured.upper.value + more
        changed = measured._replace(upper=measured.upper._replace(columns=columns))
        estimate = judged(Found(climb, changed, 100, [40], True), Targets(0.1, 0.5))
        assert sum("where the run began" in reason for reason in estimate.warnings) == reasons


def test_time_is_kept_to():
    model = far_apart()
    ladder = mpf.Trajectory.scaled(model, n=2)
    settings = {"trajectory": ladder, "chains": 20, "max_rungs": 2, "target_stderr": 1e-9}
    mpf.log_partition(model, "trajectory", **settings, max_rounds=20)  # compiled
    begun = time.perf_counter()
    estimate = mpf.log_partition(model, "trajectory", **settings, max_seconds=2.0, max_rounds=10**6)
    assert time.perf_counter() - begun < 6 and estimate.settings["rounds"] >= ROUNDS
    assert any("time was used up" in reason for reason in estimate.warnings)


def test_auto_takes_the_trajectory_where_there_is_one_and_no_enumeration():
    big = mpf.BernoulliRBM.init(0, 30, 26)
    ladder = mpf.Trajectory.scaled(big, n=2)
    assert mpf.log_partition(big, trajectory=ladder, chains=10).method == "trajectory"
    assert mpf.log_partition(MODEL, trajectory=mpf.Trajectory.scaled(MODEL, n=2)).method == "exact"
    with pytest.raises(mpf.InputError, match="betas"):
        mpf.log_partition(MODEL, trajectory=ladder, betas=5)
    with pytest.raises(mpf.InputError, match="a run that trained this model"):
        mpf.log_partition(MODEL, "trajectory", trajectory=ladder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"chains": 3}, "at least 10"), ({"max_rungs": 1}, "max_rungs"), ({"max_seconds": 0.0}, "max_seconds"), ({"steps": 0}, "steps")],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.log_partition(MODEL, "trajectory", **settings)


# the two checks of every estimate


def stated(value, stderr=0.01):
    return mpf.Estimate(value, stderr, value - 0.1, value + 0.1, 50.0, "ais", "trusted")


def test_known_states_may_not_have_more_mass_than_all():
    mass = checks.log_mass(MODEL, np.asarray(laws.all_states(MODEL), np.uint8).repeat(2, 0), ROWS)
    assert mass == pytest.approx(EXACT, abs=1e-5)  # each state counts once
    still = checks.Drift(0.0, 0.1, 100)
    fine = checks.passed(stated(EXACT), checks.Checks(mass, still))
    assert fine.verdict == "trusted" and fine.lower == pytest.approx(EXACT, abs=1e-5)  # what is known is a lower bound
    wrong = checks.passed(stated(EXACT - 0.5), checks.Checks(mass, still))
    assert wrong.verdict == "do not trust" and "more than 1" in wrong.warnings[0]
    assert wrong.lower <= wrong.value and wrong.upper >= EXACT - 1e-5
    assert checks.log_mass(laws.MODELS["GaussianRBM-0-tau1.0"], np.zeros((3, 5), np.float32)) == -np.inf


def test_samples_of_the_model_do_not_drift_and_others_do():
    exact = checks.drift(jax.random.key(0), MODEL, laws.draw(MODEL, 500), steps=300)
    assert not exact.found and exact.steps == 300
    top = np.asarray(laws.all_states(MODEL))[[int(np.argmax(laws.probabilities(MODEL)))]].repeat(500, 0).astype(np.uint8)
    lowest = checks.drift(jax.random.key(0), MODEL, top, steps=300)
    assert lowest.found and lowest.change > 0
    wide = checks.passed(stated(EXACT), checks.Checks(-np.inf, lowest))
    assert wide.verdict == "wide" and "drifts by +" in wide.warnings[0]
    assert checks.drift(jax.random.key(0), MODEL, top, seconds=1e-9).steps == checks.FIRST_STEPS


def test_every_estimate_by_sampling_says_what_the_checks_found():
    for method, settings in (("ais", {"betas": 50}), ("trajectory", {"chains": 20})):
        estimate = mpf.log_partition(MODEL, method, base_data=ROWS, **settings)
        assert estimate.settings["log_mass_of_known_states"] <= EXACT + 1e-5
        assert estimate.settings["drift_steps"] >= checks.FIRST_STEPS and estimate.settings["drift_stderr"] > 0


# samples


def test_samples_along_a_trajectory_have_the_right_shares():
    """Of two modes between which a plain chain does not move."""
    model = far_apart()
    pattern = np.where(np.arange(12) % 2, 1, 0)
    states = np.asarray(laws.all_states(model))
    share = laws.probabilities(model)[(states == pattern).sum(1) > 6].sum()
    v = mpf.sample(model, 2000, 300, along=mpf.Trajectory.scaled(model, n=16))
    assert abs(np.mean((v == pattern).sum(1) > 6) - share) < 4 * np.sqrt(share * (1 - share) / 2000)
    assert abs(np.mean((mpf.sample(model, 2000, 300) == pattern).sum(1) > 6) - share) > 0.1


def test_samples_that_are_not_renewed_come_with_a_warning():
    ladder = mpf.Trajectory.scaled(MODEL, n=4)
    with pytest.warns(UserWarning, match="100% of the samples have not come from"):
        mpf.sample(MODEL, 10, 2, along=ladder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        v = mpf.sample(MODEL, 10, 200, along=ladder, start=np.ones((10, 5)), held=[1, 0, 0, 0, 0])
    assert v[:, 0].all() and not v.all() and v.dtype == np.uint8
    with pytest.raises(mpf.InputError, match="leave out kernel="):
        mpf.sample(MODEL, along=ladder, kernel="tempering")
    with pytest.raises(mpf.InputError, match="a run that trained this model"):
        mpf.sample(mpf.Ising.init(5), along=ladder)


# commands


def main(arguments):
    """The exit code of a command, in this process."""
    monkey = pytest.MonkeyPatch()
    monkey.setattr(sys, "argv", ["minprobflow", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return end.code or 0
    finally:
        monkey.undo()
    return 0


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", laws.draw(MODEL, 60))
    config = mpf.Config.of({"data": "rows.npy", "hidden": 3, "epochs": 1, "batch_size": 10})
    mpf.train_run(config, tmp_path / "run")
    return tmp_path / "run"


def test_commands_use_the_trajectory_of_a_run(run_folder, capsys):
    model = mpf.load(run_folder / "best.safetensors")
    mpf.Trajectory.scaled(model, n=4).save(run_folder / "trajectory.safetensors")
    assert main(["evaluate", str(run_folder), "--method", "trajectory", "--chains", "20", "--json", "--quiet"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["method"] == "trajectory" and record["settings"]["scaled"] is False and record["settings"]["rungs"] == 4
    assert main(["sample", str(run_folder), "--equilibrium", "-n", "5", "--steps", "300", "--out", "s.npy", "--quiet"]) == 0
    assert np.load("s.npy").shape == (5, 5)
    (run_folder / "trajectory.safetensors").write_bytes(b"cut off")
    assert main(["evaluate", str(run_folder), "--method", "trajectory"]) == 2
    assert "truncated" in capsys.readouterr().err


def test_commands_without_a_trajectory_scale_the_weights(run_folder, capsys):
    best = str(run_folder / "best.safetensors")
    assert main(["evaluate", best, "--data", "rows.npy", "--method", "trajectory", "--chains", "20", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["scaled"] is True
    mpf.Trajectory.scaled(mpf.load(best), n=3).save("ladder.safetensors")
    named = ["--trajectory", "ladder.safetensors", "--method", "trajectory", "--chains", "20"]
    assert main(["evaluate", best, "--data", "rows.npy", *named, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["scaled"] is False
    assert main(["sample", best, "--equilibrium", "-n", "5", "--steps", "300", "--out", "s.npy", "--quiet"]) == 0
