"""Trajectory AIS: log Z while training, against enumeration."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from scipy import special

import minprobflow as mpf
from minprobflow.runs.validation import Validation, plateau
from minprobflow.train import tracking
from minprobflow.train.tracking import Tracked, TrackedPartition, tracked_partition
from minprobflow.train.watching import NAMES

WATCHED = [name for name in laws.SOME if name.startswith(("RBM-", "Ising", "Potts", "SpinRBM", "CategoricalRBM"))]
DIGITS = mpf.load_dataset("digits")
SETTINGS = {"epochs": 6, "batch_size": 20, "learning_rate": 0.3}


def start_of(model):
    return jax.tree.map(lambda x: 0.3 * x + 0.02, model)


def stated(metrics):
    return TrackedPartition(*(float(metrics[name]) for name in NAMES))


def exact(model):
    return float(mpf.log_partition(model, "exact").value)


@pytest.mark.parametrize("name", WATCHED)
def test_log_z_agrees_with_enumeration_all_along(name):
    """At every epoch, within its own error; at temperatures 0.5, 1 and 2."""
    data, seen = laws.draw(laws.MODELS[name], 400), []
    mpf.fit(
        start_of(laws.MODELS[name]),
        data,
        "pcd",
        **SETTINGS,
        likelihood_chains=2000,
        callbacks=[lambda epoch: seen.append((exact(epoch.model), stated(epoch.metrics))) and False],
    )
    assert len(seen) == 6
    for log_z, found in seen:
        assert found.stderr < 0.1
        assert abs(found.value - log_z) < max(4 * found.stderr, 1e-3)


def walked(model, steps, wrong=False, chains=20000):
    """Chains carried from independent units to the model; `wrong` samples with the new parameters before it weighs."""
    base = model.base(jnp.full(model.space.size, 0.5))
    v = jax.random.bernoulli(jax.random.key(0), 0.5, (10, chains // 10, model.space.size)).astype(float)
    tracked = Tracked(v, jnp.zeros(v.shape[:2]), jnp.full(10, float(base.base_log_partition())), jnp.zeros(()))
    for i in range(steps):
        before, after = (model.between(base, jnp.asarray(beta)) for beta in (i / steps, (i + 1) / steps))
        if wrong:
            tracked = tracking.weighed(jax.random.key(i), tracked, after, after)._replace(log_weights=tracked.log_weights)
            gains = before.free_energy(tracked.v) - after.free_energy(tracked.v)
            tracked = tracked._replace(log_weights=tracked.log_weights + gains)
        else:
            tracked = tracking.weighed(jax.random.key(i), tracked, before, after)
    return tracked_partition(tracked.by_group(), 0.0)


@pytest.mark.parametrize("name", ["RBM-0-tau0.5", "RBM-1-tau1.0", "RBM-2-tau2.0"])
def test_the_step_comes_before_the_weight(name):
    """In the right order the mean weight is unbiased however few steps there are; in the other one it is not."""
    model = laws.MODELS[name]
    right, wrong = walked(model, 2), walked(model, 2, wrong=True)
    assert abs(right.value - exact(model)) < 4 * right.stderr
    assert abs(wrong.value - exact(model)) > 10 * wrong.stderr


def test_resampling_keeps_the_sum_of_each_group():
    rng = np.random.default_rng(0)
    v, log_weights = (jnp.asarray(x, jnp.float32) for x in (rng.random((10, 40, 3)), rng.normal(size=(10, 40))))
    tracked = Tracked(v, log_weights, jnp.arange(10.0), jnp.zeros(()))
    due = jnp.asarray([True, False] * 5)
    new = tracking.resampled(jax.random.key(0), tracked, due)
    np.testing.assert_allclose(new.by_group(), tracked.by_group(), rtol=1e-6)
    np.testing.assert_array_equal(new.v[1::2], tracked.v[1::2])
    assert (new.log_weights[::2] == 0).all() and not (new.log_weights[1::2] == 0).any()


def test_systematic_resampling_copies_in_proportion():
    weights = np.random.default_rng(1).gamma(1.0, size=50)
    expected = 50 * weights / weights.sum()
    counts = []
    for u in np.linspace(0.005, 0.995, 100):
        chosen = np.asarray(tracking.systematic(jnp.asarray(u, jnp.float32), jnp.asarray(np.log(weights), jnp.float32)))
        counts.append(np.bincount(chosen, minlength=50))
        assert (np.abs(counts[-1] - expected) < 1 + 1e-4).all()
    np.testing.assert_allclose(np.mean(counts, 0), expected, atol=0.02)


def test_the_error_is_the_spread_between_groups():
    """Over many repetitions the stated error is as large as the real one, although chains were resampled."""
    model, values = laws.MODELS["RBM-1-tau1.0"], []
    base = model.base(jnp.full(model.space.size, 0.5))

    @jax.jit
    def run(key):
        v = jax.random.bernoulli(key, 0.5, (10, 20, model.space.size)).astype(float)
        tracked = Tracked(v, jnp.zeros(v.shape[:2]), jnp.full(10, base.base_log_partition()), jnp.zeros(()))
        for i in range(3):
            tracked = tracking.weighed(
                jax.random.fold_in(key, i), tracked, *(model.between(base, jnp.asarray(b / 3, jnp.float32)) for b in (i, i + 1))
            )
        return tracked

    for seed in range(200):
        values.append(tracked_partition(run(jax.random.key(seed)).by_group(), 0.0))
    spread = np.std([found.value for found in values])
    assert np.sqrt(np.mean([found.stderr**2 for found in values])) == pytest.approx(spread, rel=0.3)
    assert np.mean([found.lower <= exact(model) <= found.upper for found in values]) > 0.9


def test_groups_that_disagree_are_not_trusted():
    assert tracked_partition(np.zeros(10), 0.3).verdict == "trusted"
    assert tracked_partition(np.linspace(0, 1.0, 10), 0.6).verdict == "wide"
    apart = tracked_partition(np.asarray([0.0] * 9 + [8.0]), 6.0)
    assert tracked_partition(np.zeros(10), 1.0).verdict == "wide"  # chains from the data are elsewhere
    assert tracked_partition(np.zeros(10), 3.0).verdict == "do not trust" and tracked_partition(np.zeros(10), 3.0).upper == 3.0
    assert apart.verdict == "do not trust" and apart.value == pytest.approx(special.logsumexp([0] * 9 + [8]) - np.log(10))


@pytest.mark.parametrize("rule", ["pcd", "mpf-1flip"])
def test_training_is_the_same_with_and_without_the_chains(rule):
    model = mpf.BernoulliRBM.init(0, 64, 5, DIGITS.train)
    fits = [mpf.fit(model, DIGITS.train, rule, epochs=2, kernels="xla", likelihood_chains=chains) for chains in (0, 50)]
    for a, b in zip(*(jax.tree.leaves(fit.state._replace(tracked=None).model) for fit in fits), strict=True):
        np.testing.assert_array_equal(a, b)
    assert "log_partition" in fits[1].history[0] and "log_partition" not in fits[0].history[0]


def test_the_chains_resume_bit_for_bit(tmp_path):
    model, path = mpf.BernoulliRBM.init(0, 64, 5, DIGITS.train), tmp_path / "state.safetensors"
    settings = {"epochs": 4, "likelihood_chains": 50, "average": 0.9}
    whole = mpf.fit(model, DIGITS.train, "fpmpf", **settings)
    mpf.fit(model, DIGITS.train, "fpmpf", **settings, checkpoint=path, callbacks=[lambda epoch: epoch.number == 2])
    resumed = mpf.fit(model, DIGITS.train, "fpmpf", **settings, checkpoint=path, resume=True)
    assert len(resumed.history) == 2
    for a, b in zip(*(jax.tree.leaves(fit.state.tracked) for fit in (whole, resumed)), strict=True):
        np.testing.assert_array_equal(a, b)
    continued = mpf.fit(model, DIGITS.train, "fpmpf", **{**settings, "epochs": 5}, state=whole.state._replace(tracked=None))
    assert continued.state.tracked is not None  # begun at the model as it was


def test_the_chains_follow_the_averaged_model_and_each_replica():
    fit = mpf.fit(
        lambda key: mpf.BernoulliRBM.init(key, 64, 8, DIGITS.train),
        DIGITS.train,
        "pcd",
        epochs=4,
        average=0.9,
        seeds=2,
        likelihood_chains=400,
    )
    for i in range(2):
        found = tracked_partition(fit.state.tracked.by_group()[i], float(fit.state.tracked.reverse[i]))
        assert abs(found.value - exact(fit.replica(i))) < max(4 * found.stderr, 0.02)
        assert fit.history[-1]["log_partition"][i] == pytest.approx(found.value)
    hot = {"learning_rate": 1.0, "schedule": "constant"}  # the model is far from its mean over an epoch
    plain = mpf.fit(mpf.BernoulliRBM.init(0, 64, 8, DIGITS.train), DIGITS.train, "pcd", epochs=4, likelihood_chains=400, **hot)
    assert abs(exact(plain.state.path) - exact(plain.model)) > 1  # the chains are on the path; what is recorded is the model's
    found = stated(plain.history[-1])
    assert abs(found.value - exact(plain.model)) < max(4 * found.stderr, 0.02)
    on_path = tracked_partition(plain.state.tracked.by_group(), float(plain.state.tracked.reverse))
    assert abs(on_path.value - exact(plain.state.path)) < max(4 * on_path.stderr, 0.02)


def test_a_run_records_the_likelihood_with_its_error_and_verdict():
    config = mpf.Config.of(hidden=24, epochs=2)  # too many units to sum over
    run = mpf.train_run(config)
    assert run.config.likelihood_chains == 200
    for record in run.metrics:
        assert record["method"].startswith("trajectory AIS") and record["verdict"] == "trusted"
        assert 0 < record["stderr"] < 0.1
    log_z = mpf.log_partition(run.last, "ais", base_data=DIGITS.train).value
    expected = float(np.mean(-np.asarray(run.last.free_energy(DIGITS.valid)))) - log_z
    assert run.metrics[-1]["valid"] == pytest.approx(expected, abs=0.05)
    assert mpf.train_run(mpf.Config.of(hidden=8, epochs=1)).config.likelihood_chains is None  # summed exactly


def test_a_look_has_the_verdict_of_the_chains():
    model = mpf.BernoulliRBM.init(0, 64, 24, DIGITS.train)
    look = Validation(model, DIGITS)(model, 0, TrackedPartition(40.0, 0.6, 40.0))
    assert look.verdict == "do not trust" and look.method.startswith("trajectory") and look.stderr == 0.6
    assert Validation(model, DIGITS)(model, 0).method.startswith("AIS, 301 temperatures")  # no chains: a short run


@pytest.mark.parametrize("name", ["RBM-0-tau0.5", "RBM-2-tau2.0", "Ising-0-tau0.5"])
def test_chains_from_the_data_agree_where_data_and_model_do(name):
    """Data drawn from the model that the way ends at: both sides hold the enumerated difference."""
    model = laws.MODELS[name]
    begin = jax.tree.map(lambda x: 0.6 * x, model)
    rows = jnp.asarray(laws.draw(model, 5000))
    found = [float(tracking.gone_back(jax.random.key(i), rows, begin, model, jnp.asarray(20), False)) for i in range(20)]
    error = np.std(found) / np.sqrt(20)
    assert abs(np.mean(found) - (exact(model) - exact(begin))) < 4 * error + 0.02
    assert error < 0.1


def test_a_mode_that_only_the_data_know_is_not_trusted():
    """Chains from independent units go to the wide mode; the data are in a deep, narrow one that holds most of the mass."""
    data = np.zeros((200, 64), np.uint8)
    data[:, :32] = 1
    flat = mpf.BernoulliRBM(np.zeros((64, 1)), np.zeros(64), np.zeros(1))
    sign = np.where(np.arange(64) < 32, 1.0, -1.0)
    deep = mpf.BernoulliRBM(12 * sign[:, None], np.zeros(64), np.full(1, -330.0))
    key, steps = jax.random.key(0), jnp.asarray(100)
    tracked = tracking.begin(key, flat, np.tile([[0], [1]], (100, 64)).astype(np.uint8), 100)
    after = tracking.follow(key, tracked, flat, deep, steps, False)
    reverse = float(tracked.reverse + tracking.gone_back(key, jnp.asarray(data), flat, deep, steps, False))
    found = tracked_partition(after.by_group(), reverse)
    assert exact(deep) - found.value > 5  # missed
    assert found.verdict == "do not trust" and found.lower < exact(deep) < found.upper


def test_a_run_stops_on_a_plateau_and_stays_stopped(tmp_path):
    config = mpf.Config.of(hidden=4, epochs=60, rule="exact", learning_rate=1e-6, schedule="constant", stop_when="plateau", patience=3)
    looks = [{"epoch": n, "valid": -5.0, "stderr": 0.0} for n in range(9)]
    assert plateau(looks, 3) and not plateau([*looks, {"epoch": 9, "valid": -4.0, "stderr": 0.5}], 3)
    rising = mpf.train_run(mpf.Config.of(hidden=4, epochs=6, stop_when="plateau", patience=3))
    assert len(rising.metrics) == 6
    run = mpf.train_run(config, tmp_path / "run")
    assert 4 <= len(run.metrics) < 60
    again = mpf.train_run(config, tmp_path / "run", resume=True)
    assert again.summary["epochs"] == len(again.metrics) == len(run.metrics)


def test_a_bad_number_of_chains_is_refused():
    with pytest.raises(mpf.InputError, match="0 is for none"):
        mpf.fit(mpf.BernoulliRBM.init(0, 64, 4), DIGITS.train, "cd", epochs=1, likelihood_chains=-1)
    with pytest.raises(mpf.InputError, match="leave likelihood_chains out"):
        mpf.train_run(mpf.Config.of(score="trajectory", likelihood_chains=0))
