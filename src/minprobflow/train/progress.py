"""What is shown of a training run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from .pace import Pace, duration

if TYPE_CHECKING:
    from rich.progress import Progress

LINES = 100  # a longer run prints about this many, unless its epochs are slow
SILENCE = 30.0  # seconds after which a line is printed whatever the epoch
WIDE = 100  # columns of a terminal that has room for a bar beside the figures

Figure = float | np.floating | np.ndarray
"""a metric; an array of them where there are replicas"""


@runtime_checkable
class Passed(Protocol):
    """What is shown of an `Epoch`."""

    @property
    def number(self) -> int: ...
    @property
    def epochs(self) -> int: ...
    @property
    def metrics(self) -> Mapping[str, Figure]: ...


@runtime_checkable
class Look(Protocol):
    """What is shown of a look at the likelihood: see `runs.validation`."""

    @property
    def valid(self) -> float: ...
    @property
    def stderr(self) -> float: ...
    @property
    def independent(self) -> float: ...
    @property
    def gain(self) -> float: ...


class TrainingProgress:
    """Epoch, validation log-likelihood and its gain over independent units, gradient norm, speed, time left.

    On a terminal one line is kept up to date. Elsewhere a line is printed per epoch; runs of more than 100 epochs print every
    n-th, so that there are about 100, and one at least every 30 seconds. The first and the last epoch are always shown.

    Args:
        epochs: how many there will be.
        informative: the metrics that tell something about the rule (`RuleSpec.informative`).
        looks: the epochs after which the likelihood is evaluated; without any, the reconstruction error is shown instead.
        clock: gives the time in seconds.
    """

    def __init__(
        self,
        epochs: int,
        informative: Iterable[str] = (),
        looks: Collection[int] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock, self._pace, self._looks = clock, Pace(clock), looks
        self._names = ("gradient_norm", *(() if looks else ("reconstruction_error",)), *informative)
        self._look: Look | None = None
        self._looked_at = 0
        self._printed = -float("inf")
        self._bar = _live_line(epochs) if sys.stderr.isatty() else None

    def __enter__(self) -> TrainingProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, epoch: Passed, look: Look | None = None) -> None:
        """After each epoch; `look` is None where the likelihood was not evaluated."""
        self._pace.lap(look is not None)
        first = self._printed < 0
        if look is not None:
            if self._look is None and self._bar is not None:
                self._bar.console.print(f"independent units: {look.independent:.2f} nats per validation row; (+) is the gain over them")
            self._look, self._looked_at = look, epoch.number
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=epoch.number, description=self._line(epoch, "({:+.2f})"))
        elif first or self._due(epoch):
            line = self._line(epoch, "({:+.2f} over independent units)")
            print(f"epoch {epoch.number}/{epoch.epochs}  {line}", file=sys.stderr, flush=True)
        else:
            return
        self._printed = self._clock()

    def _due(self, epoch: Passed) -> bool:
        """Whether this epoch gets a line where lines pile up."""
        stride = -(-epoch.epochs // LINES)
        return epoch.number % stride == 0 or epoch.number == epoch.epochs or self._clock() - self._printed > SILENCE

    def _line(self, epoch: Passed, gain: str) -> str:
        parts = []
        if self._look is not None:
            band = "" if self._look.stderr == 0 else f" +- {self._look.stderr:.2g}"
            stale = "" if self._looked_at == epoch.number else f" at epoch {self._looked_at}"
            parts.append(f"valid {self._look.valid:.2f}{band} {gain.format(self._look.gain)}{stale}")
        parts += figures(epoch.metrics, self._names)
        return "  ".join(parts + self._pace_of(epoch))

    def _pace_of(self, epoch: Passed) -> list[str]:
        """Seconds per epoch and the time left, evaluations counted; an upper bound while all that was seen of them holds compilation."""
        ahead = epoch.epochs - epoch.number
        if ahead < 1 or not (self._pace.warm(True) or self._pace.warm(False)):
            return []
        evaluated = sum(number > epoch.number for number in self._looks)
        seconds = self._pace.left({True: evaluated, False: ahead - evaluated})
        bound = "" if self._pace.warm(True) or not evaluated else "at most " if self._look is not None else "at least "
        return [f"{seconds / ahead:.2g} s/epoch", f"{bound}{duration(seconds)} left"]


def figures(metrics: Mapping[str, Figure], names: Iterable[str]) -> list[str]:
    """The metrics with these names as they are shown; means over replicas.

    >>> figures({"gradient_norm": 0.3125, "ess": 0.874}, ["gradient_norm", "ess"])
    ['gradient norm 0.312', 'ESS 87%']
    """
    values = {name: float(np.mean(metrics[name])) for name in names}
    return [f"ESS {value:.0%}" if name == "ess" else f"{name.replace('_', ' ')} {value:.3g}" for name, value in values.items()]


def _live_line(epochs: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    text = TextColumn("epoch {task.completed}/{task.total}  {task.description}")
    line = Progress(*([BarColumn(bar_width=12)] if console.width >= WIDE else []), text, console=console)
    line.add_task("compiling", total=epochs)
    line.start()
    return line
