"""Everything a page says about a run, read from its folder."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..runs import RunFolder
from ..runs.diagnostics import read_diagnostics, read_evaluation


@dataclass(frozen=True)
class RunRecord:
    """A run's records. What an unfinished run does not have yet is empty."""

    name: str
    config: dict[str, Any]
    metrics: list[dict[str, Any]]
    summary: dict[str, Any]
    environment: dict[str, Any]
    evaluation: dict[str, Any]
    diagnostics: dict[str, np.ndarray]

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """Epochs and values of a metric, where it was recorded."""
        points = [(int(r["epoch"]), float(r[name])) for r in self.metrics if isinstance(r.get(name), int | float)]
        return [epoch for epoch, _ in points], [value for _, value in points]

    @property
    def best_epoch(self) -> int | None:
        """The epoch that the best model is of."""
        epochs, values = self.curve("valid")
        return epochs[int(np.argmax(values))] if epochs else None

    @property
    def seconds(self) -> float:
        """Time spent on updates, over all sittings."""
        return math.fsum(self.curve("seconds")[1])


def read_run(place: str) -> RunRecord:
    """Read a run folder that `diagnose` has been called on."""
    folder = RunFolder(place)
    config = dataclasses.asdict(folder.read_config())
    evaluation, diagnostics = read_evaluation(place), read_diagnostics(place)
    if evaluation is None or diagnostics is None:
        raise InputError(f"{place} has no evaluation.json and diagnostics.npz: call minprobflow.runs.diagnostics.diagnose on it first")
    summary, environment = _read(folder.summary_file), _read(folder.environment_file)
    return RunRecord(str(place), config, folder.read_metrics(), summary, environment, evaluation, diagnostics)


def _read(file: Path) -> dict[str, Any]:
    """A record that a page can do without."""
    try:
        record = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
