"""Choosing a row's settings on the validation split.

Every candidate is run to its end: the rate decays to zero, and until then large rates look worse than they are. (Stopping the worse
half in the middle of a trial dropped PCD-1 at the rate that is best in the end.)
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from minprobflow.data import Dataset
from minprobflow.errors import TrainingDiverged

from .plan import Experiment, Row
from .records import Record, Results
from .run import train


def search(experiment: Experiment, row: Row, results: Results, dataset: Dataset, deadline: float | None = None) -> None:
    """Try the candidates that are not on record, until the deadline; each trial is recorded as it ends."""
    for choice in untried(row, results):
        settings = row.resolved(choice, trial=True)
        record: Record = {"row": row.name, "settings": settings, "choice": choice, "at": time.strftime("%Y-%m-%d %H:%M")}
        try:
            done = [train(experiment, settings, seed, dataset) for seed in range(settings.get("search_seeds", 1))]
            record |= {"valid": float(np.mean([run.valid for run in done])), "seconds": round(sum(run.seconds for run in done), 2)}
        except TrainingDiverged as problem:
            record |= {"valid": None, "diverged": str(problem)}
        results.add(row.table, row.profile, "trial", record)
        if deadline is not None and time.time() > deadline:
            return


def trials(row: Row, results: Results) -> list[tuple[dict[str, Any], Record]]:
    """The current candidates that have a trial on record, with it. Other trials stay on record."""
    row = row.searched
    on_record = [trial for trial in results.read(row.table, row.profile, "trial") if trial["row"] == row.name]
    return [(choice, trial) for choice in row.candidates() for trial in on_record if trial["settings"] == row.resolved(choice, trial=True)]


def untried(row: Row, results: Results) -> list[dict[str, Any]]:
    """Candidates without a trial on record; none where there is nothing to choose."""
    candidates = row.candidates()
    tried = [choice for choice, _ in trials(row, results)]
    return [] if len(candidates) == 1 else [candidate for candidate in candidates if candidate not in tried]


def chosen(row: Row, results: Results) -> dict[str, Any] | None:
    """The best by validation likelihood of what was tried so far; None if nothing was."""
    if len(row.candidates()) == 1:
        return row.candidates()[0]
    tried = {trial["valid"]: choice for choice, trial in trials(row, results) if trial["valid"] is not None}
    return tried[max(tried)] if tried else None


def at_an_end(row: Row, choice: dict[str, Any]) -> list[str]:
    """The rate or penalty if its chosen value is the largest or smallest that was tried: a better one may lie beyond."""
    return [
        name for name in ("learning_rate", "l2") if choice.get(name) and choice[name] in (min(row.settings[name]), max(row.settings[name]))
    ]


def current(plan: Experiment, results: Results) -> dict[str, list[Record]]:
    """The records of each row with its current settings, evaluated as planned now: the latest of each seed, in the order of seeds."""
    runs = results.read(plan.table, plan.profile, "run")

    def found(row: Row) -> list[Record]:
        settings = planned(row, results)
        fitting = [run for run in runs if run["row"] == row.name and run["settings"] == settings and evaluated_as_planned(plan, row, run)]
        return sorted({run["seed"]: run for run in fitting}.values(), key=lambda run: run["seed"])

    return {row.name: found(row) for row in plan.rows}


def evaluated_as_planned(plan: Experiment, row: Row, record: Record) -> bool:
    """Whether AIS, where a record has it, had the chains and temperatures that it is to have for this row."""
    if "ais" not in record["likelihood"]:
        return True
    had, wanted = record["likelihood"]["ais"]["test"]["settings"], plan.ais_of(row)
    return had["chains"] == wanted["chains"] and wanted["first_betas"] <= had["betas"] <= wanted["max_betas"]


def planned(row: Row, results: Results) -> dict[str, Any] | None:
    """The settings that a run would have now; None while nothing was tried."""
    choice = chosen(row, results)
    return None if choice is None else row.resolved(choice)
