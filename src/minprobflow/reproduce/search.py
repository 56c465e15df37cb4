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


def trials(row: Row, results: Results) -> list[dict[str, Any]]:
    """The recorded trials of what are candidates now, under the settings of now. Others stay on record."""
    row = row.searched
    wanted = [row.resolved(candidate, trial=True) for candidate in row.candidates()]
    return [trial for trial in results.read(results.trials_file(row)) or [] if trial["settings"] in wanted]


def untried(row: Row, results: Results) -> list[dict[str, Any]]:
    """Candidates without a trial on record; none where there is nothing to choose."""
    candidates = row.candidates()
    tried = [trial["choice"] for trial in trials(row, results)]
    return [] if len(candidates) == 1 else [candidate for candidate in candidates if candidate not in tried]


def chosen(row: Row, results: Results) -> dict[str, Any] | None:
    """The best by validation likelihood of what was tried so far; None if nothing was."""
    if len(row.candidates()) == 1:
        return row.candidates()[0]
    tried = [trial for trial in trials(row, results) if trial["valid"] is not None]
    return max(tried, key=lambda trial: trial["valid"])["choice"] if tried else None


def at_an_end(row: Row, choice: dict[str, Any]) -> list[str]:
    """Settings whose chosen value is the largest or smallest of three or more that were tried: a better one may lie beyond."""
    ends = {name: (row.settings[name][0], row.settings[name][-1]) for name in choice if len(row.settings[name]) > 2}
    return [name for name, (first, last) in ends.items() if choice[name] in (first, last)]


def current(plan: Experiment, results: Results) -> dict[str, list[dict[str, Any]]]:
    """The records of every row that were made with the settings of now, in the order of seeds."""
    found = results.by_row(plan.table, plan.profile)
    settings = {row.name: planned(row, results) for row in plan.rows}
    return {name: [record for record in found[name] if record["settings"] == settings[name]] for name in settings}


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
