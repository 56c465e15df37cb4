"""Ready-made callbacks for `fit`. A callback is a function of an `Epoch`; returning True stops the training."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .pace import Pace, duration

if TYPE_CHECKING:
    from .loop import Epoch

ALWAYS = ("gradient_norm", "reconstruction_error")  # what is worth showing whatever the rule


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


class Progress:
    """A line per run on standard error: epoch, gradient norm, reconstruction error, what informs about the rule, the time left."""

    def __init__(self, informative: Iterable[str] = ()) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._names = (*ALWAYS, *informative)
        self._pace = Pace()
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            console=Console(file=sys.stderr),
        )
        self._task = self._bar.add_task("training", total=None, figures="compiling")
        self._bar.start()

    def __call__(self, epoch: Epoch) -> None:
        self._pace.lap()
        left = self._pace.left({None: epoch.epochs - epoch.number})
        parts = figures(epoch.metrics, self._names)
        parts += [f"{self._pace.seconds():.2g} s/epoch", f"{duration(left)} left"] if self._pace.warm() else []
        self._bar.update(self._task, total=epoch.epochs, completed=epoch.number, figures="  ".join(parts))

    def close(self) -> None:
        self._bar.stop()
