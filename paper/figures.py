"""The figures of each table: ours beside the paper's, likelihood against time, samples after 100 Gibbs steps by rule, filters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minprobflow import pictures
from minprobflow.data import Dataset, load_dataset
from minprobflow.errors import InputError
from minprobflow.files import write_atomically
from minprobflow.models import files as model_files
from minprobflow.samplers import sample

from .plan import TABLES, Experiment, experiment
from .records import Results, doubt, title, values
from .search import current

SHOWN, STEPS = 20, 100
_OURS = {"best": ("C3", 0.17, "ours: our recipe"), "paper": ("C0", -0.17, "ours: as the paper describes")}  # colour, height, label
_VALIDATION = {"exact": "validation log-likelihood (nats)", "ais": "validation log-likelihood, safe side of AIS (nats)"}


def draw(results: Results, place: Path, profile: str = "best", report: Callable[[str], Any] = print) -> list[Path]:
    """Write the figures of every table that has records and, for samples and filters, models; returns the files."""
    written: list[Path] = []
    for name in TABLES:
        plan = experiment(name, profile)
        records = current(plan, results)
        if any(records.values()):
            written.append(_write(place / f"{name}-rows.png", _beside_the_paper(name, results)))
            written.append(_write(place / f"{name}-curves.png", _curves(plan, records)))
        # a model without a record is one of settings that have changed since
        rows = [row for row in plan.rows if records[row.name]]
        files = {row.name: results.kept_model(row, 0) for row in rows}
        loaded = {row: model_files.load(file) for row, file in files.items() if file is not None}
        if loaded:
            dataset = load_dataset(plan.data)
            written.append(_write(place / f"{name}-samples.png", _samples(plan, loaded, dataset)))
            written.append(_write(place / f"{name}-filters.png", _filters(loaded, dataset)))
        if missing := [row for row, file in files.items() if file is None]:
            left_out = f"no model of {', '.join(missing)} in {results.models}: samples and filters leave them out"
            report(f"{name}: {left_out} (--train trains them again)")
    if not written:
        raise InputError(f"there is nothing of profile {profile} to draw yet: run python -m paper table1 --profile {profile} first")
    return written


def _write(file: Path, figure: Any) -> Path:
    write_atomically(file, pictures.figure_png(figure, 110))
    return file


def _beside_the_paper(name: str, results: Results) -> Any:
    """Test figures of all rows, mean and standard deviation over seeds; hollow where AIS says not to trust one of them."""
    from matplotlib.figure import Figure

    plans = {profile: experiment(name, profile) for profile in _OURS}
    rows, estimators = plans["best"].rows, plans["best"].estimators
    height = {row.name: -float(place) for place, row in enumerate(rows)}
    figure = Figure(figsize=(1.5 + 4.2 * len(estimators), 4.8), layout="constrained")
    for axes, method in zip(np.atleast_1d(figure.subplots(1, len(estimators), sharey=True)), estimators, strict=True):
        theirs = np.asarray([row.published[f"{method}_test"] for row in rows])
        least = theirs[:, 0].min() - 0.2 * np.ptp(theirs[:, 0])  # what lies further left is put there, as an arrow
        axes.errorbar(theirs[:, 0], [*height.values()], xerr=theirs[:, 1], fmt="D", color="0.4", mfc="white", ms=5, label="the paper")
        for profile, (color, shift, label) in _OURS.items():
            for row, records in current(plans[profile], results).items():
                if records:
                    ours = values(records, method)
                    inside = np.mean(ours) > least
                    doubtful = method == "ais" and doubt(records)
                    place = max(float(np.mean(ours)), least), height[row] + shift
                    spread = float(np.std(ours, ddof=1)) if inside and len(ours) > 1 else None
                    how = {"fmt": "o" if inside else "<", "color": color, "mfc": "white" if doubtful else color, "ms": 5}
                    kind = (", not to be trusted" if doubtful else "") + ("" if inside else ", beyond the axis")
                    axes.errorbar(*place, xerr=spread, label=label + kind, **how)
        axes.set_yticks([*height.values()], [*height])
        axes.set_xlabel(f"test log-likelihood, {title(method)} (nats)")
        axes.locator_params(axis="x", nbins=6)
        axes.grid(axis="y", color="0.92")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    named = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    figure.suptitle(plans["best"].title, fontsize=10)
    return figure


def _curves(plan: Experiment, records: dict[str, list[dict[str, Any]]]) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(9, 4.6), layout="constrained")
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
    ends = [row[0]["curve"][-1]["valid"] for row in records.values() if row]
    bottom = np.clip(min(ends) - 3, max(ends) - 60, max(ends) - 30)  # where each rule ends is seen, unless it is hopeless
    paper = max(line[f"{plan.estimators[0]}_test"][0] for line in (row.published for row in plan.rows))
    axes.axhline(paper, color="black", linewidth=0.8, linestyle=":", label="paper's best (test)")
    axes.set(xscale="log", xlabel="processor seconds of training", ylabel=_VALIDATION[plan.estimators[0]], ylim=(bottom, max(ends) + 2))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(plan.title, fontsize=10)
    figure.legend(frameon=False, fontsize=7, loc="outside right center")
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
