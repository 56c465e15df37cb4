"""Choosing a row's settings on the validation split, with Optuna.

Every candidate is run to its end: the rate decays to zero, and until then large rates look worse than they are. (Stopping the worse
half in the middle of a trial dropped PCD-1 at the rate that is best in the end.)
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..data import Dataset
from ..errors import InputError, TrainingDiverged
from .experiments import Experiment, Row
from .records import Results
from .training import train


def search(experiment: Experiment, row: Row, results: Results, dataset: Dataset, deadline: float | None = None) -> None:
    """Try the candidates that are not on record, until the deadline; each trial is recorded as it ends."""
    missing = untried(row, results)
    if not missing:
        return
    optuna = _optuna()
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    choices = {name: list(dict.fromkeys(candidate[name] for candidate in row.candidates())) for name in missing[0]}
    for candidate in missing:
        study.enqueue_trial(candidate)

    def objective(trial: Any) -> float:
        choice = {name: trial.suggest_categorical(name, values) for name, values in choices.items()}
        settings = row.resolved(choice, trial=True)
        record: dict[str, Any] = {"settings": settings, "choice": choice, "at": time.strftime("%Y-%m-%d %H:%M")}
        try:
            done = [train(experiment, settings, seed, dataset) for seed in range(settings.get("search_seeds", 1))]
            record |= {"valid": float(np.mean([run.valid for run in done])), "seconds": round(sum(run.seconds for run in done), 2)}
        except TrainingDiverged as problem:
            record |= {"valid": None, "diverged": str(problem)}
        file = results.trials_file(row)
        results.write(file, [*(results.read(file) or []), record])  # read anew: another process may have added to it
        if deadline is not None and time.time() > deadline:
            study.stop()
        return float("-inf") if record["valid"] is None else record["valid"]

    study.optimize(objective, n_trials=len(missing))


def trials(row: Row, results: Results) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The candidates of now that have a trial on record, with it. Other trials stay on record."""
    row, on_record = row.searched, results.read(results.trials_file(row.searched)) or []
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


def current(plan: Experiment, results: Results) -> dict[str, list[dict[str, Any]]]:
    """The records of every row that were made with the settings of now and judged as planned now, in the order of seeds."""
    found = results.by_row(plan.table, plan.profile)
    settings = {row.name: planned(row, results) for row in plan.rows}
    return {
        row.name: [
            record for record in found[row.name] if record["settings"] == settings[row.name] and judged_as_planned(plan, row, record)
        ]
        for row in plan.rows
    }


def judged_as_planned(plan: Experiment, row: Row, record: dict[str, Any]) -> bool:
    """Whether AIS, where a record has it, had the chains and temperatures that it is to have for this row."""
    if "ais" not in record["likelihood"]:
        return True
    had, wanted = record["likelihood"]["ais"]["settings"], plan.ais_of(row)
    return had["chains"] == wanted["chains"] and wanted["first_betas"] <= had["betas"] <= wanted["max_betas"]


def planned(row: Row, results: Results) -> dict[str, Any] | None:
    """The settings that a run would have now; None while nothing was tried."""
    choice = chosen(row, results)
    return None if choice is None else row.resolved(choice)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as problem:
        raise InputError("searching settings needs Optuna: pip install 'minprobflow[reproduce]', or use --profile quick") from problem
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
