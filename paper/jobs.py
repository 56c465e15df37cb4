"""Running what is missing: searches first, then (row, seed) jobs, fanned out through joblib."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minprobflow.data import load_dataset
from minprobflow.errors import TrainingDiverged
from minprobflow.models import files as model_files
from minprobflow.runs import environment

from .plan import TABLES, Experiment, Row, experiment
from .records import Results
from .run import Trained, evaluated, stops_early, train
from .search import chosen, current, planned, search, untried
from .twins import adopt, copy_model, same_runs

Report = Callable[[str], Any]


def reproduce(table: str, profile: str = "best", rows: list[str] | None = None, **options: Any) -> int:
    """Add what is missing of a table to the results; returns how many (row, seed) records are still missing.

    Args:
        rows: names of rows; by default all.
        **options: of `run`.
    """
    return run(experiment(table, profile), rows, **options)


def run(
    plan: Experiment,
    rows: list[str] | None = None,
    seeds: int | None = None,
    budget: float | None = None,
    jobs: int = 1,
    results: Results | None = None,
    report: Report = print,
) -> int:
    """Run what is missing of an experiment; returns how many (row, seed) records are still missing.

    Args:
        rows: names of rows; by default all.
        seeds: of each row; by default what the experiment says.
        budget: minutes after which nothing new is started.
        jobs: processes at once. With several each computes on one thread.
    """
    results = results or Results("results")
    wanted = plan.selected(rows)
    arguments = _of_all_jobs(results, budget, jobs)
    searched = {row.searched.name: row.searched for row in wanted}
    unsearched = [(plan, row) for row in reversed(searched.values()) if untried(row, results)]  # the longest first
    for message in _parallel(jobs, _search_job, unsearched, arguments):
        report(message)
    for message in _parallel(jobs, _run_job, _missing(plan, wanted, seeds, results), arguments):
        report(message)
    return len(_missing(plan, wanted, seeds, results))


def train_models(profile: str, results: Results, budget: float | None = None, jobs: int = 1, report: Report = print) -> None:
    """Train again, without evaluating it again, each model that a figure shows and that is on record but not kept here.

    Args:
        budget: minutes after which nothing new is started.
        jobs: processes at once, as for `run`.
    """
    arguments = _of_all_jobs(results, budget, jobs)
    for table in TABLES:
        plan = experiment(table, profile)
        groups = same_runs(plan, results)
        lost = [(plan, group[0]) for group in groups if not any(results.kept_model(row, 0) for row in group)]
        for message in _parallel(jobs, _model_job, lost, arguments):
            report(message)
        for group in groups:
            kept = [row for row in group if results.kept_model(row, 0)]
            for row in group:
                if kept and row not in kept:
                    copy_model(row, kept[0].name, 0, results)


def _of_all_jobs(results: Results, budget: float | None, jobs: int) -> dict[str, Any]:
    deadline = None if budget is None else time.time() + 60 * budget
    return {"results": results, "deadline": deadline, "threads": 1 if jobs > 1 else None}


def _missing(plan: Experiment, rows: tuple[Row, ...], seeds: int | None, results: Results) -> list[tuple[Experiment, Row, int]]:
    """The (row, seed) pairs without a record under the current settings: all of a row while its search is unfinished."""
    found = current(plan, results)
    done = {row.name: set() if untried(row, results) else {record["seed"] for record in found[row.name]} for row in rows}
    return [(plan, row, seed) for seed in range(seeds or plan.seeds) for row in rows if seed not in done[row.name]]


def _parallel(jobs: int, job: Callable[..., str], items: list[Any], arguments: dict[str, Any]) -> Iterator[str]:
    """The messages of all jobs, each as soon as it ends."""
    import joblib

    pool = joblib.Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1, pre_dispatch=jobs)
    yield from pool(joblib.delayed(job)(*item, **arguments) for item in items)


def _search_job(plan: Experiment, row: Row, results: Results, deadline: float | None, threads: int | None) -> str:
    what = f"{row.table} {row.profile} {row.name}"
    if _too_late(deadline):
        return f"{what}: search not begun, the time is used up"
    limit_threads(threads)
    search(plan, row, results, load_dataset(plan.data), deadline)
    if untried(row, results):
        return f"{what}: search not finished, the time is used up"
    return f"{what}: chosen on validation: {chosen(row, results)}"


def _run_job(plan: Experiment, row: Row, seed: int, results: Results, deadline: float | None, threads: int | None) -> str:
    what = f"{row.table} {row.profile} {row.name} seed {seed}"
    if _too_late(deadline):
        return f"{what}: not begun, the time is used up"
    settings = planned(row, results)
    if untried(row, results) or settings is None:
        return f"{what}: not begun, its search is not finished"
    same = adopt(plan, row, seed, settings, results)
    if same is not None:
        return f"{what}: the same run as that of {same}"
    limit_threads(threads)
    dataset = load_dataset(plan.data)
    made_on = {**environment(dataset), "threads": int(os.environ.get("NPROC", os.cpu_count() or 1))}
    try:
        done = train(plan, settings, seed, dataset, plan.looks if seed == 0 else 1)
    except TrainingDiverged as problem:
        return f"{what}: {problem}"
    _keep(done, results.model_file(row, seed))
    likelihood = evaluated(plan, row, done.model, dataset, seed)
    record = {
        "table": row.table,
        "profile": row.profile,
        "row": row.name,
        "seed": seed,
        "settings": settings,
        "epochs": done.epochs,
        "curve": done.curve,
        "summary": done.run.summary,
        "likelihood": likelihood,
        "environment": made_on,
    }
    results.add(row.table, row.profile, "run", record)
    figures = ", ".join(f"{method} {found['test']['log_likelihood']['value']:.2f}" for method, found in likelihood.items())
    return f"{what}: test {figures}  ({done.seconds:.0f} s of training)"


def _model_job(plan: Experiment, row: Row, results: Results, deadline: float | None, threads: int | None) -> str:
    what = f"{row.table} {row.profile} {row.name}"
    if _too_late(deadline):
        return f"{what}: not begun, the time is used up"
    limit_threads(threads)
    settings = planned(row, results)
    assert settings is not None  # it has a record
    try:
        done = train(plan, settings, 0, load_dataset(plan.data), looks=1 if stops_early(settings) else 0)
    except TrainingDiverged as problem:  # its record is of another machine
        return f"{what}: {problem}"
    _keep(done, results.model_file(row, 0))
    return f"{what}: trained again ({done.seconds:.0f} s)"


def _keep(done: Trained, file: Path | None) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        model_files.save(done.model, file)


def _too_late(deadline: float | None) -> bool:
    return deadline is not None and time.time() > deadline


def limit_threads(threads: int | None) -> None:
    """XLA reads this when its CPU client starts, at the first computation of the process."""
    if threads is not None:
        os.environ["NPROC"] = str(threads)
