"""Rules with a kernel of one's choice: parallel tempering in training. That kernels do not drift is in the conformance suite."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.samplers import Kernel, Tempering, block_gibbs
from minprobflow.train.epoch import run_epoch

MODEL = laws.MODELS["RBM-1-tau1.0"]
DATA = laws.draw(MODEL, 200)
TEMPERED = {"k": 2, "kernel": "tempering", "rungs": 4}
SETTINGS = {"epochs": 4, "batch_size": 50, "seed": 3}


def test_a_kernel_and_its_settings_are_settings_of_the_rule():
    spec = mpf.rule("pcd", k=2, kernel="tempering", rungs=4)
    assert spec == mpf.PCD(k=2, kernel=Tempering(rungs=4)) == mpf.rule(mpf.PCD(k=2, kernel="tempering"), rungs=4)
    flat = {"k": 2, "refresh": 1, "n_particles": None, "min_ess": 0.5, "kernel": "tempering", "rungs": 4, "hottest": 0.0}
    assert spec.settings() == flat and mpf.rule("pcd", **flat) == spec
    assert mpf.PCD() == mpf.PCD(kernel="auto") and mpf.PCD().settings()["kernel"] == "auto"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "temper"}, "did you mean 'tempering'"),
        ({"rungs": 4}, "no setting 'rungs'"),
        ({"kernel": "tempering", "rungs": 1}, "rungs"),
        ({"kernel": "tempering", "hottest": 2.0}, "hottest"),
        ({"kernel": "tempering", "rung": 4}, "it has k, refresh, n_particles, min_ess, kernel, rungs, hottest"),
    ],
)
def test_bad_kernels_are_refused(settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.rule("pcd", **settings)


def test_the_rungs_go_from_the_hottest_to_the_model():
    kernel = Tempering(rungs=3, hottest=0.4).build(MODEL)
    np.testing.assert_allclose(kernel.step.args[0], [0.4, 0.7, 1.0])


def test_held_units_keep_their_values_on_all_rungs():
    start, held = jnp.asarray(DATA[:50]).astype(float), jnp.asarray([True, False, True, False, False])[None]
    kernel = Tempering(rungs=3).build(MODEL)
    state = kernel.init(jax.random.key(0), MODEL, start)
    for i in range(3):
        state, _ = kernel.step(jax.random.key(i), MODEL, state, held)
    moved = np.asarray(state.states != start[:, None]).any((0, 1))
    assert moved.tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("steps", [1, 2])
def test_rungs_are_drawn_independently(steps):
    """Rungs of one temperature that start at the same states stay together only by the same random numbers, or if one is copied."""
    start = jnp.repeat(jnp.asarray(DATA[:100]).astype(float)[None], 2, axis=0)
    states = mpf.parallel_tempering(MODEL, start, jnp.ones(2), steps).states
    assert np.mean(np.asarray(states[0] != states[1])) > 0.2


def test_a_kernel_that_cannot_sample_the_model_is_refused_before_any_work():
    with pytest.raises(mpf.InputError, match="block Gibbs needs a hidden layer"):
        mpf.fit(mpf.Ising.init(5), DATA, "pcd", kernel="block-gibbs")
    with pytest.raises(mpf.InputError, match="real numbers"):
        mpf.fit(mpf.GaussianRBM.init(0, 5, 3), DATA, "pcd", kernel="heat-bath")


def two_modes(n=500, size=12, share=0.8, noise=0.02):
    """Rows near one pattern, and a fifth of them near its opposite, with twelve flips between."""
    rng = np.random.default_rng(0)
    pattern = np.arange(size) < size // 2
    rows = np.where((np.arange(n) < share * n)[:, None], pattern, ~pattern)
    return (rows ^ (rng.random((n, size)) < noise)).astype(np.uint8), pattern


def share_near(pattern, model):
    states = np.asarray(laws.all_states(model))
    near = np.sum(states == pattern, axis=1)
    return laws.probabilities(model)[near > len(pattern) / 2].sum()


def test_tempered_pcd_learns_the_sizes_of_two_modes_that_plain_pcd_does_not():
    """Plain chains do not cross between the modes, so that nothing tells PCD how much probability each has."""
    rows, pattern = two_modes()
    settings = {"epochs": 100, "batch_size": 50, "learning_rate": 0.2, "k": 1, "n_particles": 20}
    start = mpf.BernoulliRBM.init(3, 12, 4)
    plain, tempered = (
        [mpf.fit(start, rows, "pcd", kernel=kernel, seed=seed, **settings).model for seed in range(3)]
        for kernel in (mpf.samplers.Auto(), Tempering(rungs=8))
    )
    assert all(abs(share_near(pattern, model) - 0.8) < 0.1 for model in tempered)
    assert all(abs(share_near(pattern, model) - 0.8) > 0.3 for model in plain)
    likelihoods = [[mpf.log_likelihood(model, rows, "exact").value for model in models] for models in (plain, tempered)]
    assert min(likelihoods[1]) > max(likelihoods[0]) + 0.5


@pytest.mark.parametrize("rule", ["pcd", "fpmpf"])
def test_the_kernels_state_is_in_the_checkpoint_and_resume_is_bit_exact(rule, tmp_path):
    path, settings = tmp_path / "state.safetensors", {**TEMPERED, **SETTINGS}
    whole = mpf.fit(MODEL, DATA, rule, **settings)
    mpf.fit(MODEL, DATA, rule, **settings, checkpoint=path, callbacks=[lambda epoch: epoch.number == 2])
    resumed = mpf.fit(MODEL, DATA, rule, **settings, checkpoint=path, resume=True)
    assert len(resumed.history) == 2
    assert whole.state.rule.chains.states.shape == (50, 4, 5)
    for a, b in zip(jax.tree.leaves(whole.state.rule), jax.tree.leaves(resumed.state.rule), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole.model.weights, resumed.model.weights)
    for other in ({"kernel": "auto", "rungs": None}, {"rungs": 5}):
        changed = {name: value for name, value in {**settings, **other}.items() if value is not None}
        with pytest.raises(mpf.ModelFileError, match="other settings: rule was"):
            mpf.fit(MODEL, DATA, rule, **changed, checkpoint=path, resume=True)


def test_tempered_rules_compile_once():
    before = run_epoch._cache_size()
    for seed in (0, 1):
        mpf.fit(MODEL, DATA, "pcd", **TEMPERED, epochs=2 + seed, batch_size=40, seed=seed)
    assert run_epoch._cache_size() - before <= 1


def test_chains_that_restart_at_the_data_do_so_on_all_rungs_and_the_others_persist():
    """With steps that leave everything where it is, states show where they come from."""
    tempering = Tempering(rungs=3).build(MODEL)
    still = Kernel(tempering.init, lambda key, model, state, held=None: (state._replace(turn=state.turn + 1), None))
    connectivity = mpf.flow.particles("both", still, batch_size=4, n_particles=4)
    old = connectivity.init(jax.random.key(0), MODEL, jnp.ones((9, 5), jnp.uint8))
    new = connectivity.connect(jax.random.key(1), MODEL, old, jnp.zeros((4, 5))).chains
    assert np.asarray(new.states).any(axis=(1, 2)).tolist() == [False, False, True, True]
    again = connectivity.connect(jax.random.key(2), MODEL, old._replace(chains=new), jnp.zeros((4, 5))).chains
    assert again.turn.tolist() == [1, 1, 2, 2]


def test_a_kernel_of_ones_own():
    """Plain functions do; here two steps of block Gibbs as one."""

    def twice(key, model, state, held=None):
        keys = jax.random.split(key)
        return block_gibbs.step(keys[1], model, block_gibbs.step(keys[0], model, state, held)[0], held)

    v = mpf.sample(MODEL, n=20_000, steps=10, kernel=Kernel(block_gibbs.init, twice))
    assert laws.chi_square_p_value(laws.state_counts(v), laws.probabilities(MODEL)) > 1e-3
