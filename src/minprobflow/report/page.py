"""From records to a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ..records import Json
from . import run_figures
from .figures import colour
from .records import RunRecord
from .template import PAGE

REASONS = {
    "exact": "log Z was summed over all states of the smaller layer: there is no estimation error.",
    "ais": "Annealed importance sampling from both sides agrees within its target precision.",
    "trajectory": "States have come from independent units to every rung, and both sides agree within the target precision.",
}
DRAWN = ("acceptance", "crooks_slopes", "not_renewed", "paths")  # settings that are long lists
MEANINGS = {
    "trusted": "The figure and its interval can be relied on.",
    "wide": "The interval holds, but it is wider than wanted.",
    "do not trust": "Do not use this figure.",
}


def page(runs: Sequence[RunRecord]) -> str:
    """One self-contained HTML page. With several runs it begins with a comparison."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    shared = run_figures.compared(runs) if len(runs) > 1 else []
    several_data = len({(run.config["data"], repr(run.config["data_options"])) for run in runs}) > 1
    sections = [_run(run, i) for i, run in enumerate(runs)]
    return environment.from_string(PAGE).render(runs=sections, shared=shared, several_data=several_data)


def number(value: float | None, digits: int = 3) -> str:
    """A figure as the page shows it; an open bound has none."""
    return "unbounded" if value is None else f"{value:.{digits}f}"


def _run(run: RunRecord, index: int) -> dict[str, object]:
    recorded = run.environment.get("data")
    data: dict[str, Json] = dict(recorded) if isinstance(recorded, dict) else {}
    understood, columns = data.pop("understood", None), data.pop("columns", None)
    found, value = run.evaluation, run.evaluation["log_likelihood"]
    spread = found["settings"].get("stderr_over_examples")
    energies = [run.diagnostics.get(f"free_energy_{part}") for part in ("valid", "train")]
    gap = None if energies[0] is None else float(energies[0] - energies[1])
    epochs = run.metrics[-1]["epoch"] if run.metrics else 0
    return {
        "id": f"run-{index + 1}",
        "name": run.name,
        "colour": colour(index),
        "value": number(value["value"]),
        "stderr": number(value["stderr"]),
        "interval": f"[{number(value['lower'])}, {number(value['upper'])}]",
        "part": found["part"],
        "n": f"{value['n']:,}",
        "spread": number(1.96 * spread, 2) if isinstance(spread, float) else None,
        "method": found["method"],
        "verdict": found["verdict"],
        "tone": {"trusted": "good", "wide": "fair"}.get(found["verdict"], "bad"),
        "meaning": MEANINGS.get(found["verdict"], ""),
        "reasons": found["warnings"] or [REASONS.get(found["method"], "")],
        "rule": run.config["rule"],
        "data": run.config["data"],
        "model": run.model,
        "epochs": f"{epochs} of {run.config['epochs']}",
        "unfinished": not run.summary,
        "best_epoch": run.best_epoch,
        "seconds": f"{run.seconds:.1f}",
        "gap": None if gap is None else number(gap),
        "settings": _rows(run.config),
        "environment": _rows({**run.environment, "data": data}),
        "understood": understood if isinstance(understood, list) else [],
        "columns": _columns(columns) if isinstance(columns, dict) else [],
        "evaluation": _rows({name: value for name, value in found["settings"].items() if name not in DRAWN}),
        "curves": run_figures.training(run, index),
        "samples": run_figures.samples(run),
        "along": run_figures.along(run, index),
        "film": run_figures.film(run),
        "filters": run_figures.filters(run),
        "filter_columns": run_figures.filter_columns(run),
        "hidden_figures": run_figures.activations(run, index),
        "mixing_figures": run_figures.mixing(run, index),
        "mixing": _mixing(run),
    }


def _columns(columns: dict[str, Json]) -> list[tuple[str, str]]:
    """The name of each column, and the words for its values."""
    names, words = (column if isinstance(column := columns.get(key), list) else [] for key in ("names", "words"))
    known = [", ".join(map(str, of_column)) if isinstance(of_column, list) and of_column else "numbers" for of_column in words]
    titles = [f"{place}: {name}" if name else str(place) for place, name in enumerate(names or [""] * len(known))]
    return list(zip(titles, known or ["numbers"] * len(titles), strict=False))


def _mixing(run: RunRecord) -> Markup:
    arrays = run.diagnostics
    length = f"{int(arrays['length']) - int(arrays['burn_in']):,}"
    text = (
        "Chains forget their free energy within about <b>{}</b> Gibbs steps"
        if arrays["autocorrelation_resolved"]
        else "Chains mix too slowly to be measured: they remember their free energy for at least <b>{}</b> Gibbs steps"
    )
    told = " (integrated autocorrelation time; {} chains of {} steps, half from data and half from noise)."
    return Markup(text + told).format(f"{float(arrays['autocorrelation_time']):.1f}", int(arrays["chains"]), length)


def _rows(record: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Names and values of a record, the nested ones with their names joined."""
    rows: list[tuple[str, str]] = []
    for name, value in record.items():
        label = f"{prefix}{str(name).replace('_', ' ')}"
        if isinstance(value, dict) and value:
            rows += _rows(value, f"{label}: ")
        elif value not in (None, {}, ""):
            rows.append((label, _text(value)))
    return rows


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
