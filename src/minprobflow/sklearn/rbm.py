"""`RBM`, the scikit-learn estimator: the names and the pipeline use of `sklearn.neural_network.BernoulliRBM`, with our training."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import models
from ..arguments import flag, number, whole
from ..data.base import in_three
from ..errors import InputError
from ..frames import is_frame
from ..likelihood import Estimate, free_energies, log_partition
from ..model_specs import RBMSpec
from ..models import files as model_files
from ..samplers import sample
from ..specs import documented, near, settings_of
from ..tables import numbers, refuse_masked
from ..train import Config, Fit, TrainState, begin, fit, fit_settings, spec_settings, state_from_bytes, state_to_bytes
from . import bits

RENAMED = {"epochs": "n_iter", "hidden": "n_components"}  # as BernoulliRBM calls them
DEFAULTS = {"n_components": 256, "batch_size": 10, "n_iter": 10, "centred": False}  # BernoulliRBM's, and plain gradients (see `centred`)
OF_RULES = {name: settings_of(having[0])[name] for name, having in spec_settings()["rule_settings"].items()}
SETTINGS = {
    RENAMED.get(name, name): setting._replace(name=RENAMED.get(name, name))
    for name, setting in {"hidden": settings_of(RBMSpec)["hidden"], **fit_settings(), **OF_RULES, **settings_of(RBMSpec)}.items()
    if name != "seed"
}
PARAMETERS = {
    **{name: None if name in OF_RULES else setting.default for name, setting in SETTINGS.items()},
    **DEFAULTS,
    "binarize": bits.SAMPLE,
    "verbose": 0,
    "random_state": None,
}
"""every parameter of the estimator and its default"""


@documented(SETTINGS)
class RBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Bernoulli restricted Boltzmann machine whose features are the hidden units' means.

    Its parameters are the settings of `mpf.fit`, of the rules and of the model, some under the names that `BernoulliRBM` gives them.

    Args:
        {settings}
        binarize: how X becomes bits. "sample": values are probabilities of 1; bits are drawn from them for training, scores
            and `gibbs`, while `transform` takes them as they are. A number: values above it are 1. None: X must be 0 and 1.
        verbose: show the iterations on standard error.
        random_state: as everywhere in scikit-learn: a number makes `fit` reproducible.

    `fit` lets a learning rate decay linearly to zero, `partial_fit` keeps it constant. Gradients are not centred by default: that is
    better for the likelihood, but units are then on half of the time, and a classifier may do less well with them
    (docs/scikit-learn.md). Settings of rules are None for the rule's own default.

    Attributes:
        model_: the trained `mpf.RBM`, for all else that the library does.
        components_, intercept_hidden_, intercept_visible_: its weights (hidden x visible) and biases.
        log_partition_: the `Estimate` of log Z behind `score_samples`, once that has been asked for.
        history_: per iteration: objective, log J, ESS, gradient norm, reconstruction error, seconds.

    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data / 16
    >>> RBM(n_components=8, n_iter=1, random_state=0).fit_transform(X).shape
    (1797, 8)
    """

    def __init__(self, n_components: object = DEFAULTS["n_components"], **settings: object) -> None:
        # scikit-learn wants any value stored as it is; `fit` checks them
        if unknown := settings.keys() - PARAMETERS.keys():
            raise TypeError(f"RBM has no parameter {min(unknown)!r}{near(min(unknown), PARAMETERS)}")
        for name, value in {**PARAMETERS, **settings, "n_components": n_components}.items():
            setattr(self, name, value)

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY if i else inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for i, (name, default) in enumerate(PARAMETERS.items())
        ]
    )

    def fit(self, X: object, y: object = None) -> RBM:
        """Train on X from the start, n_iter times through it."""
        self._check_parameters()
        matrix = self._validated(X, reset=True)
        bits.warn_if_clipped(matrix, self.binarize)
        rng = check_random_state(self.random_state)
        rows = bits.rows(matrix, self.binarize, rng)
        if len(rows) < self.batch_size:
            rows = _filled(rows, self.batch_size)
        seed = _seed(rng)
        result = self._train(self._new_model(rows, seed), rows, self._config(seed=seed))
        self.history_: list[dict[str, float]] = []
        return self._keep(result, rng)

    def partial_fit(self, X: object, y: object = None) -> RBM:
        """Go once through X, from where training stands, at a constant learning rate.

        Particles and running means are kept between calls. X is filled up to whole batches with its own first rows, so
        that every row counts; pass segments of one size, since each new size is compiled again.
        """
        self._check_parameters()
        first = not hasattr(self, "model_")
        matrix = self._validated(X, reset=first)
        bits.warn_if_clipped(matrix, self.binarize)
        rng = check_random_state(self.random_state) if first else self.random_state_
        rows = bits.rows(matrix, self.binarize, rng)
        n_batches = -(-len(rows) // self.batch_size)
        rows = _filled(rows, n_batches * self.batch_size)
        if first:
            self.history_ = []
        seed = _seed(rng)
        model = self._new_model(rows, seed) if first else self.model_
        config = self._config(seed=seed, schedule="constant")
        state = self._state_to_continue_from(model, rows, config)
        config = dataclasses.replace(config, epochs=int(state.step) // n_batches + 1)  # exactly one more
        return self._keep(self._train(model, rows, config, state), rng)

    def transform(self, X: object) -> Float[np.ndarray, "n H"]:
        """The hidden units' means given X."""
        check_is_fitted(self)
        return self._hidden_means(self._validated(X))

    def inverse_transform(self, X: object) -> Float[np.ndarray, "n D"]:
        """The visible units' means given values of the hidden ones (states, or means as `transform` gives them)."""
        check_is_fitted(self)
        refuse_masked(X, "X")
        hidden = check_array(X, accept_sparse="csr")
        if hidden.shape[1] != self.model_.n_hidden:
            raise InputError(
                f"X has {hidden.shape[1]} columns, but inverse_transform takes values of the {self.model_.n_hidden} hidden units: "
                "pass what transform gives; reconstruct takes visible rows"
            )
        return self._visible_means(hidden)

    def reconstruct(self, X: object) -> Float[np.ndarray, "n D"]:
        """X through the hidden means and back: the visible means."""
        check_is_fitted(self)
        return self._visible_means(self._hidden_means(self._validated(X)))

    def gibbs(self, v: object) -> Bool[np.ndarray, "n D"]:
        """The visible units after one step of block Gibbs sampling from v. Repeated calls give a chain."""
        check_is_fitted(self)
        start = bits.rows(self._validated(v), self.binarize, self.random_state_)
        return sample(self.model_, steps=1, start=start, seed=_seed(self.random_state_)).astype(bool)

    def sample(self, n_samples: int = 1, n_steps: int = 1000) -> UInt8[np.ndarray, "n D"]:
        """Draw visible states: n_samples independent chains from noise, after n_steps steps. Each call draws others."""
        check_is_fitted(self)
        return sample(self.model_, n=n_samples, steps=n_steps, seed=_seed(self.random_state_))

    def score_samples(self, X: object) -> Float[np.ndarray, " n"]:
        """Log-likelihood of each row, in nats.

        Up to 25 units in the smaller layer log Z is exact; above that it is estimated by annealed importance sampling, once,
        when it is first needed. `log_partition_` says how, with its error and a verdict; a verdict other than "trusted" warns.
        """
        check_is_fitted(self)
        rows = bits.rows_one_by_one(self._validated(X), self.binarize, _seed(check_random_state(self.random_state)))
        if not hasattr(self, "log_partition_"):
            self.log_partition_: Estimate = log_partition(
                self.model_, seed=_seed(check_random_state(self.random_state)), base_data=rows, progress=False
            )
        if self.log_partition_.verdict != "trusted":
            warnings.warn(f"these log-likelihoods rest on log Z = {self.log_partition_}", UserWarning, stacklevel=2)
        return -free_energies(self.model_, rows) - self.log_partition_.value

    def score(self, X: object, y: object = None) -> float:
        """Mean log-likelihood of the rows of X, in nats."""
        return float(np.mean(self.score_samples(X)))

    @property
    def components_(self) -> Float[np.ndarray, "H D"]:
        """The weights, transposed as in BernoulliRBM."""
        return np.asarray(self.model_.weights).T

    @property
    def intercept_hidden_(self) -> Float[np.ndarray, " H"]:
        """The hidden biases."""
        return np.asarray(self.model_.hidden_bias)

    @property
    def intercept_visible_(self) -> Float[np.ndarray, " D"]:
        """The visible biases."""
        return np.asarray(self.model_.visible_bias)

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_hidden

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # a failed fit leaves n_features_in_ only

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, object]:
        """No jax objects: the model and the training state go as the bytes of their files."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = model_files.to_bytes(self.model_)
            state["_state"] = self._state if isinstance(self._state, bytes) else state_to_bytes(self._state)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": model_files.from_bytes(state["model_"])}
        super().__setstate__(state)

    def _check_parameters(self) -> None:
        for name in ("n_components", "batch_size", "n_iter"):
            whole(name, getattr(self, name), 1)
        flag("centred", self.centred)
        if not isinstance(self.verbose, bool | np.bool_):
            whole("verbose", self.verbose)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0, hint="or None for what suits the rule")
        bits.check(self.binarize)

    def _config(self, **changes: Any) -> Config:
        values = {name: getattr(self, RENAMED.get(name, name)) for name in fit_settings() if name != "seed"}
        of_rule = {name: getattr(self, name) for name in OF_RULES if getattr(self, name) is not None}
        return Config(**{**values, **changes}, rule_settings=of_rule)

    def _validated(self, X: object, reset: bool = False) -> bits.Matrix:
        refuse_masked(X, "X")
        if is_frame(X) and np.asarray(X).dtype.kind not in "biuf":
            validate_data(self, X, reset=reset, skip_check_array=True)  # the names of its columns
            return check_array(numbers(X, "X"))
        return validate_data(self, X, accept_sparse="csr", reset=reset)

    def _new_model(self, rows: UInt8[np.ndarray, "n D"], seed: int) -> models.RBM:
        spec = RBMSpec(hidden=self.n_components, tau=self.tau)
        return spec.build(seed, in_three("X", (rows, rows[:0], rows[:0]), None, "X"))  # type: ignore[return-value]

    def _train(self, model: models.RBM, rows: UInt8[np.ndarray, "n D"], config: Config, state: TrainState | None = None) -> Fit:
        return fit(model, rows, **config.arguments(), state=state, progress=bool(self.verbose))

    def _shared(self) -> dict[str, object]:
        """What a training state can be continued with; with other settings particles start at new places."""
        config = self._config(schedule="constant", seed=0, epochs=1, learning_rate=None)
        return dataclasses.asdict(dataclasses.replace(config, rule=config.rule_spec().name)) | {"rule_settings": config.rule_spec()}

    def _state_to_continue_from(self, model: models.RBM, rows: UInt8[np.ndarray, "n D"], config: Config) -> TrainState:
        fresh = begin(model, rows, config)
        if getattr(self, "_begun_with", None) != self._shared():
            return fresh
        return state_from_bytes(self._state, fresh) if isinstance(self._state, bytes) else self._state

    def _keep(self, result: Fit, rng: np.random.RandomState) -> RBM:
        self.model_: models.RBM = result.model  # type: ignore[assignment]
        self.random_state_ = rng
        self.history_ = self.history_ + [{name: float(value) for name, value in epoch.items()} for epoch in result.history]
        self._state: TrainState | bytes = result.state  # bytes after unpickling, until training continues
        self._begun_with = self._shared()
        if hasattr(self, "log_partition_"):
            del self.log_partition_  # it was that of the model before
        return self

    def _hidden_means(self, X: bits.Matrix) -> Float[np.ndarray, "n H"]:
        visible = bits.visible(X, self.binarize).astype(np.float64)  # one precision, whatever the input's
        return expit(safe_sparse_dot(visible, self.components_.T.astype(np.float64)) + self.intercept_hidden_)

    def _visible_means(self, hidden: bits.Matrix) -> Float[np.ndarray, "n D"]:
        return expit(safe_sparse_dot(hidden.astype(np.float64), self.components_.astype(np.float64)) + self.intercept_visible_)


def _seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(np.iinfo(np.int32).max))


def _filled(rows: UInt8[np.ndarray, "n D"], n: int) -> UInt8[np.ndarray, "m D"]:
    """n rows: these, then these again."""
    return rows[np.arange(n) % len(rows)]
