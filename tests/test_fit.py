"""`fit`: options, errors before any work, divergence, checkpoints."""

import functools
import warnings

import jax
import jax.numpy as jnp
import laws
import numpy as np
import optax
import pytest

import minprobflow as mpf
from minprobflow.train import centred_gradient, constant_rate
from minprobflow.train.epoch import reconstruction_error, run_epoch
from minprobflow.train.penalties import penalties

MODEL = laws.MODELS["RBM-1-tau1.0"]
DATA = laws.draw(MODEL, 200)
START = mpf.BernoulliRBM.init(0, 5, 3, DATA)
QUICK = {"epochs": 2, "batch_size": 50}


def leaves(fit):
    return jax.tree.leaves(fit.model)


def different(a, b):
    return any(not np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


BAD_DATA = [
    (np.full((10, 5), 0.5), "binary.*threshold"),
    (np.where(DATA == 0, -1, 1), r"\(x \+ 1\) / 2"),
    (np.full((10, 5), np.nan), "missing value.*impute"),
    (np.full((10, 5), np.inf), "binary"),
    (np.zeros((10, 6)), "6 columns.*5 visible"),
    (np.zeros((0, 5)), "empty"),
    (np.zeros(5), r"x\[None\]"),
    (np.zeros((2, 5, 5)), "reshape"),
    (np.asarray([["a"] * 5]), "numbers 0 and 1"),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_bad_data_are_refused_with_a_remedy(data, message):
    before = run_epoch._cache_size()
    with pytest.raises(mpf.InputError, match=message):
        mpf.fit(START, data, "cd", **QUICK)
    assert run_epoch._cache_size() == before


BAD_SETTINGS = [
    ({"rule": "cdd"}, "did you mean 'cd'.*cd, exact, flow-ptt, fmpf, fpmpf, mpf-1flip, pcd, pmpf"),
    ({"rule": "cd", "k": 0}, "k=0"),
    ({"rule": "cd", "kk": 3}, "no setting 'kk': it has k, refresh"),
    ({"rule": "exact", "k": 3}, "no setting 'k'"),
    ({"batch_size": 201}, "200 examples"),
    ({"batch_size": 0}, "batch_size=0"),
    ({"epochs": 0}, "epochs=0"),
    ({"learning_rate": -1.0}, "learning_rate"),
    ({"learning_rate": float("nan")}, "learning_rate"),
    ({"optimizer": "sgdd"}, "sgd, momentum, adam"),
    ({"optimizer": optax.sgd(0.1), "learning_rate": 0.1}, "its own learning rate"),
    ({"average": 1.5}, "average"),
    ({"average": "mean"}, "polyak"),
    ({"l2": -1.0}, "l2=-1.0.* at least 0"),
    ({"seeds": 0}, "seeds"),
    ({"l2": float("nan")}, "finite"),
    ({"resume": True}, "checkpoint="),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings_are_refused_with_a_remedy(settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.fit(START, DATA, **{**QUICK, **settings})


def test_models_without_units_are_refused():
    for sizes in ((0, 3), (3, 0)):
        with pytest.raises(mpf.InputError, match="at least one unit"):
            mpf.BernoulliRBM.init(0, *sizes)
        with pytest.raises(mpf.InputError, match="at least one unit"):
            mpf.BernoulliRBM(np.zeros(sizes), np.zeros(sizes[0]), np.zeros(sizes[1]))
    with pytest.raises(mpf.InputError, match=r"weights\.T"):
        mpf.BernoulliRBM(np.zeros((2, 3)), np.zeros(3), np.zeros(2))
    with pytest.raises(mpf.InputError, match="tau"):
        mpf.BernoulliRBM(np.zeros((2, 3)), np.zeros(2), np.zeros(3), tau=0.0)
    with pytest.raises(mpf.InputError, match="width 5"):
        START.free_energy(np.zeros((2, 4)))


def test_exact_rule_refuses_what_cannot_be_enumerated():
    with pytest.raises(mpf.InputError, match="2\\^21"):
        mpf.fit(mpf.BernoulliRBM.init(0, 30, 21), np.zeros((10, 30)), "exact", batch_size=5)


def test_a_diverging_run_stops_and_keeps_the_last_good_state(tmp_path):
    path = tmp_path / "state.safetensors"
    settings = {"batch_size": 50, "checkpoint": path, "centred": False, "learning_rate": lambda step: jnp.where(step < 4, 0.1, jnp.nan)}
    with pytest.raises(mpf.TrainingDiverged, match=r"update 6.*learning rate.*lower it.*update 4\)") as stopped:
        mpf.fit(START, DATA, "cd", epochs=4, **settings)
    assert stopped.value.step == 6
    assert int(stopped.value.state.step) == 4
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(stopped.value.state.model))
    kept = mpf.load_state(path, stopped.value.state)
    np.testing.assert_array_equal(kept.model.weights, stopped.value.state.model.weights)


def test_a_constant_rate_is_told_by_its_number_and_is_part_of_what_a_resumed_run_must_share(tmp_path):
    run = functools.partial(mpf.fit, START, DATA, "cd", batch_size=50, progress=False, checkpoint=tmp_path / "state.safetensors")
    with pytest.raises(mpf.TrainingDiverged, match=r"learning rate \(constant\(3e\+38\)\) is too high"):
        run(epochs=2, learning_rate=constant_rate(3e38))
    run(epochs=1, learning_rate=constant_rate(0.1))
    run(epochs=2, learning_rate=constant_rate(0.1), resume=True)
    with pytest.raises(mpf.ModelFileError, match=r"learning_rate was 'constant\(0.1\)', now 'constant\(0.2\)'"):
        run(epochs=3, learning_rate=constant_rate(0.2), resume=True)


def test_nan_is_never_written_over_a_good_file(tmp_path):
    path = tmp_path / "model.safetensors"
    mpf.save(START, path)
    before = path.read_bytes()
    broken = mpf.BernoulliRBM(START.weights.at[0, 0].set(jnp.nan), START.visible_bias, START.hidden_bias)
    with pytest.raises(mpf.InputError, match="non-finite"):
        mpf.save(broken, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(mpf.InputError, match="non-finite"):
        mpf.fit(broken, DATA, "cd", **QUICK)


def test_learning_rate_decays_to_zero_by_default():
    """The update of the last step is 1/total of the first rate: with a constant schedule the weights end elsewhere."""
    decaying = mpf.fit(START, DATA, "exact", **QUICK, learning_rate=0.5)
    constant = mpf.fit(START, DATA, "exact", **QUICK, learning_rate=lambda step: 0.5 * jnp.ones(()))
    by_hand = mpf.fit(START, DATA, "exact", **QUICK, learning_rate=lambda step: 0.5 * (1 - step / 8))
    assert different(decaying, constant)
    for a, b in zip(leaves(decaying), leaves(by_hand), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["momentum", "adam", optax.sgd(0.1, momentum=0.5)], ids=["momentum", "adam", "optax"])
def test_optimizers_train(optimizer):
    with jax.numpy_dtype_promotion("standard"):  # optax's Adam divides by integers
        fit = mpf.fit(laws.MODELS["RBM-2-tau2.0"], DATA, "exact", epochs=30, batch_size=50, optimizer=optimizer)
    assert fit.history[-1]["objective"] < fit.history[0]["objective"] - 0.02


def test_the_centred_gradient_is_on_where_supported_and_matters():
    default = mpf.fit(START, DATA, "exact", **QUICK)
    assert different(default, mpf.fit(START, DATA, "exact", **QUICK, centred=False))
    assert not different(default, mpf.fit(START, DATA, "exact", **QUICK, centred=True))
    with pytest.raises(mpf.InputError, match="centred=False"):
        mpf.fit(laws.MODELS["EnergyModel-0"], DATA, "exact", **QUICK, centred=True)


def test_centred_gradient_equals_descent_on_the_centred_model(float64):
    """One step of the transformation equals one step of gradient descent on E = -(v-mu)'W(h-lam) - b'(v-mu) - c'(h-lam)."""
    model, v = laws.doubled(MODEL), jnp.asarray(DATA[:20]).astype(float)
    mu, lam, _ = model.offsets(v)

    def plain(w, b, c):
        return mpf.BernoulliRBM(w, b - w @ lam, c - mu @ w)

    def loss(m):
        return jnp.mean(m.free_energy(v)) + mpf.enumeration.log_partition(m)

    start = (model.weights, model.visible_bias + model.weights @ lam, model.hidden_bias + mu @ model.weights)
    gradient = jax.grad(lambda *p: loss(plain(*p)), argnums=(0, 1, 2))(*start)
    expected = plain(*(p - 0.01 * g for p, g in zip(start, gradient, strict=True)))
    transformation = centred_gradient()
    update, _ = transformation.update(jax.grad(loss)(model), transformation.init(model), model, batch=v)
    stepped = jax.tree.map(lambda p, u: p - 0.01 * u, model, update)
    for a, b in zip(jax.tree.leaves(stepped), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_penalties_are_part_of_the_objective():
    """At the optimum of likelihood + l2 sum W^2 the gradients balance: 2 l2 W = -dNLL/dW; biases are not penalised."""
    fit = mpf.fit(START, DATA, "exact", epochs=600, batch_size=200, l2=0.05, learning_rate=0.5)
    gradient = jax.grad(lambda m: jnp.mean(m.free_energy(DATA)) + mpf.enumeration.log_partition(m))(fit.model)
    np.testing.assert_allclose(gradient.weights, -2 * 0.05 * fit.model.weights, atol=5e-3)
    np.testing.assert_allclose(gradient.visible_bias, 0, atol=5e-3)
    sparse = mpf.fit(START, DATA, "exact", epochs=600, batch_size=200, l1=0.2, learning_rate=0.1)
    assert np.abs(sparse.model.weights).max() < 0.05


@pytest.mark.parametrize("average", ["polyak", 0.8])
def test_averages(average):
    """By hand over single-update epochs."""
    models = []
    fit = mpf.fit(
        START,
        DATA,
        "exact",
        epochs=6,
        batch_size=200,
        average=average,
        callbacks=[lambda e: models.append(np.asarray(e.state.model.weights))],
    )
    expected = models[0]
    for t, weights in enumerate(models[1:], 1):
        rate = 1 / (t + 1) if average == "polyak" else max(0.2, 1 / (t + 1))
        expected = expected + rate * (weights - expected)
    np.testing.assert_allclose(fit.model.weights, expected, rtol=1e-4, atol=1e-6)
    assert not np.array_equal(fit.model.weights, models[-1])


def test_ten_seeds_at_once_compile_once_and_differ():
    before = run_epoch._cache_size()
    fit = mpf.fit(lambda key: mpf.BernoulliRBM.init(key, 5, 3, DATA), DATA, "fpmpf", k=2, refresh=3, epochs=3, batch_size=50, seeds=10)
    assert run_epoch._cache_size() - before == 1
    assert fit.model.weights.shape == (10, 5, 3)
    assert fit.history[0]["objective"].shape == (10,)
    assert len({np.asarray(fit.replica(i).weights).tobytes() for i in range(10)}) == 10
    with pytest.raises(mpf.InputError, match="replica"):
        mpf.save(fit.model, "never-written.safetensors")


def test_data_stay_uint8_on_the_device():
    text = run_epoch.lower(
        mpf.fit(START, DATA, "cd", **QUICK).state,
        jnp.asarray(np.tile(DATA, (10, 1))),
        None,
        rule=mpf.CD(),
        optimizer=mpf.train.optimizer.build("sgd", True, 0.0, 0.0),
        batch_size=50,
        average=None,
        replicas="one",
    ).as_text()
    assert "tensor<2000x5xui8>" in text
    assert "tensor<2000x5xf32>" not in text


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    mpf.fit(START, DATA, "cd", **QUICK, checkpoint=path)
    with pytest.raises(mpf.ModelFileError, match=r"rule was.*now"):
        mpf.fit(START, DATA, "pcd", **QUICK, checkpoint=path, resume=True)
    with pytest.raises(mpf.ModelFileError, match=r"data was"):
        mpf.fit(START, DATA[::-1], "cd", **QUICK, checkpoint=path, resume=True)
    warmer = mpf.BernoulliRBM(START.weights, START.visible_bias, START.hidden_bias, tau=2.0)
    with pytest.raises(mpf.ModelFileError, match=r"model was .*tau=1\.0.*now .*tau=2\.0"):
        mpf.fit(warmer, DATA, "cd", **QUICK, checkpoint=path, resume=True)
    with pytest.raises(mpf.ModelFileError, match="training state"):
        mpf.save(START, path)
        mpf.fit(START, DATA, "cd", **QUICK, checkpoint=path, resume=True)


def test_every_update_and_epoch_has_its_own_random_numbers():
    """At a vanishing rate nothing changes but the shuffle and the draws."""
    still = {"epochs": 1, "batch_size": 50, "learning_rate": 1e-30}
    state = mpf.fit(MODEL, DATA, "exact", **still).state
    settings = {
        "rule": mpf.Exact(),
        "optimizer": mpf.train.optimizer.build("sgd", True, 0.0, 0.0),
        "batch_size": 50,
        "average": None,
        "replicas": "one",
    }
    rate = mpf.train.optimizer.decaying_rate(1e-30, 100)
    epochs = [run_epoch(state._replace(step=jnp.asarray(step)), jnp.asarray(DATA), rate, **settings)[1] for step in (0, 4, 0)]
    np.testing.assert_array_equal(epochs[0].objective, epochs[2].objective)
    assert not np.any(np.isclose(epochs[0].objective, epochs[1].objective, atol=1e-7))  # draws nothing: other batches
    one = mpf.fit(MODEL, DATA, "cd", epochs=3, batch_size=200, learning_rate=1e-30).history
    assert len({float(record["objective"]) for record in one}) == 3  # the same batch, other draws
    equal = mpf.fit(MODEL, np.repeat(DATA[:1], 200, 0), "cd", epochs=3, batch_size=200, learning_rate=1e-30).history
    assert len({float(record["objective"]) for record in equal}) == 3  # even where the shuffle changes nothing


def test_schedules_count_updates_from_zero():
    """A rate of 0.5 for the first of two updates, for the second, for both, for none."""
    start = jax.tree.map(lambda leaf: 0.5 * leaf, MODEL)
    first, second, both, none = (
        mpf.fit(
            start, DATA, "exact", epochs=2, batch_size=200, learning_rate=lambda step, on=on: jnp.where(jnp.isin(step, on), 0.5, 0.0)
        ).model.weights
        for on in map(jnp.asarray, ([0], [1], [0, 1], [2]))
    )
    np.testing.assert_array_equal(none, start.weights)
    np.testing.assert_allclose(first, second, atol=1e-6)  # one and the same step, sooner or later
    assert np.abs(first - none).max() > 1e-3 and np.abs(both - first).max() > 1e-3


@pytest.mark.parametrize("schedule", [optax.constant_schedule(0.1), lambda step: 0.1, optax.cosine_decay_schedule(0.1, 8)])
def test_any_schedule_will_do(schedule):
    with jax.numpy_dtype_promotion("standard"):  # optax's schedules divide by integers
        assert np.isfinite(mpf.fit(START, DATA, "cd", **QUICK, learning_rate=schedule).model.weights).all()


def test_replicas_are_counted():
    fit = mpf.fit(START, DATA, "cd", **QUICK, seeds=2)
    for i, message in ((-1, "at least 0"), (2, "there are 2")):
        with pytest.raises(mpf.InputError, match=message):
            fit.replica(i)
    with pytest.raises(mpf.InputError, match="seeds="):
        mpf.fit(START, DATA, "cd", **QUICK).replica(0)


def test_callbacks_see_every_epoch_and_can_stop(capsys):
    seen = []
    fit = mpf.fit(
        START, DATA, "cd", epochs=5, batch_size=50, callbacks=[lambda e: seen.append(e.number), lambda e: e.number == 3], progress=True
    )
    assert seen == [1, 2, 3]
    assert [record["epoch"] for record in fit.history] == [1, 2, 3]
    assert "3/5" in capsys.readouterr().err


def test_replicas_in_turn_are_the_single_runs_bit_for_bit():
    settings = {"epochs": 2, "batch_size": 50, "k": 2, "refresh": 2}
    together = mpf.fit(MODEL, DATA, "fpmpf", seeds=3, seed=5, **settings)
    for i in range(3):
        alone = mpf.fit(MODEL, DATA, "fpmpf", seed=5 + i, **settings)
        for a, b in zip(jax.tree.leaves(together.replica(i)), jax.tree.leaves(alone.model), strict=True):
            np.testing.assert_array_equal(a, b)


def test_penalties_have_the_gradient_of_their_definition():
    """Of l1 sum|W| + l2 sum W^2, and nothing for the biases."""
    zero = jax.tree.map(jnp.zeros_like, MODEL)
    transformation = penalties(l1=0.3, l2=0.7)
    added, _ = transformation.update(zero, transformation.init(MODEL), MODEL)
    weights = np.asarray(MODEL.weights)
    np.testing.assert_allclose(added.weights, 0.3 * np.sign(weights) + 1.4 * weights, rtol=1e-6)
    assert not np.any(added.visible_bias) and not np.any(added.hidden_bias)


def test_centring_follows_a_running_mean():
    """A plain mean of the first batches, then an exponential one: by hand."""
    transformation = centred_gradient(rate=0.2)
    state, expected = transformation.init(MODEL), np.zeros(5)
    update = jax.jit(lambda state, batch: transformation.update(MODEL, state, MODEL, batch=batch)[1])
    for seen in range(9):
        batch = DATA[20 * seen : 20 * (seen + 1)].astype(np.float32)
        state = update(state, jnp.asarray(batch))
        expected = expected + max(0.2, 1 / (seen + 1)) * (batch.mean(0) - expected)
        np.testing.assert_allclose(state.offsets.visible, expected, rtol=1e-5)
        if seen == 4:
            np.testing.assert_allclose(expected, DATA[:100].mean(0))
    assert int(state.seen) == 9


@pytest.mark.parametrize("damage", ["altered", "cut off", "removed"])
def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path, damage):
    """The run continues from there, bit for bit; from the start it would take more epochs."""
    path = tmp_path / "state.safetensors"
    settings = {"epochs": 4, "batch_size": 50}
    whole = mpf.fit(START, DATA, "pcd", **settings)
    mpf.fit(START, DATA, "pcd", **settings, checkpoint=path, callbacks=[lambda epoch: epoch.number == 3])
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.unlink()
    if damage != "removed":
        path.write_bytes(content if damage == "altered" else content[: len(content) // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        resumed = mpf.fit(START, DATA, "pcd", **settings, checkpoint=path, resume=True)
    assert [record["epoch"] for record in resumed.history] == [3, 4]
    for a, b in zip(leaves(whole), leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("start", [lambda tau: mpf.BernoulliRBM.init(0, 5, 3, DATA, tau), lambda tau: mpf.Ising.init(5, DATA, tau)])
def test_a_start_with_data_has_their_means_at_every_temperature(start):
    """Without its couplings it is independent units with the data's means, which half a count each way keeps off 0 and 1."""
    means = (DATA.sum(0) + 0.5) / (len(DATA) + 1)
    expected = np.mean(DATA @ np.log(means) + (1 - DATA) @ np.log(1 - means))
    for tau in (0.5, 1.0, 2.0):
        model = start(tau)
        independent = jax.tree.map(lambda leaf, on: jnp.zeros_like(leaf) if on else leaf, model, model.penalised())
        assert mpf.log_likelihood(independent, DATA, "exact").value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["RBM-1-tau1.0", "Ising-0-tau0.5"])
def test_the_reconstruction_error_is_its_definition(name):
    """Through the hidden means; without hidden units, the probability that one random unit, redrawn given the others, changes."""
    model, key, batch = laws.MODELS[name], jax.random.key(3), jnp.asarray(DATA[:20]).astype(float)
    if name.startswith("RBM"):
        expected = np.abs(np.asarray(batch) - model.visible_mean(model.hidden_mean(batch))).mean()
    else:
        site = int(jax.random.randint(key, (), 0, 5))
        flipped = np.asarray(batch).copy()
        flipped[:, site] = 1 - flipped[:, site]
        p = laws.probabilities(model)
        here, there = (p[np.asarray(v).astype(int) @ (2 ** np.arange(5))] for v in (batch, flipped))
        expected = np.mean(there / (here + there))
    assert float(reconstruction_error(key, model, batch)) == pytest.approx(expected, rel=1e-4)


def test_recorded_metrics_are_means_over_the_updates():
    single = mpf.fit(START, DATA, "exact", epochs=1, batch_size=200, learning_rate=1e-30).history[0]
    several = mpf.fit(START, DATA, "exact", epochs=1, batch_size=50, learning_rate=1e-30).history[0]
    assert several["objective"] == pytest.approx(single["objective"], rel=1e-5)  # nothing moves: batches average to the whole


def test_under_adam_the_gradient_is_not_centred_by_default():
    with jax.numpy_dtype_promotion("standard"):  # optax's Adam raises its decays to integers
        default, off, on = (mpf.fit(START, DATA, "exact", **QUICK, optimizer="adam", centred=centred) for centred in (None, False, True))
    assert not different(default, off) and different(default, on)
