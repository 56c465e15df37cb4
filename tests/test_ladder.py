"""Rungs kept while training, exchange with their samples, and step control; against enumeration."""

import itertools

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from scipy import stats

import minprobflow as mpf
from minprobflow.flow.trajectory import Reservoir, acceptance, check_path, exchanged, some
from minprobflow.train import control, ladder
from minprobflow.train.ladder import KEEP, REJECT

MODEL = laws.MODELS["RBM-1-tau1.0"]
MODES = mpf.BernoulliRBM(np.full((10, 1), 4.0), np.full(10, -2.0), np.full(1, -20.0))  # nearly all units agree: far from independent ones
DATA, START = laws.draw(MODES, 400), mpf.BernoulliRBM.init(0, 10, 3)
FAST = {"epochs": 30, "batch_size": 40, "learning_rate": 0.3, "schedule": "constant"}


def samples(model, n, seed=0):
    return jnp.asarray(laws.draw(model, n, seed)).astype(float)


def true_acceptance(a, b):
    """Mean of min(1, e^D) over independent exact samples of both."""
    p, q = laws.probabilities(a), laws.probabilities(b)
    states = laws.all_states(a)
    gap = np.asarray(b.free_energy(states), np.float64) - np.asarray(a.free_energy(states), np.float64)
    return float(q @ np.minimum(1, np.exp(gap[:, None] - gap[None])) @ p)  # x ~ b, y ~ a


def p_value(model, v):
    expected = laws.probabilities(model) * len(v)
    counts = laws.counts_of_states(model, v)
    order = np.argsort(-expected)
    common = order[: max(int(np.sum(expected >= 5)), 1)]
    rest = np.setdiff1d(order, common)
    observed = np.append(counts[common], counts[rest].sum()) if len(rest) else counts[common]
    wanted = np.append(expected[common], expected[rest].sum()) if len(rest) else expected[common]
    return stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("name", ["RBM-0-tau0.5", "RBM-1-tau1.0", "RBM-2-tau2.0", "Ising-0-tau0.5"])
def test_acceptance_from_samples_of_the_rung_alone_is_that_of_enumeration(name):
    model = laws.MODELS[name]
    rung = jax.tree.map(lambda x: 0.6 * x, model)
    v = samples(rung, 4000)
    found = float(acceptance(model.free_energy(v) - rung.free_energy(v)))
    assert found == pytest.approx(true_acceptance(rung, model), abs=0.05)
    assert found < 0.95


def test_exchange_leaves_model_and_reservoir_as_they_are():
    rung = jax.tree.map(lambda x: 0.5 * x, MODEL)
    states = samples(rung, 20000, 1)
    held = Reservoir(rung, states, rung.free_energy(states))
    v, new, energies = exchanged(jax.random.key(0), MODEL, samples(MODEL, 4000, 2), held)
    assert p_value(MODEL, v) > 1e-3 and p_value(rung, new) > 1e-3
    np.testing.assert_allclose(energies, rung.free_energy(new), rtol=1e-5, atol=1e-5)
    moved = (np.asarray(new) != np.asarray(states)).any(1).mean()
    assert 0.02 < moved < 0.2  # a fifth of the members at most had a partner
    wrong = exchanged(jax.random.key(0), MODEL, samples(rung, 4000, 2), held)[0]
    assert p_value(MODEL, wrong) < 1e-6  # the test can tell


def test_chains_swap_with_different_members():
    chosen = np.asarray(some(jax.random.key(0), 50, 20))
    assert len(set(chosen)) == 20 and chosen.max() < 50


@pytest.fixture(scope="module")
def climbed():
    seen = []
    fit = mpf.fit(
        START,
        DATA,
        "pcd",
        **FAST,
        trajectory=True,
        callbacks=[lambda epoch: seen.append(epoch) and False],
    )
    return fit, seen


def test_rungs_are_kept_where_exchange_becomes_rare(climbed):
    fit, _ = climbed
    rungs = [fit.trajectory[i] for i in range(len(fit.trajectory))]
    assert len(rungs) > 2 and rungs[0].is_base() and (np.diff(fit.trajectory.steps[:-1]) > 0).all()
    links = [true_acceptance(a, b) for a, b in itertools.pairwise(rungs)]
    assert all(REJECT / 2 < link < KEEP + 0.1 for link in links[:-1])  # the last link leads to the model, which may be near
    np.testing.assert_array_equal(rungs[-1].weights, fit.model.weights)


def test_samples_of_every_rung_are_its_own(climbed):
    state = climbed[0].state.trajectory
    last = int(state.used) - 1
    assert p_value(state.reservoir.rung, state.reservoir.states) > 1e-3
    for i in (1, last):
        assert p_value(jax.tree.map(lambda leaf, i=i: leaf[i], state.rungs), state.states[i]) > 1e-4
    np.testing.assert_array_equal(state.reservoir.rung.weights, state.rungs.weights[last])


def test_thermalised_samples_forget_where_they_began():
    base = MODEL.base(jnp.full(5, 0.5))
    rungs = [MODEL.between(base, jnp.asarray(b, jnp.float32)) for b in (0.0, 0.5, 1.0)]
    padded = jax.tree.map(lambda *leaves: jnp.stack([*leaves, *[leaves[-1]] * (ladder.CAPACITY - 3)]), *rungs)
    states, taken = ladder.thermalised(jax.random.key(0), padded, jnp.zeros((ladder.CAPACITY, 100, 5)), 3)
    assert taken.shape == (1000, 5) and states.shape == (ladder.CAPACITY, 100, 5)
    assert p_value(MODEL, taken) > 1e-4 and p_value(rungs[1], states[1]) > 1e-4


def test_a_model_that_jumps_goes_back_at_half_the_rate(climbed):
    fit, _ = climbed
    optimizer = mpf.train.optimizer.build("momentum", True, 0.0, 0.0)
    state = fit.state._replace(optimizer=optimizer.init(fit.state.model))
    before = state.trajectory._replace(fresh=jnp.asarray(False))
    back = control.settled(state._replace(trajectory=before), 0.05, optimizer)
    np.testing.assert_array_equal(back.model.weights, before.reservoir.rung.weights)
    assert float(back.trajectory.scale) == float(before.scale) / 2 and int(back.trajectory.rejected) == int(before.rejected) + 1
    assert int(back.trajectory.used) == int(before.used)
    assert all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(back.optimizer))
    again = control.settled(state._replace(trajectory=before._replace(fresh=jnp.asarray(True))), 0.2, optimizer)  # right after a rung
    assert int(again.trajectory.rejected) == int(before.rejected) + 1
    kept = control.settled(state._replace(trajectory=before), 0.2, optimizer)
    assert int(kept.trajectory.used) == int(before.used) + 1 and int(kept.trajectory.rejected) == int(before.rejected)
    np.testing.assert_array_equal(kept.trajectory.reservoir.rung.weights, state.model.weights)


@pytest.mark.parametrize("rule", ["pcd", "fpmpf", "ptt"])
def test_too_high_a_rate_is_halved_until_the_model_no_longer_jumps(rule):
    fit = mpf.fit(START, DATA, rule, epochs=6, batch_size=40, learning_rate=30.0, trajectory=True)
    last = fit.history[-1]
    assert last["rejected"] > 0 and last["rate_scale"] < 1 and np.isfinite(last["objective"])


def test_a_full_ladder_gives_up_the_rung_that_is_missed_least(monkeypatch):
    base = MODEL.base(jnp.full(5, 0.5))
    rungs = [MODEL.between(base, jnp.asarray(b, jnp.float32)) for b in (0.0, 0.4, 0.45, 0.5, 1.0)]
    monkeypatch.setattr(ladder, "CAPACITY", 5)
    rule, held = (), Reservoir(rungs[-1], samples(MODEL, 100), jnp.zeros(100))
    states = jnp.stack([samples(rung, 200) for rung in rungs])
    one = jnp.ones((), int)
    full = ladder.Ladder(
        jax.tree.map(lambda *x: jnp.stack(x), *rungs), jnp.arange(5), 5 * one, states, held, rule, one.astype(float), one > 0, one
    )
    less = ladder.thinned(full)
    assert less.steps.tolist()[:4] == [0, 1, 3, 4] and int(less.used) == 4
    np.testing.assert_array_equal(less.states[2], states[3])


def test_resume_with_rungs_is_bit_exact(tmp_path):
    path, settings = (
        tmp_path / "state.safetensors",
        {**FAST, "epochs": 8, "learning_rate": 1.0, "trajectory": True, "likelihood_chains": 20},
    )
    whole = mpf.fit(START, DATA, "pcd", **settings)
    mpf.fit(START, DATA, "pcd", **settings, checkpoint=path, callbacks=[lambda epoch: epoch.number == 4])
    resumed = mpf.fit(START, DATA, "pcd", **settings, checkpoint=path, resume=True)
    assert len(resumed.history) == 4 and len(whole.trajectory) > 2
    for a, b in zip(*(jax.tree.leaves(fit.state._replace(key=None)) for fit in (whole, resumed)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_at_refresh_one_the_flow_is_half_the_contrast(float64):
    model, rows = laws.doubled(START), jnp.asarray(DATA)
    gradients = []
    for rule in (mpf.PTT(k=2), mpf.FlowPTT(k=2)):
        built = rule.build(16)
        state = built.connect(jax.random.key(1), model, built.init(jax.random.key(0), model, rows), rows[:16].astype(float))
        gradients.append(jax.grad(lambda m, built=built, state=state: built.loss(m, state, rows[:16].astype(float))[0])(model))
    for a, b in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(a, 2 * b, rtol=1e-9, atol=1e-12)


def test_a_run_keeps_its_trajectory_in_its_folder(tmp_path):
    config = mpf.Config.of(hidden=6, epochs=12, trajectory=True, learning_rate=1.0)
    run = mpf.train_run(config, tmp_path / "run")
    kept = mpf.Trajectory.load(tmp_path / "run" / "trajectory.safetensors")
    assert run.metrics[-1]["rungs"] == len(kept) - 1 > 1
    np.testing.assert_array_equal(kept.last.weights, run.last.weights)
    assert mpf.train_run(mpf.Config.of(hidden=6, epochs=1, rule="ptt", k=1)).metrics[0]["rungs"] >= 1


def test_models_without_independent_units_are_refused():
    model = mpf.EnergyModel(lambda J, v: -v @ J @ v, jnp.zeros((5, 5)), 5)
    with pytest.raises(mpf.InputError, match="train it without one"):
        check_path(model)
    with pytest.raises(mpf.InputError, match="train it without one"):
        mpf.fit(model, DATA[:, :5], "pcd", epochs=1, trajectory=True)
    for name in laws.FIRST:
        if not name.startswith("EnergyModel"):
            check_path(laws.MODELS[name])


def test_replicas_climb_ladders_of_their_own():
    settings = {**FAST, "epochs": 6, "learning_rate": 1.0, "trajectory": True}
    together = mpf.fit(START, DATA, "ptt", seeds=2, seed=5, **settings)
    assert together.trajectory is None and together.history[-1]["rungs"].shape == (2,) and together.history[-1]["rungs"].max() > 1
    for i in range(2):
        alone = mpf.fit(START, DATA, "ptt", seed=5 + i, **settings)
        np.testing.assert_array_equal(together.replica(i).weights, alone.model.weights)
        assert int(alone.state.trajectory.used) == together.history[-1]["rungs"][i]
        np.testing.assert_array_equal(together.state.trajectory.steps[i], alone.state.trajectory.steps)
