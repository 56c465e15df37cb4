"""How long the rest of a run will take, by the clock."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping

RECENT = 9  # laps whose median counts: an odd number, so that it is one of them


class Pace:
    """The time that epochs take, with everything done between them: evaluation, checkpoints, callbacks.

    Epochs of different kinds (with an evaluation, without) take different times, so each kind has laps of its own. The first lap
    of a kind holds compilation; it counts only until there is a second one. The median of the last laps is robust against a
    machine that was busy for a moment, and follows one that stays busy.

    >>> now = iter([0.0, 60.0, 62.0, 64.0]).__next__
    >>> pace = Pace(clock=now)
    >>> for _ in range(3):
    ...     pace.lap()
    >>> pace.left({None: 10})  # ten epochs more, of two seconds; the minute was compilation
    20.0
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._mark = clock()
        self._first: dict[Hashable, float] = {}
        self._laps: dict[Hashable, deque[float]] = {}  # all but the first

    def lap(self, kind: Hashable = None) -> None:
        """An epoch of this kind has just ended."""
        now = self._clock()
        if kind in self._first:
            self._laps.setdefault(kind, deque(maxlen=RECENT)).append(now - self._mark)
        else:
            self._first[kind] = now - self._mark
        self._mark = now

    def warm(self, kind: Hashable = None) -> bool:
        """Whether a time of this kind without compilation is known."""
        return kind in self._laps

    def seconds(self, kind: Hashable = None) -> float:
        """What an epoch of this kind takes; of one not seen yet, what the slowest kind seen takes."""
        if kind not in self._first:
            return max((self.seconds(seen) for seen in self._first), default=0.0)
        return statistics.median(self._laps.get(kind, [self._first[kind]]))

    def left(self, counts: Mapping[Hashable, int]) -> float:
        """What so many epochs of each kind will take together."""
        return sum((n * self.seconds(kind) for kind, n in counts.items()), 0.0)


def duration(seconds: float) -> str:
    """In the units one would say it in.

    >>> duration(0.4), duration(99.0), duration(1000.0), duration(8000.0)
    ('0 s', '1 min 40 s', '17 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    tens, minutes = round(seconds / 10), round(seconds / 60)
    if tens < 60:
        return f"{tens // 6} min {tens % 6 * 10} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
