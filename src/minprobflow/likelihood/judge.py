"""One call for any model: `log_partition` and `log_likelihood`, with an error and a verdict."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..arguments import choice, function, shown
from ..enumeration import is_enumerable
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_float64, double_precision
from ..random_bits import as_key
from ..units import discrete
from .base import Progress, estimators
from .csl import CSL, csl, n_chains
from .estimate import Estimate
from .exact import MAX_UNITS
from .pseudo import pseudo_log_likelihoods
from .verdict import Z95

ROWS = 2000


def methods() -> list[str]:
    """What `log_likelihood` can be had by."""
    return ["auto", *estimators(), "csl", "pseudo"]


def log_partition(
    model: Model,
    method: str = "auto",
    *,
    seed: int | Key[Array, ""] = 0,
    base_data: Any = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Estimate:
    """log Z of a model.

    Args:
        method: "exact" (enumeration, up to 25 units in the smaller layer), "ais" (annealed importance sampling in both
            directions), or "auto": exact where it can be had, else AIS.
        seed: a seed or a JAX key.
        base_data: rows whose means one of the two base models of AIS gets, and where some of its sampling chains start.
        progress: called with what is being done and the share of it that is done.
        **settings: of AIS (see `AIS`): chains, betas, schedule, samples, target_stderr, target_gap, max_betas, max_seconds, ...
            Without `betas` the temperatures are doubled until the target or the budget is reached.

    >>> import minprobflow as mpf
    >>> print(mpf.log_partition(mpf.BernoulliRBM([[0.0]], [0.0], [0.0])))
    1.386 +- 0.000 nats, 95% [1.386, 1.386], by exact: trusted
    """
    as_model(model, finite=True)
    _check_progress(progress)
    known = estimators()
    choice("method", method, ("auto", *known), hint=" for log Z")
    if method == "auto":
        method = "exact" if is_enumerable(model, MAX_UNITS) else "ais"
        if method == "exact":
            _settings(known["ais"], settings)  # wrong ones are an error even where none is needed
            settings = {}
    return _settings(known[method], settings).log_partition(model, as_key(seed, "seed"), base_data, progress)


def log_likelihood(
    model: Model,
    data: Any,
    method: str = "auto",
    *,
    seed: int | Key[Array, ""] = 0,
    base_data: Any = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Estimate:
    """Mean log-likelihood of `data`, in nats an example.

    Args:
        method: as for `log_partition`, or "csl" (a lower bound from hidden samples), or "pseudo" (no likelihood).
        base_data: as for `log_partition`, by default `data`; where CSL's chains start with start="data".
        **settings: of AIS or CSL.

    The error is the estimator's. What the choice of examples adds is in `settings["stderr_over_examples"]`.
    """
    as_model(model, finite=True)
    _check_progress(progress)
    choice("method", method, methods())
    rows = model.space.check(data)
    if method == "csl":
        start_rows = None if base_data is None else model.space.check(base_data, "base data")
        return _by_csl(model, rows, _settings(CSL, settings), as_key(seed, "seed"), start_rows, progress)
    if method == "pseudo":
        discrete(model.space, "the pseudo-likelihood")
        if settings:
            raise InputError(f"pseudo-likelihood has no settings, got {', '.join(settings)}: drop them")
        return _by_pseudo(model, rows)
    base_rows = rows if base_data is None else model.space.check(base_data, "base data")
    return from_log_partition(model, rows, log_partition(model, method, seed=seed, base_data=base_rows, progress=progress, **settings))


def from_log_partition(model: Model, data: Any, log_z: Estimate) -> Estimate:
    """The log-likelihood of `data` given an estimate of log Z: the sandwich turns over."""
    if not isinstance(log_z, Estimate):
        raise InputError(f"log_z is {shown(log_z)}: pass what mpf.log_partition returned")
    unnormalised = -free_energies(model, as_model(model).space.check(data))
    mean = float(unnormalised.mean())
    return dataclasses.replace(
        log_z,
        value=mean - log_z.value,
        lower=mean - log_z.upper,
        upper=mean - log_z.lower,
        settings={**log_z.settings, **_over_examples(unnormalised)},
    )


def free_energies(model: Model, rows: Num[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    """F of every row, in double precision, in bounded memory."""
    with double_precision():
        model = as_float64(model)
        return np.concatenate([np.asarray(_free_energy(model, jnp.asarray(rows[i : i + ROWS]))) for i in range(0, len(rows), ROWS)])


_free_energy = jax.jit(lambda model, rows: model.free_energy(rows))


def _by_csl(
    model: Model, rows: np.ndarray, settings: CSL, key: Key[Array, ""], start_rows: np.ndarray | None, progress: Progress | None
) -> Estimate:
    report = None if progress is None else lambda share: progress("CSL", share)
    result = csl(model, rows, settings, key, start_rows, report)
    if not np.isfinite(result.value):
        raise InputError("CSL is not finite: the model's weights are too large for single precision")
    settings = dataclasses.replace(settings, chains=n_chains(settings))
    reasons = ["CSL is a lower bound: the likelihood is at or above it"]
    if settings.start == "data" and start_rows is None:
        reasons = [
            "CSL is a lower bound only once the chains have forgotten the rows they started at, which are those judged: pass base_data"
        ]
    verdict = "wide"
    if result.ess < 5:
        reasons.append(f"few effective samples ({result.ess:.1f} for half of the examples): it may be many nats too low, add samples")
        verdict = "do not trust"
    return Estimate(
        result.value,
        result.stderr,
        result.value - Z95 * result.stderr,
        float("inf"),
        result.ess,
        "csl",
        verdict,  # type: ignore[arg-type]
        {**dataclasses.asdict(settings), **_over_examples(result.per_example)},
        tuple(reasons),
    )


def _by_pseudo(model: Model, rows: np.ndarray) -> Estimate:
    values = pseudo_log_likelihoods(model, rows)
    mean = float(values.mean())
    reason = "pseudo-likelihood is no likelihood: compare it only with itself, while training"
    return Estimate(mean, 0.0, mean, mean, float("inf"), "pseudo", "do not trust", _over_examples(values), (reason,))


def _over_examples(values: Float[np.ndarray, " n"]) -> dict[str, Any]:
    spread = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {"n": len(values), "stderr_over_examples": spread}


def _settings(cls: type, given: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(cls)]
    for unknown in given.keys() - set(known):
        raise InputError(f"{cls.__name__} has no setting {unknown!r}: it has {', '.join(known) or 'none'}")
    return cls(**given)


def _check_progress(progress: Any) -> None:
    if progress is not None:
        function("progress", progress, "a text and a share of 1")
