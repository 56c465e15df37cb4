"""The Ising model: conventions, sampling, annealing, moments. What every model must obey is in the conformance suite."""

import itertools

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.likelihood.annealing import transition
from minprobflow.samplers import heat_bath

TAUS = (0.5, 1.0, 2.0)
ISINGS = {name: model for name, model in laws.MODELS.items() if isinstance(model, mpf.Ising)}


def random_spins(n=5, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(scale=0.6, size=(n, n)), 1)
    return upper + upper.T, rng.normal(scale=0.4, size=n)


@pytest.mark.parametrize("tau", TAUS)
def test_spins_and_bits_have_the_same_log_probabilities(tau):
    J, h = random_spins()
    model = mpf.Ising.from_spins(J, h, tau)
    states = np.asarray(list(itertools.product((0, 1), repeat=5)))
    spins = 2 * states - 1
    by_spins = np.asarray([(h @ s + sum(J[i, j] * s[i] * s[j] for i in range(5) for j in range(i + 1, 5))) / tau for s in spins])
    by_bits = -np.asarray(model.free_energy(states), np.float64)
    log_p, log_q = (x - np.logaddexp.reduce(x) for x in (by_spins, by_bits))
    np.testing.assert_allclose(log_p, log_q, atol=2e-6)
    back = model.to_spins()
    np.testing.assert_allclose(back.couplings, J, atol=1e-6)
    np.testing.assert_allclose(back.fields, h, atol=1e-6)


def test_a_matrix_and_its_upper_triangle_are_the_same_model():
    J, h = random_spins()
    for make in (mpf.Ising, mpf.Ising.from_spins):
        whole, upper = make(J, h), make(np.triu(J), h)
        np.testing.assert_array_equal(whole.pairs, upper.pairs)
        np.testing.assert_array_equal(whole.fields, upper.fields)
    np.testing.assert_allclose(mpf.Ising(J, h).couplings, J, rtol=1e-6)


@pytest.mark.parametrize(
    ("couplings", "fields", "tau", "message"),
    [
        (np.eye(3), np.zeros(3), 1.0, "diagonal"),
        (np.arange(9).reshape(3, 3) * (1 - np.eye(3)), np.zeros(3), 1.0, "neither symmetric"),
        (np.tril(np.ones((3, 3)), -1), np.zeros(3), 1.0, "neither symmetric"),
        (np.zeros((2, 3)), np.zeros(3), 1.0, "square"),
        (np.zeros((3, 3)), np.zeros(2), 1.0, "do not fit"),
        (np.zeros((3, 3)), np.zeros(3), 0.0, "temperature"),
    ],
)
def test_wrong_parameters_are_refused(couplings, fields, tau, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.Ising(couplings, fields, tau)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_keeps_the_couplings_symmetric(optimizer):
    truth = laws.MODELS["Ising-1-tau1.0"]
    with jax.numpy_dtype_promotion("standard"):  # optax's Adam needs it
        fit = mpf.fit(mpf.Ising.init(5), laws.draw(truth, 200), "pcd", epochs=3, batch_size=50, optimizer=optimizer, l1=0.001, l2=0.001)
    J = np.asarray(fit.model.couplings)
    np.testing.assert_array_equal(J, J.T)
    assert not np.diagonal(J).any() and np.abs(J).max() > 0
    assert not np.tril(fit.model.pairs).any()


def test_pcd_finds_the_parameters():
    truth = laws.MODELS["Ising-2-tau2.0"]
    data = laws.draw(truth, 20_000)
    found = mpf.fit(mpf.Ising.init(5, data, truth.tau), data, "pcd", epochs=20, learning_rate=1.0, average=0.99).model
    # the error of the maximum likelihood estimate itself is tau * about 2 / sqrt(n p(1-p)) = 0.1 here
    np.testing.assert_allclose(found.couplings, truth.couplings, atol=0.4)
    np.testing.assert_allclose(mpf.moments(found).pairs, mpf.moments(truth).pairs, atol=0.02)


@pytest.mark.parametrize("model", ISINGS.values(), ids=ISINGS)
def test_the_fast_sweep_draws_from_the_same_conditionals_as_the_generic_one(model):
    """From one start, the distribution after a sweep is a product of conditionals: both kernels must give it."""
    same = mpf.EnergyModel(lambda p, v: -(v @ p[0] + v @ jnp.triu(p[1], 1) @ v) / model.tau, (model.fields, model.pairs), 5)
    start = jnp.broadcast_to(jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0]), (100_000, 5))
    states = np.asarray(laws.all_states(model))
    p = np.ones(32)
    for i in range(5):  # unit i given the new ones before it and the old ones after it
        given = np.concatenate([states[:, : i + 1], np.broadcast_to(np.asarray(start[0, i + 1 :]), (32, 4 - i))], 1)
        p *= 1 / (1 + np.exp(-np.asarray(model.flip_differences(jnp.abs(given - np.eye(5, dtype=np.float32)[i])))[:, i].astype(float)))
    expected = p / p.sum()
    assert p.sum() == pytest.approx(1, abs=1e-5)
    for kernel_model in (model, same):
        after = laws.moved(jax.random.key(5), kernel_model, start, 1, heat_bath)
        assert laws.chi_square_p_value(laws.state_counts(after), expected) > 1e-3


def test_annealing_gains_what_the_free_energies_say():
    for model in ISINGS.values():
        base = model.base(jnp.linspace(0.2, 0.8, 5))
        v = laws.all_states(model)
        a, b = jnp.asarray(0.3), jnp.asarray(0.7)
        _, gain = transition(jax.random.key(0), model, base, v, a, b)
        expected = model.between(base, a).free_energy(v) - model.between(base, b).free_energy(v)
        np.testing.assert_allclose(gain, expected, atol=1e-5)


def test_log_partition_of_twenty_two_units():
    """Independent pairs have a closed form."""
    n, rng = 22, np.random.default_rng(0)
    pairs, fields = np.zeros((n, n)), rng.normal(size=n)
    for i in range(0, n, 2):
        pairs[i, i + 1] = rng.normal()
    model = mpf.Ising(pairs, fields)
    b, J = np.asarray(model.fields, np.float64), np.asarray(model.pairs, np.float64)
    expected = sum(np.log(1 + np.exp(b[i]) + np.exp(b[i + 1]) + np.exp(b[i] + b[i + 1] + J[i, i + 1])) for i in range(0, n, 2))
    assert mpf.log_partition(model).value == pytest.approx(expected, rel=1e-6)


def test_exact_moments_are_those_of_the_enumerated_distribution():
    for model in (*ISINGS.values(), laws.MODELS["RBM-0-tau0.5"]):
        v = np.asarray(laws.all_states(model), np.float64)
        found = mpf.moments(model)
        expected = v.T @ (laws.probabilities(model)[:, None] * v)
        np.testing.assert_allclose(found.pairs, expected, atol=1e-6)
        np.testing.assert_allclose(found.mean, np.diagonal(expected), atol=1e-6)
        np.testing.assert_allclose(found.covariance, expected - np.outer(found.mean, found.mean), atol=1e-6)
        assert found.method == "exact"


def test_sampled_moments_agree_within_their_errors():
    model = laws.MODELS["Ising-0-tau0.5"]
    exact = mpf.moments(model)
    found = [mpf.moments(model, "sampled", chains=500, burn_in=50, steps=100, seed=seed) for seed in range(10)]
    z = [(one.pairs - exact.pairs) / one.stderr for one in found]
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.4 and found[0].stderr.max() < 0.01  # errors are not overstated either
    with pytest.raises(mpf.InputError, match="20 binary units"):
        mpf.moments(mpf.Ising.init(21), "exact")
    with pytest.raises(mpf.InputError, match="chains"):
        mpf.moments(model, "sampled", chains=2)


@pytest.mark.parametrize("model", ISINGS.values(), ids=ISINGS)
def test_centred_coordinates(model, float64):
    """Recentring only adds a constant to the energy; curvatures and the centred gradient are those of these coordinates."""
    model, mean = laws.doubled(model), jnp.linspace(0.1, 0.7, 5)
    v = laws.all_states(model).astype(float)
    centred = model.recentred(mean)
    shift = centred.free_energy(v - mean) - model.free_energy(v)
    np.testing.assert_allclose(shift, shift[0], rtol=1e-10)
    np.testing.assert_allclose(centred.recentred(-mean).fields, model.fields, rtol=1e-10)

    jacobian = jax.jacobian(lambda m: m.recentred(-mean).flip_differences(v))(centred)
    weights = jax.random.uniform(jax.random.key(0), v.shape)
    curvatures = model.flip_curvatures(v, jnp.asarray(mean), weights)
    np.testing.assert_allclose(curvatures.fields, jnp.einsum("bd,bdi->i", weights, jacobian.fields**2), rtol=1e-9)
    np.testing.assert_allclose(curvatures.pairs, jnp.einsum("bd,bdij->ij", weights, jacobian.pairs**2), rtol=1e-9, atol=1e-12)

    plain = jax.grad(lambda m: jnp.mean(m.free_energy(v[3:9])))(model)
    in_centred = jax.grad(lambda m: jnp.mean(m.recentred(-mean).free_energy(v[3:9])))(centred)
    expected, found = in_centred.recentred(-mean), model.centre(plain, mean)  # the same step, in the plain parameters
    np.testing.assert_allclose(found.fields, expected.fields, rtol=1e-9)
    np.testing.assert_allclose(found.pairs, expected.pairs, rtol=1e-9, atol=1e-12)
