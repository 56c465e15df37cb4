"""`log_likelihood` and `log_partition` as users call them; CSL; pseudo-likelihood."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.likelihood import pseudo_log_likelihoods
from minprobflow.likelihood.csl import _log_conditionals, _summary
from minprobflow.numerics import double_precision

RBMS = [model for name, model in laws.MODELS.items() if name.startswith("RBM")]
every_rbm = pytest.mark.parametrize("model", RBMS, ids=[f"tau{m.tau}" for m in RBMS])
DATA = laws.draw(RBMS[1], 300)
FROM_ZERO = [name for name, model in laws.COUNTABLE.items() if isinstance(model.space, mpf.Binary | mpf.Categories)]


def exact(model, rows):
    index = rows.astype(int) @ (model.space.n_values ** np.arange(rows.shape[1]))
    return float(np.mean(np.log(laws.probabilities(model))[index]))


@pytest.mark.parametrize("name", FROM_ZERO)
def test_auto_takes_the_exact_value_where_it_can(name):
    model = laws.MODELS[name]
    estimate = mpf.log_likelihood(model, DATA)
    assert (estimate.method, estimate.verdict, estimate.stderr, estimate.warnings) == ("exact", "trusted", 0.0, ())
    assert estimate.value == pytest.approx(exact(model, DATA), abs=1e-5)
    assert estimate.settings["n"] == 300 and estimate.settings["stderr_over_examples"] > 0


@every_rbm
def test_ais_turns_the_sandwich_over(model):
    estimate = mpf.log_likelihood(model, DATA, "ais", betas=300)
    assert estimate.lower <= exact(model, DATA) <= estimate.upper
    assert estimate.lower <= estimate.value <= estimate.upper
    assert 1 < estimate.ess <= 100


def test_auto_samples_where_it_must():
    rng = np.random.default_rng(0)
    model = mpf.BernoulliRBM(rng.normal(scale=0.1, size=(30, 27)), rng.normal(size=30), rng.normal(size=27))
    estimate = mpf.log_partition(model)
    assert estimate.method == "ais" and estimate.verdict == "trusted"
    with double_precision():  # one unit more than may be enumerated: take it off by hand
        total = [
            mpf.log_partition(
                mpf.BernoulliRBM(
                    model.weights[:, 2:], model.visible_bias + a * model.weights[:, 0] + b * model.weights[:, 1], model.hidden_bias[2:]
                ),
                "exact",
            ).value
            + float(a * model.hidden_bias[0] + b * model.hidden_bias[1])
            for a in (0.0, 1.0)
            for b in (0.0, 1.0)
        ]
    assert estimate.lower <= np.logaddexp.reduce(total) <= estimate.upper


@every_rbm
def test_csl_approaches_the_likelihood_from_below(model):
    many = mpf.log_likelihood(model, DATA, "csl", chains=200, samples=200, burn_in=100, thinning=3)
    assert many.value == pytest.approx(exact(model, DATA), abs=4 * many.stderr + 0.01)
    assert many.stderr < 0.05 and many.verdict == "wide" and many.upper == float("inf")
    few = [mpf.log_likelihood(model, DATA, "csl", chains=10, samples=1, burn_in=50, seed=seed).value for seed in range(20)]
    error = np.std(few) / np.sqrt(20)
    assert np.mean(few) < exact(model, DATA) + 2 * error
    data_start = mpf.log_likelihood(model, DATA, "csl", chains=200, samples=50, burn_in=50, start="data")
    assert data_start.value == pytest.approx(exact(model, DATA), abs=4 * data_start.stderr + 0.02)


def test_the_error_of_csl_is_that_of_a_mean_over_groups_of_chains():
    shares = 1 + 0.01 * np.random.default_rng(0).normal(size=10)  # so near 1 that the logarithm is straight
    sums = np.log(100 * shares)[None, :, None].repeat(2, axis=0)
    found = _summary(sums, 1000)
    assert found.stderr == pytest.approx(shares.std(ddof=1) / np.sqrt(10), rel=0.01)
    assert found.value == pytest.approx(np.log(shares.mean()), abs=1e-12)


@every_rbm
def test_csl_is_the_log_of_the_mean_of_p_v_given_h(model):
    h = np.asarray(laws.all_states(model.transposed()))[[1, 6]]
    v = np.asarray(laws.all_states(model))[[3, 17, 30]]
    p = np.asarray(model.visible_mean(h))
    conditional = np.prod(np.where(v[:, None] == 1, p, 1 - p), -1)  # (v, h)
    sums = _log_conditionals(model, jnp.asarray(h)[None], jnp.asarray(v, jnp.uint8))
    np.testing.assert_allclose(sums[0, 0], np.log(conditional.sum(1)), rtol=1e-4)
    np.testing.assert_allclose(sums[1, 0], np.log((conditional**2).sum(1)), rtol=1e-4)


@pytest.mark.parametrize("name", FROM_ZERO)
def test_pseudo_likelihood(name):
    model = laws.MODELS[name]
    p = laws.probabilities(model)
    q = model.space.n_values
    place = q ** np.arange(5)
    index = DATA.astype(int) @ place
    at_zero = [index - DATA[:, i].astype(int) * place[i] for i in range(5)]  # the same row with unit i at 0
    expected = sum(np.log(p[index] / sum(p[at_zero[i] + a * place[i]] for a in range(q))) for i in range(5))
    np.testing.assert_allclose(pseudo_log_likelihoods(model, DATA), expected, rtol=1e-4, atol=1e-5)
    estimate = mpf.log_likelihood(model, DATA, "pseudo")
    assert estimate.value == pytest.approx(expected.mean(), rel=1e-4)
    assert estimate.verdict == "do not trust" and "not a likelihood" in estimate.warnings[0]


def test_input_dtype_does_not_matter():
    for method in ("exact", "ais", "csl", "pseudo"):
        settings = {"ais": {"betas": 50}, "csl": {"samples": 5, "burn_in": 5}}.get(method, {})
        values = {
            mpf.log_likelihood(RBMS[0], DATA.astype(t), method, **settings).value
            for t in (bool, np.uint8, np.int64, np.float32, np.float64)
        }
        assert len(values) == 1


def test_seeds_are_reproducible():
    a, b, c = (mpf.log_partition(RBMS[0], "ais", betas=50, seed=seed) for seed in (1, 1, 2))
    assert a.value == b.value != c.value
    assert mpf.log_partition(RBMS[0], "ais", betas=50, seed=jax.random.key(1)).value == a.value


BAD = [
    ({"method": "guess"}, "auto, ais, csl, exact, pseudo"),
    ({"method": "ais", "chains": 1}, "at least 10 chains"),
    ({"method": "ais", "betas": 0}, "at least 2 temperatures"),
    ({"method": "auto", "chainz": 3}, "no setting 'chainz'"),
    ({"method": "auto", "target_stderr": -1.0}, "above 0"),
    ({"method": "pseudo", "chains": 3}, "'pseudo' has no setting 'chains': it has none .ais, csl, trajectory have it"),
    ({"method": "ais", "betas": 1}, "at least 2 temperatures"),
    ({"method": "ais", "schedule": "square"}, "linear, three-piece, adaptive"),
    ({"method": "ais", "target_stderr": 0.0}, "above 0"),
    ({"method": "ais", "chain": 3}, "no setting 'chain'"),
    ({"method": "csl", "betas": 3}, "'csl' has no setting 'betas'"),
    ({"method": "csl", "thinning": 0}, "thinning"),
    ({"method": "exact", "betas": 3}, "no setting 'betas': it has none"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_bad_requests_are_refused(settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.log_likelihood(RBMS[0], DATA, **settings)


def test_bad_models_and_data_are_refused():
    broken = mpf.BernoulliRBM(RBMS[0].weights.at[0, 0].set(jnp.nan), RBMS[0].visible_bias, RBMS[0].hidden_bias)
    with pytest.raises(mpf.InputError, match="non-finite"):
        mpf.log_likelihood(broken, DATA)
    with pytest.raises(mpf.InputError, match="6 columns"):
        mpf.log_likelihood(RBMS[0], np.zeros((3, 6)))
    with pytest.raises(mpf.InputError, match="csl"):
        mpf.log_partition(RBMS[0], "csl")
    with pytest.raises(mpf.InputError, match="hidden layer"):
        mpf.log_likelihood(laws.MODELS["EnergyModel-0"], DATA, "csl")


def test_csl_with_few_effective_samples_is_not_trusted():
    few = mpf.log_likelihood(RBMS[1], DATA, "csl", chains=4, samples=1, burn_in=0)
    assert few.ess <= 4 and few.verdict == "do not trust" and any("few effective samples" in warning for warning in few.warnings)
    many = mpf.log_likelihood(RBMS[1], DATA, "csl", chains=40, samples=20, burn_in=20)
    assert many.ess > 5 and many.verdict == "wide" and not any("few effective samples" in warning for warning in many.warnings)


def test_what_the_choice_of_examples_adds_is_the_error_of_their_mean():
    values = np.log(laws.probabilities(RBMS[1]))[DATA.astype(int) @ (2 ** np.arange(5))]
    found = mpf.log_likelihood(RBMS[1], DATA).settings["stderr_over_examples"]
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(300), rel=1e-5)
