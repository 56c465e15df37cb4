"""Ready-made callbacks for `fit`. A callback is a function of an `Epoch`; returning True stops the training."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .loop import Epoch


class Progress:
    """A line per run on standard error that shows epoch, objective, ESS, speed and the time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
        )
        self._task = self._bar.add_task("training", total=None, figures="compiling")
        self._bar.start()

    def __call__(self, epoch: Epoch) -> None:
        objective, ess = (float(np.mean(epoch.metrics[name])) for name in ("objective", "ess"))
        figures = f"objective {objective:.4g}  ESS {ess:.0%}  {epoch.seconds:.2g} s/epoch"
        self._bar.update(self._task, total=epoch.epochs, completed=epoch.number, figures=figures)

    def close(self) -> None:
        self._bar.stop()
