"""Progress of long computations on standard error: a bar on a terminal, a line per phase elsewhere.

Everywhere in the package `progress` is True (show it), False (do not), None (show it on a terminal) or, where a computation has
phases, a function of the phase and the share of it that is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .arguments import function, shown
from .errors import InputError

Report = Callable[[str, float], object]
"""called with what is being done and the share of it that is done"""


def wanted(progress: bool | None) -> bool:
    """Whether to show progress."""
    if progress is None:
        return sys.stderr.isatty()
    if not isinstance(progress, bool):
        raise InputError(f"progress={shown(progress)}: use True, False, or None for on a terminal only")
    return progress


@contextmanager
def phases(progress: bool | Report | None) -> Iterator[Report | None]:
    """Yield a function that shows phases and how far they are; None if that is not wanted."""
    if callable(progress) and not isinstance(progress, type):
        yield function("progress", progress, "the phase and the share of it that is done", 2)
    elif not wanted(progress):  # type: ignore[arg-type]
        yield None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        seen: set[str] = set()

        def line(phase: str, _: float) -> None:
            if phase not in seen:
                seen.add(phase)
                print(f"{phase} ...", file=sys.stderr, flush=True)

        yield line


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>32}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def report(phase: str, share: float) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=1.0)
            bar.update(tasks[phase], completed=share)

        yield report
