"""The likelihood of rows under a finished model, as the one record that the command line prints, reports show and tables keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict, cast

import numpy as np

from ..arguments import choice, shown
from ..errors import InputError
from ..likelihood import Estimate, estimators, from_log_partition, independent_units, log_likelihood, log_partition, methods
from ..models.base import Model
from ..progress import Report, phases
from ..records import Json, plain


class Figures(TypedDict):
    """An estimate in nats, and the interval around it. None is an open bound, or a number that is not finite."""

    value: float | None
    stderr: float | None
    lower: float | None
    upper: float | None


class MeanFigures(Figures):
    """Of a mean over `n` rows."""

    n: int


class Evaluation(TypedDict):
    """The record of one evaluation."""

    part: str
    method: str
    log_partition: Figures | None
    log_likelihood: MeanFigures
    independent_units: float | None
    verdict: str
    settings: dict[str, Json]
    warnings: list[str]
    model_sha256: NotRequired[str]


def evaluate(
    model: Model,
    parts: Mapping[str, np.ndarray],
    method: str = "auto",
    *,
    train: np.ndarray | None = None,
    seed: int = 0,
    progress: bool | Report | None = None,
    **settings: object,
) -> dict[str, Evaluation]:
    """A record of the log-likelihood of each part, all from one estimate of log Z where the method has one.

    Args:
        model: the model.
        parts: rows by the name of the part, such as "test".
        method: one of `mpf.likelihood.methods()`.
        train: the rows it was trained on: AIS starts from their means, and units fitted to them one by one are the baseline.
        seed: a seed or a JAX key.
        progress: as for `mpf.log_partition`.
        **settings: of the estimator.

    Returns:
        For each part: part, method, verdict, warnings, settings, log_likelihood, log_partition (None if not estimated) and
        independent_units (None without training rows).
    """
    choice("method", method, methods())
    if not isinstance(parts, Mapping) or not parts:
        raise InputError(f"parts is {shown(parts)}: pass rows by the name of the part, such as {{'test': dataset.test}}")
    with phases(progress) as report:
        log_z: Estimate | None = None
        if method == "auto" or method in estimators():
            base = next(iter(parts.values())) if train is None else train
            log_z = log_partition(model, method, seed=seed, base_data=base, progress=report or False, **settings)
            found = {part: from_log_partition(model, rows, log_z) for part, rows in parts.items()}
        else:
            found = {
                part: log_likelihood(model, rows, method, seed=seed, progress=report or False, **settings) for part, rows in parts.items()
            }
    base_rows = None if method == "pseudo" else train
    return {
        part: record(part, estimate, log_z, None if base_rows is None else independent_units(model.space, base_rows, parts[part]))
        for part, estimate in found.items()
    }


def record(part: str, found: Estimate, log_z: Estimate | None, independent: float | None) -> Evaluation:
    """One evaluation as plain values, as they are read back from JSON."""
    figures = {
        "part": part,
        "method": found.method,
        "log_partition": None if log_z is None else log_z.record(),
        "log_likelihood": {**found.record(), "n": found.settings["n"]},
        "independent_units": independent,
        "verdict": found.verdict,
        "settings": {name: value for name, value in found.settings.items() if name != "n"},
        "warnings": list(found.warnings),
    }
    return cast(Evaluation, plain(figures))
