"""Ready-made callbacks for `fit`. A callback is a function of an `Epoch`; returning True stops the training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .pace import Pace, duration

if TYPE_CHECKING:
    from .loop import Epoch

ALWAYS = ("gradient_norm", "reconstruction_error")  # what is worth showing whatever the rule
WIDE = 100  # columns of a terminal that has room for a bar beside the figures


def figures(metrics: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The metrics with these names as they are shown; means over replicas.

    >>> figures({"gradient_norm": 0.3125, "ess": 0.874}, ["gradient_norm", "ess"])
    ['gradient norm 0.312', 'ESS 87%']
    """
    shown = []
    for name in names:
        value = float(np.mean(metrics[name]))
        shown.append(f"ESS {value:.0%}" if name == "ess" else f"{name.replace('_', ' ')} {value:.3g}")
    return shown


def live_line(epochs: int) -> Any:
    """A line on standard error that is kept up to date: the epoch and figures, with a bar where there is room."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    text = TextColumn("epoch {task.completed}/{task.total}  {task.description}")
    line = Progress(*([BarColumn(bar_width=12)] if console.width >= WIDE else []), text, console=console)
    line.add_task("compiling", total=epochs)
    line.start()
    return line


class Progress:
    """A live line on standard error: epoch, gradient norm, reconstruction error, what informs about the rule, the time left."""

    def __init__(self, epochs: int, informative: Iterable[str] = ()) -> None:
        self._names = (*ALWAYS, *informative)
        self._pace = Pace()
        self._line = live_line(epochs)

    def __call__(self, epoch: Epoch) -> None:
        self._pace.lap()
        left = self._pace.left({None: epoch.epochs - epoch.number})
        parts = figures(epoch.metrics, self._names) + ([f"{duration(left)} left"] if self._pace.warm() else [])
        self._line.update(self._line.task_ids[0], completed=epoch.number, description="  ".join(parts))

    def close(self) -> None:
        self._line.stop()
