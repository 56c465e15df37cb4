"""What is particular to units with several values. The laws of every model are in the conformance suite."""

import itertools

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from benchmarks import consistency_potts

import minprobflow as mpf

POTTS = {name: model for name, model in laws.MODELS.items() if isinstance(model, mpf.Potts)}
RBMS = {name: model for name, model in laws.MODELS.items() if isinstance(model, mpf.CategoricalRBM)}
every_potts = pytest.mark.parametrize("model", POTTS.values(), ids=POTTS)
every_rbm = pytest.mark.parametrize("model", RBMS.values(), ids=RBMS)


@every_potts
def test_the_energy_is_a_sum_over_units_and_pairs(model):
    h, j = np.asarray(model.fields), np.asarray(model.couplings)
    for v in np.asarray(laws.all_states(model), int)[::17]:
        pairs = sum(j[a, v[a], b, v[b]] for a, b in itertools.combinations(range(5), 2))
        expected = -(sum(h[i, v[i]] for i in range(5)) + pairs) / model.tau
        assert float(model.free_energy(v)) == pytest.approx(expected, abs=1e-5)


def in_another_gauge(model, rng):
    """The same distribution: x_ij(b) is added to J_ij(a, b) for all a, and taken off h_j(b)."""
    x = rng.normal(size=(5, 5, 3)) * (1 - np.eye(5))[:, :, None]
    moved = x[:, None, :, :] + x.transpose(1, 2, 0)[:, :, :, None]
    return mpf.Potts(model.fields - x.sum(0).astype(np.float32), model.couplings + moved.astype(np.float32), model.tau)


@every_potts
def test_the_zero_sum_gauge_changes_no_probability(model):
    rng = np.random.default_rng(0)
    fixed = model.zero_sum()
    np.testing.assert_allclose(laws.probabilities(fixed), laws.probabilities(model), rtol=1e-4, atol=1e-9)
    assert float(jnp.abs(fixed.fields.sum(1)).max()) < 1e-5
    assert max(float(jnp.abs(fixed.couplings.sum(axis)).max()) for axis in (1, 3)) < 1e-5
    other = in_another_gauge(model, rng)  # which leads back to it
    np.testing.assert_allclose(laws.probabilities(other), laws.probabilities(model), rtol=1e-3, atol=1e-7)
    assert float(jnp.abs(other.couplings - model.couplings).max()) > 1
    for a, b in zip(jax.tree.leaves(other.zero_sum()), jax.tree.leaves(fixed), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("rule", ["mpf-1flip", "pcd"])
def test_descent_keeps_the_couplings_symmetric_with_zero_blocks(rule):
    data = laws.draw(POTTS["Potts-1-tau1.0"], 300)
    trained = mpf.fit(mpf.Potts.init(5, 3, data), data, rule, epochs=5, batch_size=50, l2=1e-3).model
    j = np.asarray(trained.couplings)
    assert np.abs(j).max() > 0.05
    np.testing.assert_allclose(j, j.transpose(2, 3, 0, 1), atol=1e-6)
    assert not np.einsum("iaib->iab", j).any()
    mpf.Potts(trained.fields, j)  # which the constructor demands


def test_the_centred_gradient_is_descent_on_the_centred_model(float64):
    """A step of E = -h'(x - f) - (x - f)'J(x - f)/2, with x one-hot, in (h, J); the plain fields are h - J f, with J for pairs only."""
    model, frequencies = laws.doubled(POTTS["Potts-0-tau0.5"]), jnp.linspace(0.1, 0.6, 15).reshape(5, 3)
    v = laws.all_states(model)[jnp.asarray([3, 50, 99, 200])].astype(float)
    apart = (1 - jnp.eye(5))[:, None, :, None]

    def plain(fields, couplings):
        pairs = apart * (couplings + couplings.transpose(2, 3, 0, 1)) / 2
        return mpf.Potts(fields - jnp.einsum("iajb,jb->ia", pairs, frequencies), couplings, model.tau)

    start = model.fields + jnp.einsum("iajb,jb->ia", model.couplings, frequencies), model.couplings
    gradient = jax.grad(lambda *p: jnp.mean(plain(*p).free_energy(v)), argnums=(0, 1))(*start)
    _, expected = jax.jvp(lambda *p: jax.tree.leaves(plain(*p)), start, gradient)
    found = model.centre(jax.grad(lambda m: jnp.mean(m.free_energy(v)))(model), frequencies)
    for a, b in zip(jax.tree.leaves(found), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_the_start_has_the_frequencies_of_the_data():
    data = laws.draw(POTTS["Potts-2-tau2.0"], 2000)
    for start in (mpf.Potts.init(5, 3, data, tau=2.0), mpf.CategoricalRBM.init(0, 5, 3, 2, data, tau=2.0)):
        p = laws.probabilities(start)
        frequencies = np.tensordot(p, np.asarray(start.space.features(laws.all_states(start))), 1)
        np.testing.assert_allclose(frequencies, start.space.mean_features(data, 0.5), atol=5e-3)


def test_contact_scores_do_not_depend_on_the_gauge():
    """They are norms in the zero-sum gauge, less the average product: by hand."""
    model = POTTS["Potts-0-tau0.5"]
    j = np.asarray(model.couplings, np.float64)
    j = j - j.mean(1, keepdims=True) - j.mean(3, keepdims=True) + j.mean((1, 3), keepdims=True)
    for leave_out in (None, 1):
        kept = [value for value in range(3) if value != leave_out]
        norms = np.sqrt((j[:, kept][..., kept] ** 2).sum((1, 3)))
        of_unit = norms.sum(1) / 4
        expected = (norms - np.outer(of_unit, of_unit) / of_unit.mean()) * (1 - np.eye(5))
        for same in (model, in_another_gauge(model, np.random.default_rng(1))):
            np.testing.assert_allclose(same.contact_scores(leave_out), expected, atol=1e-5)


def test_contact_scores_find_the_planted_pairs():
    planted = [(0, 4), (1, 3), (2, 7), (5, 6)]
    rng = np.random.default_rng(3)
    couplings = np.zeros((8, 4, 8, 4), np.float32)
    for i, j in planted:
        couplings[i, :, j] = rng.normal(size=(4, 4))
        couplings[j, :, i] = couplings[i, :, j].T
    truth = mpf.Potts(rng.normal(scale=0.3, size=(8, 4)), couplings)
    data = mpf.sample(truth, n=3000, steps=50)
    scores = np.asarray(
        mpf.fit(mpf.Potts.init(8, 4, data), data, "mpf-1flip", epochs=10, learning_rate=30.0, l2=1e-4).model.contact_scores()
    )
    first, second = np.triu_indices(8, 1)
    best = np.argsort(-scores[first, second])[: len(planted)]
    assert {(int(first[k]), int(second[k])) for k in best} == set(planted)
    np.testing.assert_allclose(scores, scores.T, atol=1e-5)
    assert not np.array_equal(truth.contact_scores(leave_out=0), truth.contact_scores())


@every_potts
def test_the_sweep_costs_no_free_energy(model, monkeypatch):
    monkeypatch.setattr(mpf.Potts, "free_energy", lambda self, v: pytest.fail("the free energy was evaluated"))
    v = model.space.noise(jax.random.key(0), 4)
    assert laws.moved(jax.random.key(1), model, v, 1, mpf.samplers.heat_bath).shape == (4, 5)


@every_rbm
def test_free_energy_is_the_marginal_of_the_joint_energy(model):
    v, h = laws.all_states(model)[::11], laws.all_states(model.transposed())
    joint = -np.asarray(model.energy(v[:, None], h[None]), np.float64) / model.tau
    np.testing.assert_allclose(-np.logaddexp.reduce(joint, 1), model.free_energy(v), atol=2e-5)
    w, b, c = (np.asarray(x) for x in (model.weights, model.visible_bias, model.hidden_bias))
    state, hidden = np.asarray([2, 0, 1, 1, 2]), np.asarray([1, 0])
    expected = -sum(b[i, a] + w[i, a] @ hidden for i, a in enumerate(state)) - c @ hidden
    assert float(model.energy(state, hidden)) == pytest.approx(expected, abs=1e-5)


def test_substitutions_of_the_rbm_take_memory_linear_in_the_batch():
    batch, size, q, hidden = 64, 20, 5, 30
    model = mpf.CategoricalRBM.init(0, size, q, hidden)

    def loss(model, v):
        return mpf.MPF1Flip().build(batch).loss(model, (), v)[0]

    compiled = jax.jit(jax.value_and_grad(loss)).lower(model, jnp.zeros((batch, size))).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * (12 * batch * size * q + 24 * size * q * hidden)
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * batch * size * q * hidden / 2


def test_conservative_likelihood_of_the_rbm_is_near_the_exact_one():
    model = RBMS["CategoricalRBM-1-tau1.0"]
    rows = laws.draw(model, 50)
    exact = mpf.log_likelihood(model, rows, "exact").value
    csl = mpf.log_likelihood(model, rows, "csl", chains=100, samples=50, burn_in=50)
    assert csl.value == pytest.approx(exact, abs=4 * csl.stderr + 0.02)


@pytest.mark.parametrize("name", ["Potts-1-tau1.0", "CategoricalRBM-1-tau1.0"])
def test_imputation_gives_the_most_probable_value(name):
    model = laws.MODELS[name]
    p = laws.probabilities(model).reshape(3, 3, 3, 3, 3).transpose()
    row = np.asarray([2.0, 1.0, np.nan, 0.0, 2.0])
    filled = mpf.impute(model, row[None], steps=3000, burn_in=100)
    assert filled[0].tolist() == [2, 1, np.argmax(p[2, 1, :, 0, 2]), 0, 2]


def test_error_shrinks_like_one_over_sqrt_n():
    numbers = (10**4, 10**5, 10**6)
    found = consistency_potts.errors(numbers, repeats=4)
    # a mean of 4 errors has a relative spread of about 0.2/sqrt(4) = 0.1: the slope over two decades 0.1*sqrt(2)/4.6 = 0.03
    assert consistency_potts.slope(numbers, found)[0] == pytest.approx(-0.5, abs=0.1)
    assert found[-1].mean() < 0.005


def test_wrong_parameters_are_refused():
    with pytest.raises(mpf.InputError, match="shapes do not fit"):
        mpf.Potts(np.zeros((3, 2)), np.zeros((3, 2, 2, 3)))
    with pytest.raises(mpf.InputError, match="each pair is given once"):
        mpf.Potts(np.zeros((2, 2)), np.arange(16.0).reshape(2, 2, 2, 2))
    with pytest.raises(mpf.InputError, match="must be zero"):
        mpf.Potts(np.zeros((2, 2)), np.ones((2, 2, 2, 2)))
    with pytest.raises(mpf.InputError, match="temperature"):
        mpf.Potts(np.zeros((2, 2)), np.zeros((2, 2, 2, 2)), tau=0.0)
    with pytest.raises(mpf.InputError, match="shapes do not fit"):
        mpf.CategoricalRBM(np.zeros((3, 2, 4)), np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(mpf.InputError, match="width 5"):
        POTTS["Potts-1-tau1.0"].free_energy(np.zeros((2, 4)))
    with pytest.raises(mpf.InputError, match=r"3\^30 states"):
        mpf.fit(mpf.Potts.init(30, 3), np.zeros((9, 30)), "exact", batch_size=3)
