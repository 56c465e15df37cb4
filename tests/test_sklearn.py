"""The scikit-learn estimator: scikit-learn's own checks, then what they do not see."""

import copy
import pickle
import pickletools
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import minprobflow as mpf
from minprobflow.sklearn import RBM, bits
from minprobflow.train.epoch import run_epoch

GREY = load_digits().data[:200] / 16
BITS = (GREY > 0.5).astype(np.uint8)
CLASSES = load_digits().target[:200]
SMALL = {"n_components": 4, "batch_size": 50, "n_iter": 2, "random_state": 0}  # one setting throughout: it is compiled once


@pytest.fixture(scope="module")
def fitted():
    """Not to be changed: use a copy."""
    return RBM(**SMALL).fit(BITS)


def parameters(rbm):
    return np.concatenate([rbm.components_.ravel(), rbm.intercept_hidden_, rbm.intercept_visible_])


# scikit-learn's checks


@parametrize_with_checks([RBM(n_components=2, n_iter=1, batch_size=5)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X has values from")  # their data are any numbers
        check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dataframe_column_names_consistency,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
        estimator_checks.check_set_output_transform_pandas,
    ],
)
@pytest.mark.filterwarnings("ignore:X has values from")
def test_scikit_learn_checks_that_are_optional(check):
    check("RBM", RBM(n_components=2, n_iter=1, batch_size=5))


# the same model as the library's


def test_it_trains_as_fit_does(fitted):
    rng = np.random.RandomState(0)
    seed = rng.randint(2**31 - 1)
    expected = mpf.fit(mpf.BernoulliRBM.init(seed, 64, 4, data=BITS), BITS, epochs=2, batch_size=50, seed=seed, centred=False).model
    np.testing.assert_array_equal(fitted.components_, np.asarray(expected.weights).T)
    np.testing.assert_array_equal(fitted.intercept_visible_, np.asarray(expected.visible_bias))


def test_means_are_those_of_the_model(fitted):
    hidden = fitted.transform(BITS)
    np.testing.assert_allclose(hidden, fitted.model_.hidden_mean(BITS), atol=1e-6)
    np.testing.assert_allclose(fitted.inverse_transform(hidden), fitted.model_.visible_mean(hidden), atol=1e-6)
    np.testing.assert_array_equal(fitted.reconstruct(BITS), fitted.inverse_transform(hidden))


def test_likelihoods_are_exact_where_they_can_be(fitted):
    rbm = copy.deepcopy(fitted)
    expected = mpf.log_likelihood(rbm.model_, BITS, "exact").value
    assert rbm.score(BITS) == pytest.approx(expected, abs=1e-9)
    assert rbm.score_samples(BITS).shape == (200,)
    assert (rbm.log_partition_.method, rbm.log_partition_.verdict) == ("exact", "trusted")


def test_an_estimated_likelihood_is_kept_once_and_warns_if_it_is_not_trusted(fitted, monkeypatch):
    rbm, calls = copy.deepcopy(fitted), []

    def estimate(model, seed, base_data, progress):
        calls.append(len(base_data))
        return mpf.Estimate(40.0, 3.0, 30.0, 50.0, 2.0, "ais", "do not trust", {}, ("few effective chains",))

    monkeypatch.setattr("minprobflow.sklearn.rbm.log_partition", estimate)
    for _ in range(2):
        with pytest.warns(UserWarning, match="do not trust.*few effective chains"):
            rbm.score(BITS)
    assert calls == [200] and rbm.log_partition_.stderr == 3.0
    rbm.partial_fit(BITS)
    assert not hasattr(rbm, "log_partition_")


def test_ais_takes_over_where_there_are_too_many_units(fitted, monkeypatch):
    rbm = copy.deepcopy(fitted)
    exact = rbm.score(BITS)
    del rbm.log_partition_
    monkeypatch.setattr("minprobflow.likelihood.evaluate.MAX_UNITS", 3)
    assert rbm.score(BITS) == pytest.approx(exact, abs=4 * max(rbm.log_partition_.stderr, 0.01))
    assert rbm.log_partition_.method == "ais"


# input


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32, np.float64])
def test_every_dtype_gives_the_same(fitted, dtype):
    other = RBM(**SMALL).fit(BITS.astype(dtype))
    np.testing.assert_array_equal(parameters(other), parameters(fitted))
    np.testing.assert_array_equal(other.transform(BITS.astype(dtype)), fitted.transform(BITS))
    np.testing.assert_array_equal(other.score_samples(BITS.astype(dtype)), fitted.score_samples(BITS))


@pytest.mark.parametrize("how", [0.5, "sample", None])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, pd.DataFrame])
def test_sparse_and_pandas_give_the_same(fitted, how, container):
    values = BITS if how is None else GREY
    dense = RBM(**SMALL, binarize=how).fit(values)
    other = RBM(**SMALL, binarize=how).fit(container(values))
    np.testing.assert_array_equal(parameters(other), parameters(dense))
    np.testing.assert_allclose(other.transform(container(values)), dense.transform(values), atol=1e-12)


def test_set_output_gives_a_data_frame(fitted):
    frame = pd.DataFrame(BITS, columns=[f"pixel{i}" for i in range(64)], index=range(1000, 1200))
    rbm = RBM(**SMALL).set_output(transform="pandas").fit(frame)
    out = rbm.transform(frame)
    assert list(out.columns) == list(rbm.get_feature_names_out()) == ["rbm0", "rbm1", "rbm2", "rbm3"]
    assert list(out.index) == list(frame.index) and list(rbm.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(rbm.inverse_transform(out), fitted.reconstruct(BITS))
    np.testing.assert_array_equal(rbm.reconstruct(frame), fitted.reconstruct(BITS))


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_of_answers_are_taken_and_their_names_kept(library):
    names = [f"question {i}" for i in range(64)]
    answers = {name: np.where(column, "yes", "no").tolist() for name, column in zip(names, BITS.T, strict=True)}
    frame = library.DataFrame({**answers, names[0]: BITS[:, 0].astype(bool).tolist()})
    rbm, plain = RBM(**SMALL).fit(frame), RBM(**SMALL).fit(BITS)
    np.testing.assert_array_equal(parameters(rbm), parameters(plain))
    np.testing.assert_array_equal(rbm.transform(frame), plain.transform(BITS))
    assert list(rbm.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        rbm.transform(frame.rename(columns={"question 3": "other"}) if library is pd else frame.rename({"question 3": "other"}))


def test_grey_values_are_cut_at_the_threshold(fitted):
    cut = RBM(**SMALL, binarize=0.5).fit(GREY)
    np.testing.assert_array_equal(parameters(cut), parameters(fitted))
    np.testing.assert_array_equal(parameters(RBM(**SMALL, binarize=8).fit(GREY * 16)), parameters(fitted))
    np.testing.assert_array_equal(cut.transform(GREY), fitted.transform(BITS))


def test_sampled_bits_follow_the_values():
    half = np.full((200, 64), 0.25)
    rbm = RBM(**SMALL).fit(half)
    assert rbm.reconstruct(half).mean() == pytest.approx(0.25, abs=0.03)  # 12,800 bits: standard error 0.004
    np.testing.assert_allclose(rbm.transform(half), rbm.model_.hidden_mean(half), atol=1e-6)  # means take the values as they are
    drawn = bits.rows_one_by_one(half + 1e-4 * np.arange(200)[:, None], "sample", seed=3)
    assert drawn.mean() == pytest.approx(0.26, abs=0.015) and np.ptp(drawn.mean(1)) > 0.1  # each row has draws of its own


def test_values_outside_the_unit_interval_are_not_silently_clipped():
    with pytest.warns(UserWarning, match=r"from 0 to 16.*MinMaxScaler"):
        clipped = RBM(**SMALL).fit(GREY * 16)
    np.testing.assert_array_equal(clipped.transform(GREY * 16), clipped.transform(np.minimum(GREY * 16, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RBM(**SMALL, binarize=8.0).fit(GREY * 16)


@pytest.mark.parametrize(
    ("settings", "X", "message"),
    [
        ({"centred": "yes"}, GREY, "centred='yes': use True or False"),
        ({"binarize": None}, GREY, "must be binary.*threshold"),
        ({"binarize": None}, sp.csr_array(GREY), "must be binary.*threshold"),
        ({"binarize": "threshold"}, GREY, "binarize='threshold': give a threshold"),
        ({"binarize": np.nan}, GREY, "give a threshold"),
        ({"n_components": 0}, GREY, "n_components=0, expected a whole number"),
        ({"n_iter": 1.5}, GREY, "n_iter=1.5, expected a whole number"),
        ({"batch_size": True}, GREY, "batch_size=True, expected a whole number"),
        ({"learning_rate": -1}, GREY, "learning_rate=-1, expected a finite number above 0"),
        ({"learning_rate": "fast"}, GREY, "learning_rate='fast', expected a finite number above 0"),
        ({"rule": "fpmfp"}, GREY, "did you mean 'fpmpf'"),
        ({"rule": "mpf-1flip", "k": 2}, GREY, "has no setting 'k'"),
        ({"l2": -1.0}, GREY, "strength of a penalty"),
        ({}, np.where(GREY > 0.9, np.nan, GREY), "NaN"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_errors_say_what_to_do(settings, X, message, method):
    rbm = RBM(**SMALL | settings)
    with pytest.raises(ValueError, match=message):
        getattr(rbm, method)(X)
    with pytest.raises(NotFittedError):
        rbm.transform(BITS)


def test_widths_are_checked(fitted):
    with pytest.raises(ValueError, match="63 features, but RBM is expecting 64"):
        fitted.transform(BITS[:, :63])
    with pytest.raises(mpf.InputError, match=r"64 columns.*4 hidden units.*reconstruct"):
        fitted.inverse_transform(BITS)


# randomness


def test_random_state_is_scikit_learns(fitted):
    assert not np.array_equal(parameters(RBM(**SMALL | {"random_state": 1}).fit(BITS)), parameters(fitted))
    rng = np.random.RandomState(0)
    first, second = (parameters(RBM(**SMALL | {"random_state": rng}).fit(BITS)) for _ in range(2))
    np.testing.assert_array_equal(first, parameters(fitted))
    assert not np.array_equal(first, second)
    np.random.seed(0)
    np.testing.assert_array_equal(parameters(RBM(**SMALL | {"random_state": None}).fit(BITS)), parameters(fitted))


def test_gibbs_and_sample_go_on_and_can_be_repeated(fitted):
    one, two = copy.deepcopy(fitted), copy.deepcopy(fitted)
    chain, again = [], []
    for rbm, states in ((one, chain), (two, again)):
        for _ in range(2):
            states += [rbm.gibbs(BITS), rbm.sample(200, n_steps=3)]
    np.testing.assert_array_equal(chain, again)
    assert not np.array_equal(chain[0], chain[2]) and not np.array_equal(chain[1], chain[3])
    assert chain[0].dtype == bool and chain[0].shape == (200, 64)


def test_gibbs_is_a_step_of_the_sampler(fitted):
    rbm = copy.deepcopy(fitted)
    seed = copy.deepcopy(rbm.random_state_).randint(2**31 - 1)
    np.testing.assert_array_equal(rbm.gibbs(BITS), mpf.sample(rbm.model_, steps=1, start=BITS, seed=seed))


# training in parts


def test_partial_fit_goes_on_where_it_stood():
    """Two passes, whole or by parts, at a constant rate: the particles and the key are those of one run."""
    parts = RBM(**SMALL, learning_rate=0.1)
    for _ in range(2):
        assert parts.partial_fit(BITS) is parts
    rng = np.random.RandomState(0)
    seed = rng.randint(2**31 - 1)
    rate = {"learning_rate": lambda step: 0.1, "centred": False}
    whole = mpf.fit(mpf.BernoulliRBM.init(seed, 64, 4, data=BITS), BITS, epochs=2, batch_size=50, seed=seed, **rate)
    np.testing.assert_array_equal(parts.components_.T, np.asarray(whole.model.weights))
    assert len(parts.history_) == 2 and int(parts._state.step) == 8


def test_partial_fit_raises_the_likelihood_and_uses_every_row():
    rbm = RBM(**SMALL, learning_rate=1.0).partial_fit(BITS[:170])
    before = rbm.score(BITS)
    for _ in range(20):
        rbm.partial_fit(BITS[:170])
    assert int(rbm._state.step) == 21 * 4  # 170 rows are four batches of 50
    assert rbm.score(BITS) > before + 1
    rbm.partial_fit(BITS[:7])
    assert int(rbm._state.step) == 21 * 4 + 1


def test_partial_fit_after_fit_starts_from_it(fitted):
    rbm = copy.deepcopy(fitted).partial_fit(BITS)
    assert int(rbm._state.step) == 12 and len(rbm.history_) == 3
    assert 0 < np.abs(parameters(rbm) - parameters(fitted)).max() < 0.5


def test_other_settings_start_new_particles_but_keep_the_model(fitted):
    rbm = copy.deepcopy(fitted).set_params(rule="cd", learning_rate=1e-9).partial_fit(BITS)
    np.testing.assert_allclose(parameters(rbm), parameters(fitted), atol=1e-6)
    assert int(rbm._state.step) == 4  # not 12


def test_a_second_segment_compiles_nothing(fitted):
    rbm = copy.deepcopy(fitted).partial_fit(BITS)
    before = run_epoch._cache_size()
    rbm.partial_fit(BITS[:170])
    copy.deepcopy(fitted).partial_fit(BITS)
    assert run_epoch._cache_size() == before


# files


@pytest.mark.parametrize("settings", [{}, {"rule": "pmpf", "refresh": 3, "l2": 1e-3}])
def test_a_pickle_goes_on_as_if_never_made(settings):
    rbm = RBM(**SMALL, **settings).partial_fit(BITS)
    content = pickle.dumps(rbm)
    names = {value for _, value, _ in pickletools.genops(content) if isinstance(value, str)}
    assert not any(name.split(".")[0] in ("jax", "jaxlib", "equinox", "optax") for name in names)
    other = pickle.loads(pickle.dumps(pickle.loads(content)))  # a pickle of what was only read back holds all of it, too
    np.testing.assert_array_equal(other.transform(BITS), rbm.transform(BITS))
    np.testing.assert_array_equal(parameters(other.partial_fit(BITS)), parameters(rbm.partial_fit(BITS)))
    np.testing.assert_array_equal(other.sample(3, n_steps=5), rbm.sample(3, n_steps=5))


def test_an_unfitted_pickle():
    assert pickle.loads(pickle.dumps(RBM(n_components=3))).n_components == 3


def test_the_model_can_be_taken_out(fitted, tmp_path):
    mpf.save(fitted.model_, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(mpf.load(tmp_path / "model.safetensors").weights, fitted.model_.weights)


# in scikit-learn's tools


def test_clone_keeps_settings_and_not_the_fit(fitted):
    other = clone(fitted)
    assert other.get_params() == fitted.get_params() and not hasattr(other, "model_")
    rule = mpf.FPMPF(k=2, refresh=2)
    assert clone(RBM(rule=rule)).rule == rule


def test_a_rule_can_be_an_object(fitted):
    np.testing.assert_array_equal(parameters(RBM(**SMALL, rule=mpf.PCD()).fit(BITS)), parameters(fitted))


def test_pipeline():
    pipeline = make_pipeline(RBM(**SMALL | {"n_iter": 40, "learning_rate": 1.0}), LogisticRegression(max_iter=500))
    assert pipeline.fit(GREY, CLASSES).score(GREY, CLASSES) > 0.5  # by four features; by chance 0.1
    assert list(pipeline[:-1].get_feature_names_out()) == ["rbm0", "rbm1", "rbm2", "rbm3"]


def test_grid_search_by_likelihood_and_by_class():
    rates = [1e-6, 1.0]
    search = GridSearchCV(RBM(**SMALL | {"n_iter": 80}), {"learning_rate": rates}, cv=2, refit=False).fit(BITS)
    assert search.best_params_ == {"learning_rate": 1.0}
    pipeline = make_pipeline(RBM(**SMALL | {"n_iter": 80}), LogisticRegression())
    search = GridSearchCV(pipeline, {"rbm__learning_rate": rates}, cv=2).fit(BITS, CLASSES)
    assert search.best_params_ == {"rbm__learning_rate": 1.0}


def test_names_are_those_of_bernoulli_rbm(fitted):
    theirs = BernoulliRBM(n_components=4, n_iter=1, random_state=0).fit(BITS)
    public = {name for name in dir(theirs) if not name.startswith("_")} - {"h_samples_"}  # ours keeps visible particles, in its state
    assert public <= set(dir(fitted))
    assert theirs.get_params().keys() <= fitted.get_params().keys()
    for name in ("components_", "intercept_hidden_", "intercept_visible_"):
        assert getattr(theirs, name).shape == getattr(fitted, name).shape
    for name in ("n_components", "batch_size", "n_iter", "verbose", "random_state"):
        assert BernoulliRBM().get_params()[name] == RBM().get_params()[name]


def test_verbose_prints_a_line_an_iteration(capsys):
    RBM(**SMALL, verbose=1).fit(BITS)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and re.fullmatch(r"epoch 2/2  gradient norm \S+  reconstruction error \S+", lines[1])
    RBM(**SMALL).fit(BITS)
    assert capsys.readouterr() == ("", "")
