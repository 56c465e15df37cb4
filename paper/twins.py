"""Rows whose runs are the same: FMPF that draws new particles at every update is CD, bit for bit, with half its gradient."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

from minprobflow.files import write_atomically

from .plan import Experiment, Row
from .records import Results
from .search import current, evaluated_as_planned


def adopt(plan: Experiment, row: Row, seed: int, settings: dict[str, Any], results: Results) -> str | None:
    """Take over the record (and model) of another row's run that is this one; the other row's name, None if there is no such run."""
    wanted = as_cd(settings)
    for record in results.read(row.table, row.profile, "run"):
        same = record["seed"] == seed and record["row"] != row.name and as_cd(record["settings"]) == wanted
        if same and evaluated_as_planned(plan, row, record):
            own = {"row": row.name, "settings": settings, "same_run_as": record["row"]}
            results.add(row.table, row.profile, "run", {**record, **own})
            copy_model(row, record["row"], seed, results)
            return str(record["row"])
    return None


def copy_model(row: Row, other: str, seed: int, results: Results) -> None:
    """The model of the other row's run as that of this one, if it is kept."""
    theirs, ours = results.kept_model(replace(row, name=other), seed), results.model_file(row, seed)
    if theirs is not None and ours is not None:
        write_atomically(ours, theirs.read_bytes())


def same_runs(plan: Experiment, results: Results) -> list[list[Row]]:
    """The rows whose first seed is on record, those of the same run together."""
    records = current(plan, results)
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in plan.rows:
        for record in records[row.name]:
            if record["seed"] == 0:
                groups[json.dumps(as_cd(record["settings"]), sort_keys=True)].append(row)
    return [*groups.values()]


def as_cd(settings: dict[str, Any]) -> dict[str, Any]:
    """FMPF with refresh 1 as what it is: CD at half the rate, with twice the penalty."""
    if settings["rule"] != "fmpf" or settings.get("refresh") != 1:
        return settings
    kept = {name: value for name, value in settings.items() if name != "refresh"}
    return {**kept, "rule": "cd", "learning_rate": settings["learning_rate"] / 2, "l2": 2 * settings.get("l2", 0.0)}
