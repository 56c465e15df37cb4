"""Running what is missing: searches first, then (row, seed) jobs, fanned out through joblib."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import model_files
from ..data import load_dataset
from ..errors import InputError
from .experiments import Experiment, Row, experiment
from .records import Results
from .search import chosen, missing_candidates
from .training import LOOKS, judged, train

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
    engine: str = "loky",
    jobs: int = 1,
    results: Results | None = None,
    report: Report = print,
) -> int:
    """Run what is missing of an experiment; returns how many (row, seed) records are still missing.

    Args:
        rows: names of rows; by default all.
        seeds: of each row; by default what the experiment says.
        budget: minutes after which nothing new is started.
        engine: a joblib backend: loky, threading, multiprocessing; dask or ray where they are installed and registered.
        jobs: processes at once. With several each computes on one thread.
    """
    results = results or Results("results")
    deadline = None if budget is None else time.time() + 60 * budget
    wanted = plan.selected(rows)
    searches = [row for row in wanted if missing_candidates(row, results)]
    threads = 1 if jobs > 1 else None
    arguments = {"results": results, "deadline": deadline, "threads": threads}
    for message in _parallel(engine, jobs, _search_job, [(plan, row) for row in searches], arguments):
        report(message)
    todo = [(plan, row, seed) for seed in range(seeds or plan.seeds) for row in wanted if not results.record_file(row, seed).is_file()]
    for message in _parallel(engine, jobs, _run_job, todo, arguments):
        report(message)
    return sum(not results.record_file(row, seed).is_file() for _, row, seed in todo)


def _parallel(engine: str, jobs: int, job: Callable[..., str], items: list[Any], arguments: dict[str, Any]) -> Iterator[str]:
    if not items:
        return
    if jobs == 1:
        yield from (job(*item, **arguments) for item in items)
        return
    import joblib

    try:
        pool = joblib.Parallel(n_jobs=jobs, backend=engine, return_as="generator_unordered", batch_size=1, pre_dispatch=jobs)
    except ValueError as problem:
        raise InputError(f"joblib knows no engine {engine!r} here: use loky, or install and register that one") from problem
    yield from pool(joblib.delayed(job)(*item, **arguments) for item in items)


def _search_job(plan: Experiment, row: Row, results: Results, deadline: float | None, threads: int | None) -> str:
    if _too_late(deadline):
        return f"{row.table} {row.profile} {row.name}: search not begun, the time is used up"
    limit_threads(threads)
    choice = chosen(plan, row, results, load_dataset(plan.data))
    return f"{row.table} {row.profile} {row.name}: chosen on validation: {choice}"


def _run_job(plan: Experiment, row: Row, seed: int, results: Results, deadline: float | None, threads: int | None) -> str:
    what = f"{row.table} {row.profile} {row.name} seed {seed}"
    if _too_late(deadline) or missing_candidates(row, results):
        return f"{what}: not begun, the time is used up"
    limit_threads(threads)
    dataset = load_dataset(plan.data)
    choice = chosen(plan, row, results, dataset)
    done = train(plan, row, choice, seed, dataset, choice.get("epochs", row.settings["epochs"]), LOOKS if seed == 0 else 1)
    file = results.model_file(row, seed)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        model_files.save(done.model, file)
    likelihood = judged(plan, done.model, dataset, seed)
    record = {
        "table": row.table,
        "profile": row.profile,
        "row": row.name,
        "seed": seed,
        "settings": {**row.settings, **row.rule_settings, **choice, "rule": row.rule},
        "chosen": choice,
        "seconds": round(done.seconds, 2),
        "compile_seconds": round(done.compile_seconds, 2),
        "wall_seconds": round(done.wall_seconds, 2),
        "threads": int(os.environ.get("NPROC", os.cpu_count() or 1)),
        "curve": done.curve,
        "likelihood": likelihood,
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "python": platform.python_version()},
        "versions": {name: importlib.metadata.version(name) for name in ("minprobflow", "jax")},
    }
    results.write(results.record_file(row, seed), record)
    figures = ", ".join(f"{method} {found['test']['value']:.2f}" for method, found in likelihood.items())
    return f"{what}: test {figures}  ({done.seconds:.0f} s of training)"


def _too_late(deadline: float | None) -> bool:
    return deadline is not None and time.time() > deadline


def limit_threads(threads: int | None) -> None:
    """XLA reads this when its CPU client starts, at the first computation of the process."""
    if threads is not None:
        os.environ["NPROC"] = str(threads)


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
