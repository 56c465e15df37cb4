"""What `minprobflow train` shows: a live line on a terminal, plain lines elsewhere, and the result at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runs import RunConfig

LINES = 100  # a longer run prints about this many, unless its epochs are slow
SILENCE = 30.0  # seconds after which a line is printed whatever the epoch


class TrainingDisplay:
    """Epoch, validation log-likelihood and its gain over independent units, gradient norm, speed, time left.

    On a terminal one line is kept up to date. Elsewhere a line is printed per epoch; runs of more than 100 epochs print every
    n-th, so that there are about 100, and one at least every 30 seconds. The first and the last epoch are always shown.
    """

    def __init__(self, settings: RunConfig, quiet: bool, clock: Callable[[], float] = time.perf_counter):
        self.settings, self.quiet, self.clock = settings, quiet, clock
        self.bar: Any = None

    def __enter__(self) -> Callable[..., None] | None:
        if self.quiet:
            return None
        from ..train.pace import Pace

        self.pace = Pace(self.clock)
        self.names = ("gradient_norm", *self.settings.rule_spec().informative())
        self.look: Any = None
        self.looked_at = 0
        self.printed = -float("inf")
        if sys.stderr.isatty():
            from ..train.callbacks import live_line

            self.bar = live_line(self.settings.epochs)
        return self.show

    def show(self, epoch: Any, look: Any) -> None:
        """After each epoch; `look` is None where the likelihood was not evaluated."""
        self.pace.lap(look is not None)
        first = self.printed < 0
        if look is not None:
            if self.look is None and self.bar is not None:
                self.bar.console.print(f"independent units: {look.independent:.2f} nats per validation row; (+) is the gain over them")
            self.look, self.looked_at = look, epoch.number
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=epoch.number, description=self._line(epoch, "({:+.2f})"))
        elif first or self._due(epoch):
            line = self._line(epoch, "({:+.2f} over independent units)")
            print(f"epoch {epoch.number}/{epoch.epochs}  {line}", file=sys.stderr, flush=True)
        else:
            return
        self.printed = self.clock()

    def _due(self, epoch: Any) -> bool:
        """Whether this epoch gets a line where lines pile up."""
        stride = -(-epoch.epochs // LINES)
        return epoch.number % stride == 0 or epoch.number == epoch.epochs or self.clock() - self.printed > SILENCE

    def _line(self, epoch: Any, gain: str) -> str:
        from ..train.callbacks import figures

        parts = []
        if self.look is not None:
            band = "" if self.look.stderr == 0 else f" +- {self.look.stderr:.1f}"
            stale = "" if self.looked_at == epoch.number else f" at epoch {self.looked_at}"
            parts.append(f"valid {self.look.valid:.2f}{band} {gain.format(self.look.gain)}{stale}")
        parts += figures(epoch.metrics, self.names)
        return "  ".join(parts + self._pace_of(epoch))

    def _pace_of(self, epoch: Any) -> list[str]:
        """Seconds per epoch and the time left, evaluations counted; an upper bound while all that was seen of them holds compilation."""
        from ..train.pace import duration

        every, ahead = self.settings.evaluate_every, epoch.epochs - epoch.number
        if ahead < 1 or not (self.pace.warm(True) or self.pace.warm(False)):
            return []
        evaluated = epoch.epochs // every - epoch.number // every + (epoch.epochs % every > 0)  # the last epoch always is
        seconds = self.pace.left({True: evaluated, False: ahead - evaluated})
        bound = "" if self.pace.warm(True) else "at most " if self.look is not None else "at least "
        return [f"{seconds / ahead:.2g} s/epoch", f"{bound}{duration(seconds)} left"]

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def result_lines(summary: dict[str, Any]) -> list[str]:
    """The end of a run in words, from its summary."""
    place, last = summary["run"], summary["last"]
    lines = [f"run       {place}"]
    if "valid" in last:
        gain = last["valid"] - summary["independent_units"]
        band = "" if last["stderr"] == 0 else f" +- {last['stderr']:.2f}"
        side = f"{abs(gain):.2f} {'above' if gain >= 0 else 'below'} independent units"
        lines.append(f"valid     {last['valid']:.2f}{band} nats, {side} ({last['method']})")
        lines.append(f"train     {last['train']:.2f} nats; best on validation at epoch {summary['best_epoch']} of {summary['epochs']}")
    lines.append(f"models    {place}/model.safetensors (last), {place}/best.safetensors (best on validation)")
    return lines + [f"note      {remark}" for remark in summary["remarks"]]
