"""Laws that every rule must obey, on every model it claims. Rules are discovered: a new one is tested without touching this file."""

from functools import cache

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.flow.objectives import contrast, probability_flow
from minprobflow.rules.particle_rule import ParticleRule
from minprobflow.samplers import default_kernel
from minprobflow.train import loop
from minprobflow.train.epoch import run_epoch


@cache
def rows_of(name):
    single_precision = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with single_precision(False):
        return laws.draw(laws.MODELS[name], 400)  # whatever the precision of the test that asks first


def claims(rule, model):
    try:
        mpf.rule(rule).check(model)
    except mpf.InputError:
        return False
    return True


# A rule asks a model for free energies and for samples, flips or sums. So every rule is tested with the RBM, and every other model
# with one rule of each kind: what a pair beyond these would add is compilation, which takes most of the time.
ONE_OF_EACH_KIND = ("fpmpf", "ptt", "mpf-1flip", "exact")


def is_tested(rule, name):
    return (name.startswith("RBM") or rule in ONE_OF_EACH_KIND or rule not in BUILT_IN) and claims(rule, laws.MODELS[name])


BUILT_IN = {spec.name for spec in vars(mpf.rules).values() if isinstance(spec, type) and getattr(spec, "name", None)}
# the first model of each family is enough for what is not about tau
PAIRS = [(rule, name) for rule in laws.RULES for name in laws.FIRST if is_tested(rule, name)]
TAU_PAIRS = [(rule, name) for rule in laws.RULES for name in laws.SOME if is_tested(rule, name)]
# and what `vmap` does to a rule or to a model does not depend on the other
REPLICA_PAIRS = [(rule, name) for rule, name in PAIRS if name.startswith("RBM") or rule == "fpmpf"]


# tests of a pair run in one process with the same shapes and settings, so that they share one compilation
def on_one_worker(pairs):
    return pytest.mark.parametrize(("rule", "name"), [pytest.param(*pair, marks=pytest.mark.xdist_group("-".join(pair))) for pair in pairs])


every_pair = on_one_worker(PAIRS)
SETTINGS = {"batch_size": 50, "average": 0.9}
every_pair_and_temperature = pytest.mark.parametrize(("rule", "name"), TAU_PAIRS)


def start_of(model):
    """A model of the same family, away from the truth."""
    return jax.tree.map(lambda x: 0.5 * x + 0.05, model)


@every_pair_and_temperature
def test_gradient_equals_finite_differences(rule, name, float64):
    """Of the loss with the drawn states held fixed, at parameters that have moved away from theta_old."""
    model = laws.doubled(laws.MODELS[name])
    built = mpf.rule(rule).build(16)
    batch = jnp.asarray(rows_of(name)[:16]).astype(float)

    @jax.jit
    def connected(model, rows, batch):
        return built.connect(jax.random.key(1), model, built.init(jax.random.key(0), model, rows), batch)

    state = connected(model, jnp.asarray(rows_of(name)), batch)
    moved = jax.tree.map(lambda x: 0.9 * x + 0.02, model)
    for by_gradient, by_differences in laws.slopes(lambda m: built.loss(m, state, batch)[0], moved, 2):
        assert by_gradient == pytest.approx(by_differences, rel=1e-6, abs=1e-8)


@jax.jit
def log_likelihood(model, data):
    return jnp.mean(-model.free_energy(data)) - mpf.enumeration.log_partition(model)


@every_pair
def test_training_raises_the_exact_likelihood(rule, name):
    truth, data = laws.MODELS[name], rows_of(name)
    model = start_of(truth)

    trained = mpf.fit(model, data, rule, epochs=60, **SETTINGS).model
    best, before, after = (float(log_likelihood(m, jnp.asarray(data))) for m in (truth, model, trained))
    assert best - before > 0.05
    assert best - after < 0.5 * (best - before)


@every_pair
def test_metrics_are_finite_and_in_range(rule, name):
    history = mpf.fit(start_of(laws.MODELS[name]), rows_of(name), rule, epochs=2, **SETTINGS).history
    for record in history:
        assert all(np.isfinite(record[key]) for key in ("objective", "log_flow", "ess", "reconstruction_error", "gradient_norm"))
        assert 0 < record["ess"] <= 1 + 1e-5
        assert 0 < record["reconstruction_error"] < (1 if name in laws.COUNTABLE else np.inf)  # a probability, or a distance
        assert record["gradient_norm"] > 0


def assert_same_states(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        plain = (jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in (a, b))
        np.testing.assert_array_equal(*plain)


@every_pair
def test_resume_is_bit_exact(rule, name, tmp_path):
    settings = {"epochs": 4, "seed": 3, **SETTINGS}
    model, data = start_of(laws.MODELS[name]), rows_of(name)
    whole, programs = mpf.fit(model, data, rule, **settings), run_epoch._cache_size()
    path = tmp_path / "state.safetensors"
    stopped = mpf.fit(model, data, rule, **settings, checkpoint=path, callbacks=[lambda epoch: epoch.number == 2])
    assert len(stopped.history) == 2
    read = mpf.fit(model, data, rule, **{**settings, "epochs": 2}, checkpoint=path, resume=True)  # nothing is left to do
    assert_same_states(stopped.state, read.state)  # compared here too: chains with the same random numbers soon meet
    resumed = mpf.fit(model, data, rule, **settings, checkpoint=path, resume=True)
    assert len(resumed.history) == 2
    assert_same_states(whole.state, resumed.state)
    assert run_epoch._cache_size() == programs  # what is read from a file has the types of what is in memory


@every_pair
def test_compiles_once(rule, name):
    model, data = start_of(laws.MODELS[name]), rows_of(name)
    before = run_epoch._cache_size()
    for seed in (0, 1):
        mpf.fit(model, data, rule, epochs=3 + seed, learning_rate=0.1 + seed, seed=seed, **SETTINGS)
    assert run_epoch._cache_size() - before <= 1


@every_pair
def test_input_dtype_does_not_matter(rule, name):
    model, data = start_of(laws.MODELS[name]), rows_of(name)
    data = np.round(data) if name in laws.REAL else data
    dtypes = (
        np.int8 if name in laws.REAL else np.uint8,
        np.int64,
        np.float32,
        np.float64,
        *([bool] if set(np.unique(data)) <= {0, 1} else []),
    )
    leaves = [jax.tree.leaves(mpf.fit(model, data.astype(dtype), rule, epochs=1, **SETTINGS).model) for dtype in dtypes]
    for other in leaves[1:]:
        for a, b in zip(leaves[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@on_one_worker(REPLICA_PAIRS)
def test_replicas_equal_single_runs(rule, name, monkeypatch):
    """Replica i of `seeds` is the run with seed + i; under `vmap` up to rounding (few updates: sampling amplifies rounding later)."""
    monkeypatch.setattr(loop, "arrangement", lambda seeds: "one" if seeds is None else "together")
    model, data = start_of(laws.MODELS[name]), rows_of(name)
    together = mpf.fit(model, data, rule, epochs=1, seeds=3, seed=5, **SETTINGS)
    for i in range(3):
        alone = mpf.fit(model, data, rule, epochs=1, seed=5 + i, **SETTINGS)
        for a, b in zip(jax.tree.leaves(together.replica(i)), jax.tree.leaves(alone.model), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


PARTICLE_RULES = [rule for rule in laws.RULES if isinstance(mpf.rule(rule), ParticleRule)]


def free_energy_by_numpy(model, v):
    """F of an RBM in numpy, and its gradient in (weights, visible bias, hidden bias), a row each."""
    w, b, c = (np.asarray(x, np.float64) for x in (model.weights, model.visible_bias, model.hidden_bias))
    v = np.asarray(v, np.float64)
    a = (v @ w + c) / model.tau
    on = 1 / (1 + np.exp(-a))
    gradient = -v[:, :, None] * on[:, None, :] / model.tau, -v / model.tau, -on / model.tau
    return -(v @ b) / model.tau - np.logaddexp(0, a).sum(1), gradient


def loss_by_numpy(objective, model, old, batch, particles):
    """The objective and its gradient from the definitions: weights of examples and particles, and what is averaged with them."""
    (data, of_data), (f, of_particles) = free_energy_by_numpy(model, batch), free_energy_by_numpy(model, particles)
    data_old, f_old = free_energy_by_numpy(old, batch)[0], free_energy_by_numpy(old, particles)[0]
    if objective is contrast:
        return data.mean() - f.mean(), [a.mean(0) - b.mean(0) for a, b in zip(of_data, of_particles, strict=True)]
    assert objective is probability_flow
    up, down = np.exp((data - data_old) / 2), np.exp((f_old - f) / 2)
    mean = [
        (np.tensordot(up / up.sum(), a, 1) - np.tensordot(down / down.sum(), b, 1)) / 2 for a, b in zip(of_data, of_particles, strict=True)
    ]
    return np.log(up.mean()) + np.log(down.mean()), mean


@pytest.mark.parametrize("refresh", [1, 3])
@pytest.mark.parametrize("rule", PARTICLE_RULES)
def test_particle_rules_are_their_definition(rule, refresh, float64):
    """Loss and gradient in numpy, at parameters away from theta_old; where particles are kept, for a batch that came after them."""
    spec = mpf.rule(rule, refresh=refresh, k=2, min_ess=0.0)
    objective = type(spec).objective
    if objective not in (contrast, probability_flow):
        pytest.skip("an objective of its own")
    model, rows = laws.doubled(laws.MODELS["RBM-0-tau0.5"]), jnp.asarray(rows_of("RBM-0-tau0.5"))
    built, batch = spec.build(16), rows[:16].astype(float)
    moved = jax.tree.map(lambda x: 0.7 * x + 0.1, model)
    later = rows[16:32].astype(float) if refresh > 1 else batch

    @jax.jit
    def compute(model, moved, rows, batch, later):
        state = built.connect(jax.random.key(1), model, built.init(jax.random.key(0), model, rows), batch)
        if refresh > 1:
            _, (state, _) = built.loss(model, state, batch)
            state = built.connect(jax.random.key(2), moved, state, later)
        return state.states, *jax.value_and_grad(lambda m: built.loss(m, state, later)[0])(moved)

    states, loss, gradient = compute(model, moved, rows, batch, later)
    expected, by_hand = loss_by_numpy(objective, moved, model, later, states)
    assert float(loss) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    for found, wanted in zip((gradient.weights, gradient.visible_bias, gradient.hidden_bias), by_hand, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("refresh", [1, 3])
@pytest.mark.parametrize("rule", PARTICLE_RULES)
def test_particles_start_where_the_rule_says(rule, refresh):
    """A draw is the kernel, run with the same key from the batch, from the last particles, or from the latter half of those."""
    spec = mpf.rule(rule, refresh=refresh, k=2, n_particles=120)
    model, rows = laws.MODELS["RBM-0-tau0.5"], jnp.asarray(rows_of("RBM-0-tau0.5"))
    built, batch = spec.build(80), rows[:80].astype(float)
    old = jax.jit(built.init)(jax.random.key(0), model, rows)._replace(age=jnp.asarray(refresh))
    connect = jax.jit(built.connect)
    found, particles, again = connect(jax.random.key(1), model, old, batch).states, old.states, batch[np.arange(120) % 80]
    starts = {"data": again, "particles": particles, "both": jnp.concatenate([again[:60], particles[60:]])}
    starts["the wrong half"] = jnp.concatenate([again[:60], particles[:60]])
    for start, begin in starts.items():  # from other starts it would be other states
        same = np.array_equal(found, laws.moved(jax.random.key(1), model, begin, 2, default_kernel(model)))
        assert same == (start == type(spec).start)
