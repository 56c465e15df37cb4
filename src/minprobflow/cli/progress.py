"""Progress on standard error: a bar on a terminal, a line a phase elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, float], None]


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Report | None]:
    """Yield a function of what is being done and the share of it that is done; None when quiet."""
    if quiet:
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
