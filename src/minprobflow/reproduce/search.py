"""Choosing a row's settings on the validation split, with Optuna.

Every candidate is run to its end: the rate decays to zero, and until then large rates look worse than they are. (Stopping the worse
half in the middle of a trial dropped PCD-1 at the rate that is best in the end.)
"""

from __future__ import annotations

import time
from typing import Any

from ..data import Dataset
from ..errors import InputError
from .experiments import Experiment, Row
from .records import Results
from .training import train


def chosen(experiment: Experiment, row: Row, results: Results, dataset: Dataset) -> dict[str, Any]:
    """The best candidate by validation likelihood; trials that are on record are not run again.

    Trials of what is no longer a candidate stay on record.
    """
    candidates = row.candidates()
    if len(candidates) == 1:
        return candidates[0]
    optuna = _optuna()
    file = results.trials_file(row)
    recorded: list[dict[str, Any]] = results.read(file) or []
    trials = [trial for trial in recorded if trial["settings"] in candidates]
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    spaces = {name: optuna.distributions.CategoricalDistribution(_ordered(candidates, name)) for name in candidates[0]}
    for trial in trials:
        study.add_trial(optuna.create_trial(params=trial["settings"], distributions=spaces, value=trial["valid"]))
    missing = [candidate for candidate in candidates if candidate not in [trial["settings"] for trial in trials]]
    for candidate in missing:
        study.enqueue_trial(candidate)

    def objective(trial: Any) -> float:
        choice = {name: trial.suggest_categorical(name, space.choices) for name, space in spaces.items()}
        epochs = choice["epochs"] if "epochs" in choice else row.settings["search_epochs"]
        done = train(experiment, row, choice, 0, dataset, epochs)
        record = {"settings": choice, "valid": done.curve[-1]["valid"], "curve": done.curve, "seconds": round(done.seconds, 2)}
        recorded.append({**record, "at": time.strftime("%Y-%m-%d %H:%M")})
        results.write(file, recorded)
        return done.curve[-1]["valid"]

    study.optimize(objective, n_trials=len(missing))
    return study.best_params


def missing_candidates(row: Row, results: Results) -> bool:
    """Whether a row has something to be searched that is not on record."""
    recorded = [trial["settings"] for trial in results.read(results.trials_file(row)) or []]
    candidates = row.candidates()
    return len(candidates) > 1 and any(candidate not in recorded for candidate in candidates)


def _ordered(candidates: list[dict[str, Any]], name: str) -> list[Any]:
    return list(dict.fromkeys(candidate[name] for candidate in candidates))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as problem:
        raise InputError("searching settings needs Optuna: pip install 'minprobflow[reproduce]', or use --profile quick") from problem
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
