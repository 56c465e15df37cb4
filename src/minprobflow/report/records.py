"""Everything a page says about a run, read from its folder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..progress import Report
from ..records import Json
from ..runs import RunFolder
from ..runs.diagnostics import diagnose
from ..runs.evaluate import Evaluation
from ..runs.folder import EpochRecord


@dataclass(frozen=True)
class RunRecord:
    """A run's records. What an unfinished run does not have yet is empty."""

    name: str
    config: dict[str, object]
    metrics: list[EpochRecord]
    summary: dict[str, Json]
    environment: dict[str, Json]
    evaluation: Evaluation
    diagnostics: dict[str, np.ndarray]

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """Epochs and values of a metric, where it was recorded."""
        points = [(r["epoch"], float(value)) for r in self.metrics if isinstance(value := r.get(name), int | float)]
        return [epoch for epoch, _ in points], [value for _, value in points]

    @property
    def model(self) -> str:
        """What was trained: its name, and its hidden units if it has any."""
        hidden = self.config.get("hidden")
        return f"{self.config['model']}" + (f", {hidden} hidden units" if hidden else "")

    @property
    def best_epoch(self) -> int | None:
        """The epoch that the best model is of."""
        epochs, values = self.curve("valid")
        return epochs[int(np.argmax(values))] if epochs else None

    @property
    def seconds(self) -> float:
        """Time spent on updates, over all sittings."""
        return math.fsum(self.curve("seconds")[1])


def read_run(place: str, progress: Report | None = None) -> RunRecord:
    """Read a run folder. What its records say of an earlier best model, or lack, is computed and kept there."""
    folder = RunFolder(place)
    config = folder.read_config().flat()
    evaluation, arrays = diagnose(place, progress)
    summary, environment = (folder.read_optional(file) for file in (folder.summary_file, folder.environment_file))
    return RunRecord(str(place), config, folder.read_metrics(), summary, environment, evaluation, arrays)
