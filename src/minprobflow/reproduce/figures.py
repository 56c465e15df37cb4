"""The figures of each table: data and samples after 100 Gibbs steps by rule, filters, likelihood against wall-clock."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import model_files, pictures
from ..data import Dataset, load_dataset
from ..errors import InputError
from ..files import write_atomically
from ..samplers import sample
from .experiments import TABLES, Experiment, experiment
from .records import Results
from .search import current

SHOWN, STEPS = 20, 100
_VALIDATION = {"exact": "validation log-likelihood (nats)", "ais": "validation log-likelihood, lower end by AIS (nats)"}


def draw(results: Results, place: Path, profile: str = "best", report: Callable[[str], Any] = print) -> list[Path]:
    """Write the figures of every table that has records and, for samples and filters, models; returns the files."""
    written: list[Path] = []
    for name in TABLES:
        plan = experiment(name, profile)
        records = current(plan, results)
        if any(records.values()):
            written.append(_write(place / f"{name}-curves.png", _curves(plan, records)))
        # a model without a record is one of settings that have changed since
        files = {row.name: results.model_file(row, 0) for row in plan.rows if records[row.name]}
        models = {row: file for row, file in files.items() if file is not None and file.is_file()}
        if models:
            dataset = load_dataset(plan.data)
            loaded = {row: model_files.load(file) for row, file in models.items()}
            written.append(_write(place / f"{name}-samples.png", _samples(plan, loaded, dataset)))
            written.append(_write(place / f"{name}-filters.png", _filters(loaded, dataset)))
        if missing := [row for row in files if row not in models]:
            report(f"{name}: no model of {', '.join(missing)} in {results.models}: samples and filters leave them out")
    if not written:
        raise InputError(f"there is nothing of profile {profile} to draw yet: run minprobflow reproduce table1 --profile {profile} first")
    return written


def _write(file: Path, figure: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    write_atomically(file, buffer.getvalue())
    return file


def _curves(plan: Experiment, records: dict[str, list[dict[str, Any]]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    axes = figure.subplots()
    styles = {
        "cd": ("C0", "-"),
        "pcd": ("C1", "-"),
        "mpf-1flip": ("C7", "-"),
        "fmpf": ("C2", "--"),
        "pmpf": ("C3", "--"),
        "fpmpf": ("C4", "--"),
    }
    shades = {1: 0.45, 10: 0.5, 15: 0.75, 25: 1.0}
    for row in plan.rows:
        if records[row.name]:
            curve = records[row.name][0]["curve"]
            color, line = styles[row.rule]
            alpha = shades.get(row.rule_settings.get("k", 25), 1.0)
            axes.plot(
                [p["seconds"] for p in curve], [p["valid"] for p in curve], line, color=color, alpha=alpha, label=row.name, marker=".", ms=3
            )
    best = max(record["curve"][-1]["valid"] for row in records.values() for record in row)
    paper = max(line[f"{plan.estimators[0]}_test"][0] for line in (row.published for row in plan.rows))
    axes.axhline(paper, color="black", linewidth=0.8, linestyle=":", label="paper's best (test)")
    axes.set(xscale="log", xlabel="processor seconds of training", ylabel=_VALIDATION[plan.estimators[0]], ylim=(best - 30, best + 2))
    axes.set_title(plan.title, fontsize=10)
    axes.legend(frameon=False, fontsize=7, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _samples(plan: Experiment, models: dict[str, Any], dataset: Dataset) -> Any:
    rows = np.random.default_rng(0).choice(len(dataset.test), SHOWN, replace=False)
    panels = {"data": dataset.test[rows]}
    for name, model in models.items():
        panels[name] = sample(model, start=dataset.test[rows], steps=STEPS)
    return _panels(panels, dataset, signed=False, title=f"{plan.title}: samples {STEPS} Gibbs steps from the data in the first line")


def _filters(models: dict[str, Any], dataset: Dataset) -> Any:
    panels = {name: pictures.strongest(np.asarray(model.weights).T, SHOWN) for name, model in models.items()}
    return _panels(panels, dataset, signed=True, title="the strongest filters, red positive, blue negative")


def _panels(panels: dict[str, np.ndarray], dataset: Dataset, signed: bool, title: str) -> Any:
    from matplotlib.figure import Figure

    assert dataset.image_shape is not None
    figure = Figure(figsize=(9, 0.47 * len(panels) + 0.5), layout="constrained")
    for axes, (name, rows) in zip(np.atleast_1d(figure.subplots(len(panels))), panels.items(), strict=True):
        tiled = pictures.grid(rows, dataset.image_shape, columns=SHOWN)
        limit = float(np.nanmax(np.abs(tiled))) or 1.0
        axes.imshow(tiled, cmap="RdBu_r" if signed else "gray_r", vmin=-limit if signed else 0, vmax=limit)
        axes.set(xticks=[], yticks=[])
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
        axes.spines[:].set_visible(False)
    figure.suptitle(title, fontsize=10)
    return figure
