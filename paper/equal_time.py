"""The paper's own question: in equal time, does MPF that keeps its particles for several updates beat CD and PCD?

Every variant gets the same processor seconds of updates, to the nearest epoch; its epochs are first timed on one thread. Where
particles are kept, they are timed at each rate: the larger the rate, the more often particles go stale and are redrawn; "unguarded"
variants never redraw them early. The rate, which decays to zero over the run, is chosen on the validation split for that length, and
so is a penalty where the rule's bias calls for one: CD, FMPF and MPF-1flip.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from minprobflow.data import load_dataset

from .jobs import limit_threads
from .plan import Experiment, Row, experiment
from .records import Results, doubt, seconds, spread, values
from .run import train
from .search import current

BUDGETS = {"table1": (10, 40), "table2": (30,)}  # seconds
CD = {"learning_rate": [0.2, 0.4, 0.8], "l2": [0.0, 1e-3]}
PCD = {**CD, "l2": 0.0}
FMPF = {"learning_rate": [0.4, 0.8, 1.6], "l2": [0.0, 5e-4]}  # the gradient is half as large as that of CD
PMPF = {**FMPF, "l2": 0.0}
UNGUARDED = {"learning_rate": [0.1, 0.2, 0.4], "l2": 0.0}  # particles are kept to the end, however few of them still count


class Variant(NamedTuple):
    """A rule with its settings, and what is searched over."""

    rule: str
    settings: dict[str, Any]
    searched: dict[str, Any]

    @property
    def slower_at_larger_rates(self) -> bool:
        """Kept particles go stale sooner at a larger rate, and are then redrawn unless that is switched off."""
        return self.settings.get("refresh", 1) > 1 and self.settings.get("min_ess") != 0


def _kept(rule: str, searched: dict[str, Any], *refreshes: int) -> dict[str, Variant]:
    return {f"{rule.upper()}10-refresh{refresh}": Variant(rule, {"k": 10, "refresh": refresh}, searched) for refresh in refreshes}


def _unguarded(rule: str, *refreshes: int) -> dict[str, Variant]:
    kept = _kept(rule, UNGUARDED, *refreshes)
    return {f"{name}-unguarded": variant._replace(settings={**variant.settings, "min_ess": 0.0}) for name, variant in kept.items()}


VARIANTS: dict[str, Variant] = {
    "CD1": Variant("cd", {"k": 1}, CD),
    "CD10": Variant("cd", {"k": 10}, CD),
    "PCD1": Variant("pcd", {"k": 1}, PCD),
    "PCD10": Variant("pcd", {"k": 10}, PCD),
    "MPF-1flip": Variant("mpf-1flip", {}, {"learning_rate": [30.0, 100.0, 300.0], "l2": [0.0, 1e-5]}),
    **_kept("fmpf", FMPF, 5, 20),  # FMPF with refresh 1 is CD
    **_kept("pmpf", PMPF, 5, 20),  # PMPF with refresh 1 is PCD
    **_unguarded("pmpf", 5, 20),
    **_kept("fpmpf", PMPF, 1, 5, 20),
    **_unguarded("fpmpf", 5, 20),
}
BATCH_SIZE, SEEDS, TIMED_EPOCHS, ROUNDS = 100, 3, 3, 3


def plans(table: str, results: Results) -> list[Experiment]:
    """One experiment per time budget; epochs of variants that are not on record are timed first."""
    limit_threads(1)  # here, and through the environment in the processes that run the plans
    base = _without_rows(table)
    _measure(base, results)
    return _recorded_plans(base, results)


def _recorded_plans(base: Experiment, results: Results) -> list[Experiment]:
    seconds = _measured(base, results)
    return [_plan(base, budget, seconds) for budget in BUDGETS[base.table]]


def _without_rows(table: str) -> Experiment:
    about = experiment(table, "best")
    estimators = tuple(method for method in about.estimators if method != "csl")
    return dataclasses.replace(about, estimators=estimators, score="sides", seeds=SEEDS, rows=())


def _plan(base: Experiment, budget: int, seconds: dict[str, float]) -> Experiment:
    profile = f"time-{budget}s"
    rows = []
    for name, variant in VARIANTS.items():
        fitting = {rate: max(round(budget / seconds[timed]), 1) for rate, timed in _timed(name).items() if timed in seconds}
        if len(fitting) == len(variant.searched["learning_rate"]):
            settings = {**variant.searched, "batch_size": BATCH_SIZE, "epochs": fitting}
            rows.append(Row(base.table, profile, name, variant.rule, variant.settings, settings, {}))
    return dataclasses.replace(base, profile=profile, rows=tuple(rows))


def _timed(name: str) -> dict[float, str]:
    """What stands for a variant's epochs at each rate in the file of their seconds."""
    variant = VARIANTS[name]
    return {rate: f"{name} at {rate}" if variant.slower_at_larger_rates else name for rate in variant.searched["learning_rate"]}


def _measured(base: Experiment, results: Results) -> dict[str, float]:
    """Seconds per epoch on record, by variant and, where it matters, rate."""
    return {record["of"]: record["seconds"] for record in results.read(base.table, "time", "seconds")}


def _measure(base: Experiment, results: Results) -> None:
    """Record the seconds per epoch of the variants that have none: the best of some rounds in turn, so that other work on the machine
    affects all alike. The first round includes compilation, so it is rarely the fastest."""
    known = _measured(base, results)
    wanted = {timed: (name, rate) for name in VARIANTS for rate, timed in _timed(name).items()}
    missing = [timed for timed in wanted if timed not in known]
    if not missing:
        return
    dataset, found = load_dataset(base.data), dict.fromkeys(missing, float("inf"))
    for timed in missing * ROUNDS:
        name, rate = wanted[timed]
        variant = VARIANTS[name]
        settings = {"rule": variant.rule, **variant.settings, "learning_rate": rate, "batch_size": BATCH_SIZE, "epochs": TIMED_EPOCHS}
        done = train(base, settings, 0, dataset, looks=0)
        found[timed] = min(found[timed], (done.seconds + done.run.summary["compile_seconds"]) / TIMED_EPOCHS)
    for timed, best in found.items():
        results.add(base.table, "time", "seconds", {"of": timed, "seconds": best})


def table(results: Results, name: str) -> str:
    """Test log-likelihood of every variant after each budget, mean +- standard deviation over seeds; the best to be trusted in bold."""
    base = _without_rows(name)
    columns = {budget: current(plan, results) for budget, plan in zip(BUDGETS[name], _recorded_plans(base, results), strict=True)}
    if not any(any(found.values()) for found in columns.values()):
        return f"No records yet: `python -m paper {name.replace('table', 'time')}`."
    method = base.estimators[0]
    lines = [
        "| | " + " | ".join(f"{budget} s | seconds taken, epochs, rate, l2" for budget in columns) + " |",
        "|---|" + "---|---|" * len(columns),
    ]
    means = {
        budget: {row: float(np.mean(values(records, method))) for row, records in found.items() if records and not doubt(records)}
        for budget, found in columns.items()
    }
    missing = [row for row in VARIANTS if not any(found.get(row) for found in columns.values())]
    for row in (row for row in VARIANTS if row not in missing):
        cells = [row]
        for budget, found in columns.items():
            best = row in means[budget] and means[budget][row] == max(means[budget].values())
            cells += _cells(found.get(row, []), method, best)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, *(["", f"Not run yet: {', '.join(missing)}."] if missing else [])])


def _cells(records: list[dict[str, Any]], method: str, best: bool) -> list[str]:
    if not records:
        return ["", ""]
    told, settings = spread(values(records, method)) + doubt(records), records[0]["settings"]
    how = f"{seconds(records):.0f}, {settings['epochs']}, {settings['learning_rate']:g}, {settings['l2']:g}"
    return [f"**{told}**" if best else told, how]
