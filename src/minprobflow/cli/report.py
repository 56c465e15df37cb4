"""`minprobflow report`: a page about one or several runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from ..progress import Report
from .endings import write_output
from .flags import AsJson, Quiet

HELP = """Write one HTML page about a run folder, or about several side by side.

The page needs nothing else: it can be mailed, and opens without a network. The likelihood on test data, samples and how
chains mix are computed once and kept in the run folder (evaluation.json, diagnostics.safetensors); a new best model renews them.

Examples:

  minprobflow report runs/mnist

  minprobflow report runs/cd runs/fpmpf --out comparison.html
"""


def report(
    places: Annotated[list[str], typer.Argument(metavar="RUN [RUN ...]", help="run folders")],
    out: Annotated[str, typer.Option(metavar="FILE", help="where the page goes")] = "report.html",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about runs."""
    import json

    from ..progress import phases
    from ..report import page, read_run
    from ..runs import RunFolder

    if Path(out).is_dir():
        raise InputError(f"--out {out} is a folder: name a file in it, such as {Path(out) / 'report.html'}")
    for place in places:  # before any long work
        RunFolder(place).read_config()
    runs = []
    for place in places:
        with phases(not quiet) as progress:
            runs.append(read_run(place, progress and partial(_of_run, progress, place)))
    write_output(out, page(runs).encode("utf-8", "replace"))  # a path may have bytes that no text has
    print(json.dumps({"page": out, "runs": [{"run": run.name, **run.evaluation} for run in runs]}) if as_json else out)


def _of_run(progress: Report, place: str, phase: str, share: float) -> None:
    progress(f"{place}: {phase}", share)
