"""One call for any model: `log_partition` and `log_likelihood`, with an error and a verdict."""

from __future__ import annotations

from ..arguments import choice
from ..enumeration import is_enumerable
from ..models.base import Model, as_model
from ..progress import Report, phases
from ..random_bits import as_key
from .base import LikelihoodEstimator, LogPartitionEstimator, estimators
from .estimate import Estimate
from .exact import MAX_UNITS


def methods() -> list[str]:
    """What `log_likelihood` can be had by.

    >>> methods()
    ['auto', 'ais', 'csl', 'exact', 'pseudo', 'trajectory']
    """
    return ["auto", *LikelihoodEstimator.names()]


def log_partition(
    model: Model,
    method: str = "auto",
    *,
    seed: object = 0,
    base_data: object = None,
    progress: bool | Report | None = None,
    **settings: object,
) -> Estimate:
    """Estimate log Z of a model.

    Args:
        model: any model with a finite log Z.
        method: "exact" (enumeration, up to 25 units in the smaller layer), "ais" (annealed importance sampling in both
            directions), "trajectory" (replica exchange along a training run), or "auto": exact where it can be had, else along
            `trajectory=` where that is given, else AIS.
        seed: a seed or a JAX key.
        base_data: rows whose means one of the two base models of AIS gets, and where some of its sampling chains start.
        progress: show the phases on standard error, by default on a terminal; or a function of the phase and its share done.
        **settings: of AIS (see `mpf.likelihood.AIS`): chains, betas, schedule, samples, target_stderr, max_betas, max_seconds, ...
            Without `betas` the temperatures are doubled until the target or the budget is reached. Of "trajectory" (see
            `mpf.likelihood.AlongTrajectory`): trajectory, chains, steps, target_stderr, max_rounds, max_seconds, ...

    Returns:
        An `Estimate`, with its error and a verdict.

    >>> import minprobflow as mpf
    >>> print(mpf.log_partition(mpf.BernoulliRBM([[0.0]], [0.0], [0.0])))
    1.386 +- 0.000 nats, 95% [1.386, 1.386], by exact: trusted
    """
    as_model(model, finite=True)
    choice("method", method, ("auto", *estimators()), hint=" for log Z")
    name, settings = _chosen(model, method, settings)
    with phases(progress) as report:
        return LogPartitionEstimator.find(name, settings, "AIS()").log_partition(model, as_key(seed, "seed"), base_data, report)


def log_likelihood(
    model: Model,
    data: object,
    method: str = "auto",
    *,
    seed: object = 0,
    base_data: object = None,
    progress: bool | Report | None = None,
    **settings: object,
) -> Estimate:
    """Mean log-likelihood of `data`, in nats per example.

    Args:
        model: any model with a finite log Z.
        data: rows, as for `mpf.fit`.
        method: as for `log_partition`, or "csl" (a lower bound from hidden samples), or "pseudo" (not a likelihood).
        seed: a seed or a JAX key.
        base_data: as for `log_partition`, by default `data`; where CSL's chains start with start="data".
        progress: as for `log_partition`.
        **settings: of AIS or CSL.

    Returns:
        An `Estimate`. The error is the estimator's. What the choice of examples adds is in `settings["stderr_over_examples"]`.

    >>> import minprobflow as mpf
    >>> print(mpf.log_likelihood(mpf.BernoulliRBM([[0.0]], [0.0], [0.0]), [[0], [1]]))
    -0.693 +- 0.000 nats, 95% [-0.693, -0.693], by exact: trusted
    """
    as_model(model, finite=True)
    choice("method", method, methods())
    rows = model.space.check(data)
    base_rows = None if base_data is None else model.space.check(base_data, "base data")
    name, settings = _chosen(model, method, settings)
    with phases(progress) as report:
        return LikelihoodEstimator.find(name, settings, "AIS()").log_likelihood(model, rows, as_key(seed, "seed"), base_rows, report)


def _chosen(model: Model, method: str, settings: dict[str, object]) -> tuple[str, dict[str, object]]:
    """The estimator for "auto", and the settings it takes: those of the sampled one, which are checked even where it is not needed."""
    if method != "auto":
        return method, settings
    sampled = "trajectory" if settings.get("trajectory") is not None else "ais"
    if sampled == "ais":
        settings = {name: value for name, value in settings.items() if name != "trajectory"}
    LikelihoodEstimator.find(sampled, settings, "AIS()")
    return ("exact", {}) if is_enumerable(model, MAX_UNITS) else (sampled, settings)
