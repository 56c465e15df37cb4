"""`minprobflow evaluate`: the likelihood of data under a model file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .flags import AsJson, Groups, Quiet, Seed, Which, grouped, with_settings

if TYPE_CHECKING:
    import numpy as np

    from ..models import Model
    from ..runs.evaluate import Evaluation, Figures

HELP = """Evaluate a run folder on its test data, or a .safetensors file on the rows of a file, in nats per example.

Examples:

  minprobflow evaluate runs/mnist

  minprobflow evaluate runs/mnist --method trajectory --max-seconds 600

  minprobflow evaluate model.safetensors --data test.npy

  minprobflow evaluate model.safetensors --data digits.npz:test --method ais --chains 200 --betas 20000 --json
"""
FILE = "rows with the model's columns: .csv, .tsv, .parquet, .npy, .npz, .npz:KEY, .fasta or what else minprobflow train reads"


def groups() -> Groups:
    """Settings of all estimators."""
    from ..likelihood import LikelihoodEstimator

    return {"Estimator": grouped(LikelihoodEstimator.specs().values())}


def evaluate(
    model: Annotated[str, typer.Argument(metavar="RUN|MODEL.safetensors", help="a run folder or a model file")],
    settings: dict[str, object],
    data: Annotated[str | None, typer.Option(metavar="FILE", help=f"{FILE}; by default a run's test data")] = None,
    base_data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="training rows: AIS starts from their means, next to noise, and they are the baseline; by default a run's"
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact, trajectory, ais, csl or pseudo")] = "auto",
    which: Which = "best",
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate a model on data."""
    from ..likelihood import methods
    from ..runs import evaluate as evaluated
    from ..runs.diagnostics import keep_evaluation
    from ..runs.open import open_model

    if method not in methods():
        raise InputError(f"unknown method {method!r}: use one of {', '.join(methods())}")
    loaded = open_model(model, which)
    rows, train = _rows(model, which, data, base_data)
    rows = loaded.space.check(rows, data or model)
    train = None if train is None else loaded.space.check(train, base_data or model)
    part = "test" if data is None else "data"
    settings = _with_trajectory(model, loaded, method, settings)
    found = evaluated(loaded, {part: rows}, method, train=train, seed=seed, progress=not quiet, **settings)[part]
    print(json.dumps(found) if as_json else "\n".join(_lines(found)), flush=True)
    if found["log_partition"] and Path(model).is_dir() and which == "best" and data is None and base_data is None:
        keep_evaluation(model, found)  # after it was shown: it must not be lost with a folder that is read-only or full


build = with_settings(evaluate, HELP, groups)


def _with_trajectory(place: str, model: Model, method: str, settings: dict[str, object]) -> dict[str, object]:
    """The settings with the trajectory that a flag names, or else with that of the run, where the method can use one."""
    from ..likelihood import AlongTrajectory
    from ..models import Trajectory
    from ..runs.open import open_trajectory
    from ..specs import settings_of

    if (file := settings.get("trajectory")) is not None:
        return {**settings, "trajectory": Trajectory.load(str(file))}
    if method not in ("auto", "trajectory") or not settings.keys() <= settings_of(AlongTrajectory).keys():
        return settings
    kept = open_trajectory(place, model)
    return settings if kept is None else {**settings, "trajectory": kept}


def _lines(found: Evaluation) -> list[str]:
    """An evaluation in words."""
    value, spread = found["log_likelihood"], found["settings"]["stderr_over_examples"]
    lines = [f"log Z           {_figures(found['log_partition'])}"] if found["log_partition"] else []
    choice = "" if spread is None else f"; their choice adds +- {spread:.3f}"
    lines.append(f"log-likelihood  {_figures(value)}   mean of {value['n']} examples{choice}")
    if (baseline := found["independent_units"]) is not None and value["value"] is not None:
        gain = value["value"] - baseline
        side = "above" if gain >= 0 else "BELOW: the model is worse than units without any interaction. Train it with a lower learning rate"
        lines.append(f"independent     {baseline:.3f} nats for units fitted one by one; the model is {abs(gain):.3f} nats {side}")
    lines.append(f"verdict         {found['verdict']} ({found['method']}): how far to trust the figures")
    return lines + [f"                - {warning}" for warning in found["warnings"]]


def _figures(found: Figures) -> str:
    figures = (found["value"], found["stderr"], found["lower"], found["upper"])
    value, stderr, lower, upper = ("unbounded" if figure is None else f"{figure:.3f}" for figure in figures)
    return f"{value} +- {stderr} nats, 95% [{lower}, {upper}]"


def _rows(place: str, which: str, data: str | None, base_data: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows to evaluate on, and training rows: from files, else a run's test and training data."""
    from ..data.rows import read_like
    from ..runs.open import open_columns, open_data

    is_run = Path(place).is_dir()
    if data is None and not is_run:
        raise InputError("a model file comes without data: pass --data FILE")
    run = open_data(place) if is_run else None
    alphabet = None if run is None else run.alphabet
    columns = open_columns(place, which)

    def read(name: str) -> np.ndarray:
        rows, notes = read_like(name, alphabet, columns)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        return rows

    rows = read(data) if data is not None else run and run.test
    assert rows is not None
    return rows, read(base_data) if base_data is not None else run and run.train
