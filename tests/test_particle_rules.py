"""What the particle rules owe each other, and how particles and theta_old are renewed."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf

MODEL = laws.MODELS["RBM-1-tau1.0"]
DATA = jnp.asarray(laws.draw(MODEL, 200))


def connected(rule, model, batch, key=1):
    built = rule.build(len(batch))
    state = built.init(jax.random.key(0), model, DATA)
    return built, built.connect(jax.random.key(key), model, state, batch)


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("flow", "contrast"), [(mpf.FMPF, mpf.CD), (mpf.PMPF, mpf.PCD)])
def test_factored_flow_at_refresh_1_has_half_the_contrast_gradient(flow, contrast, tau, float64):
    model = laws.doubled(mpf.BernoulliRBM(MODEL.weights, MODEL.visible_bias, MODEL.hidden_bias, tau))
    batch = DATA[:32].astype(float)
    gradients = []
    for rule in (flow(k=3), contrast(k=3)):
        built, state = connected(rule, model, batch)
        gradients.append(jax.grad(lambda m, b=built, s=state: b.loss(m, s, batch)[0])(model))
    for half, whole in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(2 * half, whole, rtol=1e-12, atol=1e-14)


def test_factored_flow_is_the_definition(float64):
    """J = mean_D exp((F - F_old)/2) * mean_S exp((F_old - F)/2), at parameters away from theta_old."""
    model, batch = laws.doubled(MODEL), DATA[:32].astype(float)
    built, state = connected(mpf.FPMPF(k=2), model, batch)
    moved = jax.tree.map(lambda x: 0.8 * x - 0.1, model)
    f, f_old = (lambda v: np.asarray(moved.free_energy(v))), (lambda v: np.asarray(model.free_energy(v)))
    j = np.mean(np.exp((f(batch) - f_old(batch)) / 2)) * np.mean(np.exp((f_old(state.states) - f(state.states)) / 2))
    loss, (_, diagnostics) = built.loss(moved, state, batch)
    assert float(loss) == pytest.approx(np.log(j), rel=1e-10)
    weights = np.exp((f_old(state.states) - f(state.states)) / 2), np.exp((f(batch) - f_old(batch)) / 2)
    assert float(diagnostics.ess) == pytest.approx(min(w.sum() ** 2 / (w**2).sum() / len(w) for w in weights), rel=1e-10)


def test_theta_old_is_a_snapshot_renewed_with_the_particles():
    built = mpf.PMPF(k=1, refresh=3, min_ess=0.0).build(20)
    model, batch = MODEL, DATA[:20].astype(float)
    state = built.init(jax.random.key(0), model, DATA)
    drawn_at = []
    for step in range(7):
        model = jax.tree.map(lambda x: x + 0.01, model)
        before = np.asarray(state.states)
        state = built.connect(jax.random.key(step), model, state, batch)
        if not np.array_equal(before, state.states):
            drawn_at.append(step)
            snapshot = model
        np.testing.assert_array_equal(state.model_old.weights, snapshot.weights)
        np.testing.assert_allclose(state.free_energy_old, snapshot.free_energy(state.states), rtol=1e-6)
        _, (state, _) = built.loss(model, state, batch)
    assert drawn_at == [0, 3, 6]


def test_particles_are_renewed_early_when_the_effective_number_collapses():
    built = mpf.PMPF(k=1, refresh=1000, min_ess=0.5).build(50)
    batch = DATA[:50].astype(float)
    state = built.connect(jax.random.key(0), MODEL, built.init(jax.random.key(0), MODEL, DATA), batch)
    far = jax.tree.map(lambda x: -3 * x, MODEL)
    _, (state, diagnostics) = built.loss(far, state, batch)
    assert float(diagnostics.ess) < 0.5
    renewed = built.connect(jax.random.key(1), far, state, batch)
    np.testing.assert_array_equal(renewed.model_old.weights, far.weights)
    assert int(renewed.age) == 0


@pytest.mark.parametrize(("rule", "from_data"), [(mpf.FMPF, 10), (mpf.PMPF, 0), (mpf.FPMPF, 5)])
def test_where_particles_start(rule, from_data):
    """With weights zero and biases huge nothing can change: particles show where they started."""
    frozen = mpf.BernoulliRBM(jnp.zeros((4, 2)), jnp.full(4, 100.0), jnp.zeros(2))
    held = mpf.BernoulliRBM(jnp.zeros((4, 2)), jnp.full(4, -100.0), jnp.zeros(2))
    built = rule(n_particles=10).build(10)
    state = built.init(jax.random.key(0), frozen, jnp.ones((30, 4), jnp.uint8))
    assert state.states.shape == (10, 4)
    state = built.connect(jax.random.key(1), held, state, jnp.zeros((10, 4)))
    assert int(np.asarray(state.states).sum()) == 0  # one step of the chain forgets the start here

    class Still(mpf.RBM):
        def sample_visible(self, key, h):
            return h

        def sample_hidden(self, key, v):
            return v

    still = Still(frozen.visible, frozen.hidden, jnp.zeros((4, 2)))
    state = built.init(jax.random.key(0), still, jnp.ones((30, 4), jnp.uint8))
    state = built.connect(jax.random.key(1), still, state, jnp.zeros((10, 4)))
    assert int((np.asarray(state.states).sum(1) == 0).sum()) == from_data


@pytest.mark.parametrize("n_particles", [7, 64])
def test_any_number_of_particles_trains(n_particles):
    fit = mpf.fit(MODEL, DATA, "fpmpf", n_particles=n_particles, k=2, refresh=2, epochs=1, batch_size=50)
    assert fit.state.rule.states.shape == (n_particles, 5)


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": -3}, {"refresh": 0}, {"n_particles": 0}, {"min_ess": 2.0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(mpf.InputError, match=next(iter(settings))):
        mpf.rule("fpmpf", **settings)


def test_of_replicas_trained_at_once_only_those_that_are_due_draw_anew():
    built = mpf.PMPF(k=1, refresh=3, min_ess=0.0).build(20)
    batch = DATA[:20].astype(float)
    one = built.connect(jax.random.key(0), MODEL, built.init(jax.random.key(0), MODEL, DATA), batch)
    both = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), one)._replace(age=jnp.asarray([3, 1]))
    keys = jax.random.split(jax.random.key(5))
    after = jax.vmap(lambda key, state: built.connect(key, MODEL, state, batch))(keys, both)
    alone = built.connect(keys[0], MODEL, one._replace(age=jnp.asarray(3)), batch)
    np.testing.assert_array_equal(after.states[0], alone.states)
    np.testing.assert_array_equal(after.states[1], one.states)
    assert not np.array_equal(after.states[0], one.states) and after.age.tolist() == [0, 1]
