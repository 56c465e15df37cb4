"""Laws that every model must obey. Models are discovered: a new family is tested without touching this file."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.flow.one_flip import flip_differences
from minprobflow.models import Centrable, FastFlips, Latent
from minprobflow.models.files import model_families
from minprobflow.samplers import Chains, default_kernel, kernel_names, kernel_spec, parallel_tempering

every_model = pytest.mark.parametrize("model", laws.MODELS.values(), ids=laws.MODELS)
every_countable_model = pytest.mark.parametrize(
    "model", laws.COUNTABLE.values(), ids=laws.COUNTABLE
)  # for the others: test_every_real_model


def having(capability, among=laws.MODELS):
    chosen = {name: m for name, m in among.items() if isinstance(m, capability)}
    return pytest.mark.parametrize("model", chosen.values(), ids=chosen)


def kernels():
    """Every kernel with every model that it samples; where it is the model's default kernel, under that name only."""
    for kernel in kernel_names():
        for name, model in laws.COUNTABLE.items():
            try:
                built = kernel_spec(kernel).build(model)
            except mpf.InputError:
                continue
            stateless = isinstance(built.init(jax.random.key(0), model, jnp.zeros((1, 5))), Chains)
            if kernel == "auto" or (built != default_kernel(model) if stateless else name in laws.FIRST):
                yield pytest.param(kernel, model, stateless, id=f"{kernel}-{name}")


every_kernel = pytest.mark.parametrize(("kernel", "model", "stateless"), list(kernels()))


@having(Latent)
def test_both_layers_tell_of_one_joint_distribution(model):
    """F(v) and p(h|v) must give the same unnormalised p(v,h) as the transposed F(h) and p(v|h)."""
    other = model.transposed()
    v, h = laws.some_states(model), laws.all_states(other)
    compute = jax.jit(lambda m, v, h: (m.hidden_logits(v), m.visible_logits(h), m.free_energy(v), m.transposed().free_energy(h)))
    hidden, visible, of_v, of_h = (np.asarray(x, np.float64) for x in compute(model, v, h))
    from_v = -of_v[:, None] + laws.log_independent(other.space, hidden[:, None], h[None])
    from_h = -of_h[None] + laws.log_independent(model.space, visible[None], v[:, None])
    np.testing.assert_allclose(from_v, from_h, atol=2e-5)


def test_every_family_has_examples():
    """Plug-ins included: minprobflow.testing tells how."""
    named = {type(model) for model in laws.MODELS.values()}
    assert [family.__name__ for family in model_families() if family not in named] == []


@every_model
def test_free_energy_gradient_equals_finite_differences(model, float64):
    model = laws.doubled(model)
    v = laws.some_states(model)[7]
    for by_gradient, by_differences in laws.slopes(lambda m: m.free_energy(v), model, 3):
        assert by_gradient == pytest.approx(by_differences, rel=1e-7, abs=1e-8)


@every_model
def test_batches_and_dtypes_do_not_matter(model):
    v = np.asarray(laws.some_states(model) if model in laws.COUNTABLE.values() else mpf.Binary(model.space.size).states(jnp.arange(6)))
    signed = v.min() < 0
    v = v[v.max(1) <= 1][:6]  # what fits into a bool too
    one_by_one = np.stack([model.free_energy(row) for row in v])
    for dtype in (np.int8, np.int64, np.float32, np.float64) if signed else (bool, np.uint8, np.int64, np.float32, np.float64):
        for shape in ((6,), (2, 3)):
            found = laws.free_energy(model, v.astype(dtype).reshape(*shape, -1))
            np.testing.assert_allclose(found, one_by_one.reshape(shape), rtol=1e-6, atol=5e-6)


@every_model
def test_states_of_another_width_are_refused(model):
    size = model.space.size
    for wrong in (np.zeros((3, size + 1)), np.zeros(size - 1), np.zeros(())):
        with pytest.raises(mpf.InputError, match=f"pass states of width {size}"):
            model.free_energy(wrong)


@having(FastFlips, laws.COUNTABLE)
def test_fast_flips_equal_slow_flips_in_value_and_gradient(model, float64):
    model = laws.doubled(model)
    v = laws.all_states(model)[jnp.asarray([0, 5, 9, 31])].astype(float)

    changed = laws.every_other_state(v, model.space)  # the dense form: all B x D x (q - 1) changed states

    def slow(m):
        return (m.free_energy(v)[:, None, None] - m.free_energy(changed)).reshape(len(v), *m.space.neighbours)

    weight = jax.random.normal(jax.random.key(0), (4, *model.space.neighbours))

    def value_and_gradient(differences):
        return jax.jit(lambda m: (differences(m), jax.grad(lambda m: jnp.sum(weight * differences(m)))(m)))(model)

    (fast, fast_gradient), (dense, dense_gradient) = value_and_gradient(lambda m: m.flip_differences(v)), value_and_gradient(slow)
    np.testing.assert_allclose(fast, dense, rtol=1e-10, atol=1e-12)
    for a, b in zip(jax.tree.leaves(fast_gradient), jax.tree.leaves(dense_gradient), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@every_countable_model
def test_flip_differences_are_free_energy_differences(model):
    v, q = laws.all_states(model), model.space.n_values
    changed = laws.every_other_state(v, model.space)
    differences = np.asarray(jax.jit(flip_differences)(model, v)).reshape(len(v), -1, q - 1)
    expected = np.asarray(laws.free_energy(model, v))[:, None, None] - laws.free_energy(model, changed)
    np.testing.assert_allclose(differences, expected, rtol=1e-4, atol=2e-5)
    others = jax.jit(model.space.others)
    for site in range(model.space.size):
        np.testing.assert_array_equal(others(v, jnp.asarray(site)), np.moveaxis(changed[:, site], 1, 0))


@every_kernel
def test_kernels_do_not_drift(kernel, model, stateless):
    """Exact samples stay exact samples under the kernel: chi-square over all states. What else its state holds starts anywhere."""
    v = laws.draw(model, 100_000 if stateless else 5_000).astype(np.float32)
    after = laws.moved(jax.random.key(1), model, jnp.asarray(v), 2 if stateless else 25, kernel_spec(kernel).build(model))
    assert np.mean(v != after) > 0.05
    assert laws.p_value(model, after) > 1e-3


@pytest.mark.parametrize("model", laws.SQUARE.values(), ids=laws.SQUARE)
def test_kernels_do_not_drift_where_both_layers_have_the_same_size(model):
    """One key for both layers would show here, and only here."""
    assert model.space.size == model.transposed().space.size
    after = laws.moved(jax.random.key(1), model, jnp.asarray(laws.draw(model, 50_000)).astype(float), 2, default_kernel(model))
    assert laws.p_value(model, after) > 1e-3


@every_kernel
def test_held_units_are_conditioned_on(kernel, model, stateless):
    """With two units held, exact conditional samples stay exact conditional samples."""
    states, p = np.asarray(laws.all_states(model)), laws.probabilities(model)
    conditional = np.where((states[:, 0] == 1) & (states[:, 3] == states.min()), p, 0)
    conditional /= conditional.sum()
    v = states[np.random.default_rng(0).choice(len(p), size=100_000 if stateless else 5_000, p=conditional)]
    held = jnp.zeros((1, model.space.size), bool).at[0, jnp.asarray([0, 3])].set(True)
    after = laws.moved(jax.random.key(2), model, jnp.asarray(v), 2 if stateless else 25, kernel_spec(kernel).build(model), held)
    assert laws.chi_square_p_value(laws.counts_of_states(model, after), conditional) > 1e-3


@every_countable_model
def test_the_path_leads_from_a_solved_base_to_the_model(model):
    states = laws.all_states(model)
    means = model.space.mean_features(np.asarray(states, model.space.dtype)[[1, 7, 11, 30]])
    base = laws.base(model, means)
    np.testing.assert_allclose(np.tensordot(laws.probabilities(base), model.space.features(states), 1), means, rtol=1e-5)
    of_base, of_model = laws.free_energy(base, states), laws.free_energy(model, states)
    log_z = np.log(np.sum(np.exp(-np.asarray(of_base, np.float64))))
    assert float(base.base_log_partition()) == pytest.approx(log_z, rel=1e-5)
    for beta, expected in ((1.0, of_model), (0.0, of_base)):
        np.testing.assert_allclose(laws.free_energy(laws.between(model, base, beta), states), expected, atol=1e-5)


@every_countable_model
def test_parallel_tempering_does_not_drift_on_any_rung(model):
    betas = jnp.asarray([0.0, 0.4, 1.0])
    base = laws.base(model, model.space.even_means())
    rungs = [laws.between(model, base, beta) for beta in betas]
    v = jnp.stack([jnp.asarray(laws.draw(rung, 50_000, seed=i)) for i, rung in enumerate(rungs)]).astype(float)
    result = parallel_tempering(model, v, betas, 4, seed=3)
    assert np.all(np.asarray(result.swap_rates) > 0.1)
    for rung, states in zip(rungs, result.states, strict=True):
        assert laws.p_value(rung, states) > 1e-3


@having(Centrable)
def test_centring_keeps_descent_and_stationary_points(model, float64):
    model = laws.doubled(model)
    v = laws.some_states(model)[jnp.arange(3, 12)].astype(float)

    @jax.jit
    def descent_and_still(m):
        gradient = jax.grad(lambda m: jnp.mean(m.free_energy(v)))(m)
        centred, still = (m.centre(g, m.offsets(v)) for g in (gradient, jax.tree.map(jnp.zeros_like, gradient)))
        return laws.inner(gradient, centred), still

    descent, still = descent_and_still(model)
    assert descent > 0  # a descent direction
    assert all(not np.asarray(x).any() for x in jax.tree.leaves(still))  # stationary points stay


@every_model
def test_model_files_keep_every_bit(model, tmp_path):
    path = tmp_path / "model.safetensors"
    if type(model).kind is None:
        with pytest.raises(mpf.InputError, match="save_state"):
            mpf.save(model, path)
        return
    mpf.save(model, path, {"rule": "test"})
    loaded = mpf.load(path)
    assert type(loaded) is type(model)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(model), strict=True):
        np.testing.assert_array_equal(a, b)
    states = laws.some_states(model)
    np.testing.assert_array_equal(laws.free_energy(loaded, states), laws.free_energy(model, states))
