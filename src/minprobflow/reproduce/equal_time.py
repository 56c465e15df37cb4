"""The paper's own question: in equal time, does MPF that keeps its particles for several updates beat CD and PCD?

Every variant gets the same processor seconds of updates: as many epochs as fit, by a measurement of each variant's epochs on one
thread before. Its rate, which decays to zero over the run, is chosen on the validation split for that length.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..data import load_dataset
from .experiments import Experiment, Row, experiment
from .jobs import limit_threads
from .records import Results, spread, values
from .training import train

BUDGETS = {"table1": (10, 40), "table2": (20, 80)}  # seconds
RATES: dict[str, list[float]] = {
    "cd": [0.1, 0.2, 0.4],
    "pcd": [0.1, 0.2, 0.4],
    "mpf-1flip": [10.0, 30.0, 100.0],
    "fmpf": [0.2, 0.4, 0.8],  # twice those of CD: the gradient is half as large
    "pmpf": [0.2, 0.4, 0.8],
    "fpmpf": [0.2, 0.4, 0.8],
}
REFRESH = (1, 5, 20)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "CD1": ("cd", {"k": 1}),
    "CD10": ("cd", {"k": 10}),
    "PCD1": ("pcd", {"k": 1}),
    "PCD10": ("pcd", {"k": 10}),
    "MPF-1flip": ("mpf-1flip", {}),
    **{
        f"{rule.upper()}10-refresh{refresh}": (rule, {"k": 10, "refresh": refresh})
        for rule in ("fmpf", "pmpf", "fpmpf")
        for refresh in REFRESH
    },
}
BATCH_SIZE, SEEDS, TIMED_EPOCHS, ROUNDS = 100, 3, 3, 2


def plans(table: str, results: Results) -> list[Experiment]:
    """One experiment a budget of time; measures the variants' epochs if that is not on record."""
    limit_threads(1)  # here, and through the environment in the processes that run the plans
    base = _without_rows(table)
    seconds = _seconds_per_epoch(base, results)
    return [_plan(base, budget, seconds) for budget in BUDGETS[table]]


def _without_rows(table: str) -> Experiment:
    about = experiment(table, "best")
    estimators = tuple(method for method in about.estimators if method != "csl")
    return dataclasses.replace(about, estimators=estimators, seeds=SEEDS, rows=())


def _plan(base: Experiment, budget: int, seconds: dict[str, float]) -> Experiment:
    profile = f"time-{budget}s"
    rows = []
    for name, (rule, rule_settings) in VARIANTS.items():
        epochs = max(round(budget / seconds[name]), 1)
        settings = {"learning_rate": RATES[rule], "batch_size": BATCH_SIZE, "epochs": epochs, "search_epochs": epochs}
        rows.append(Row(base.table, profile, name, rule, rule_settings, settings, {}))
    return dataclasses.replace(base, profile=profile, rows=tuple(rows))


def _seconds_per_epoch(base: Experiment, results: Results) -> dict[str, float]:
    """The best of some rounds in turn, so that what else the machine does weighs on all alike."""
    file = results.place / base.table / "seconds-per-epoch.json"
    known: dict[str, float] | None = results.read(file)
    if known is not None and known.keys() >= VARIANTS.keys():
        return known
    dataset = load_dataset(base.data)
    found: dict[str, float] = dict.fromkeys(VARIANTS, float("inf"))
    for _ in range(ROUNDS):
        for name, (rule, rule_settings) in VARIANTS.items():
            row = Row(base.table, "time", name, rule, rule_settings, {"learning_rate": RATES[rule][0], "batch_size": BATCH_SIZE}, {})
            done = train(base, row, {}, 0, dataset, TIMED_EPOCHS, looks=0)
            found[name] = min(found[name], done.seconds / TIMED_EPOCHS)
    results.write(file, found)
    return found


def table(results: Results, name: str) -> str:
    """Test log-likelihood of every variant after each budget, mean +- standard deviation over seeds; the best in bold."""
    columns = {budget: results.by_row(name, f"time-{budget}s") for budget in BUDGETS[name]}
    if not any(any(found.values()) for found in columns.values()):
        return f"No records yet: `minprobflow reproduce {name.replace('table', 'time')}`."
    method = _without_rows(name).estimators[0]
    lines = ["| | " + " | ".join(f"{budget} s | epochs, rate" for budget in columns) + " |", "|---|" + "---|---|" * len(columns)]
    means = {b: {row: float(np.mean(values(records, method))) for row, records in found.items()} for b, found in columns.items()}
    for row in VARIANTS:
        cells = [row]
        for budget, found in columns.items():
            best = row in means[budget] and means[budget][row] == max(means[budget].values())
            cells += _cells(found.get(row, []), method, best)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cells(records: list[dict[str, Any]], method: str, best: bool) -> list[str]:
    if not records:
        return ["", ""]
    told, settings = spread(values(records, method)), records[0]["settings"]
    return [f"**{told}**" if best else told, f"{settings['epochs']}, {settings['learning_rate']:g}"]
