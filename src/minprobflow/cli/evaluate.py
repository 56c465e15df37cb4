"""`minprobflow evaluate`: the likelihood of data under a model file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .progress import progress_bar

if TYPE_CHECKING:
    from ..likelihood import Estimate

HELP = """Evaluate a run folder on its test data, or a .safetensors file on the rows of a file, in nats per example.

Examples:

  minprobflow evaluate runs/mnist

  minprobflow evaluate model.safetensors --data test.npy

  minprobflow evaluate model.safetensors --data digits.npz:test --method ais --chains 200 --betas 20000 --json
"""


def evaluate(
    model: Annotated[str, typer.Argument(metavar="RUN|MODEL.safetensors", help="a run folder or a model file")],
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="rows of 0 and 1: .npy, .npz, .npz:KEY, .csv or .csv.gz; by default a run's test data"),
    ] = None,
    base_data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="training rows: AIS starts from their means, next to noise, and they are the baseline; by default a run's"
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact, ais, csl or pseudo")] = "auto",
    chains: Annotated[int | None, typer.Option(help="chains of AIS or CSL  [default: 100]")] = None,
    betas: Annotated[int | None, typer.Option(help="temperatures of AIS  [default: doubled until precise enough]")] = None,
    samples: Annotated[int | None, typer.Option(help="hidden samples of CSL from each chain  [default: 100]")] = None,
    target_stderr: Annotated[float | None, typer.Option(help="standard error of log Z to reach  [default: 0.1]")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="stop doubling when this time is used up")] = None,
    which: Annotated[str, typer.Option("--model", help="best or last model of a run")] = "best",
    seed: Annotated[int, typer.Option(min=0, help="all random numbers follow from it")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress on standard error")] = False,
) -> None:
    """Evaluate a model on data."""
    from ..likelihood import from_log_partition, independent_units, log_likelihood, log_partition, methods
    from ..runs.diagnostics import keep_evaluation
    from ..runs.open import open_model

    if method not in methods():
        raise InputError(f"unknown method {method!r}: use one of {', '.join(methods())}")
    given = {"chains": chains, "betas": betas, "samples": samples, "target_stderr": target_stderr, "max_seconds": max_seconds}
    settings = {name: value for name, value in given.items() if value is not None}
    loaded = open_model(model, which)
    rows, base = _rows(model, data, base_data)
    rows = loaded.space.check(rows, data or model)
    train = None if base is None else loaded.space.check(base, base_data or model)
    base = rows if train is None else train
    log_z: Estimate | None = None
    with progress_bar(quiet) as progress:
        if method in ("csl", "pseudo"):
            result = log_likelihood(loaded, rows, method, seed=seed, progress=progress, **settings)
        else:
            log_z = log_partition(loaded, method, seed=seed, base_data=base, progress=progress, **settings)
            result = from_log_partition(loaded, rows, log_z)
    baseline = None if train is None or method == "pseudo" else independent_units(loaded.space, train, rows)
    if as_json:
        print(json.dumps(_record(log_z, result, baseline)), flush=True)
    else:
        _show(log_z, result, baseline)
    if log_z is not None and Path(model).is_dir() and which == "best" and data is None and base_data is None and len(rows):
        keep_evaluation(model, log_z, result)  # after it was shown: it must not be lost with a folder that is read-only or full


def _show(log_z: Estimate | None, result: Estimate, baseline: float | None) -> None:
    if log_z is not None:
        print(f"log Z           {_figures(log_z)}")
    spread = result.settings["stderr_over_examples"]
    choice = "" if spread is None else f"; their choice adds +- {spread:.3f}"
    print(f"log-likelihood  {_figures(result)}   mean of {result.settings['n']} examples{choice}")
    if baseline is not None:
        gain = result.value - baseline
        side = "above" if gain >= 0 else "BELOW: the model is worse than units without any interaction. Train it with a lower learning rate"
        print(f"independent     {baseline:.3f} nats for units fitted one by one; the model is {abs(gain):.3f} nats {side}")
    print(f"verdict         {result.verdict} ({result.method}): how far to trust the figures", flush=True)
    for warning in result.warnings:
        print(f"                - {warning}", flush=True)


def _rows(place: str, data: str | None, base_data: str | None) -> tuple[Any, Any]:
    """Rows to evaluate on, and rows for the base model: from files, else a run's test and training data."""
    from ..data.files import read_table
    from ..runs.open import open_data

    is_run = Path(place).is_dir()
    if data is None and not is_run:
        raise InputError("a model file comes without data: pass --data FILE")
    run = open_data(place) if is_run and None in (data, base_data) else None
    rows = read_table(data) if data is not None else run and run.test
    base = read_table(base_data) if base_data is not None else None if run is None else run.train
    return rows, base


def _figures(estimate: Estimate) -> str:
    upper = f"{estimate.upper:.3f}" if math.isfinite(estimate.upper) else "unbounded"
    return f"{estimate.value:.3f} +- {estimate.stderr:.3f} nats, 95% [{estimate.lower:.3f}, {upper}]"


def _record(log_z: Estimate | None, result: Estimate, baseline: float | None) -> dict[str, Any]:
    from ..records import plain

    settings = {name: value for name, value in result.settings.items() if name != "n"}
    record = {
        "method": result.method,
        "log_partition": None if log_z is None else log_z.record(),
        "log_likelihood": {**result.record(), "n": result.settings["n"]},
        "independent_units": baseline,
        "verdict": result.verdict,
        "settings": settings,
        "warnings": list(result.warnings),
    }
    return plain(record)
