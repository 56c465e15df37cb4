"""`minprobflow compare`: runs side by side on the same test data."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ..errors import InputError
from .progress import progress_bar

HELP = """Compare runs on their test data: log-likelihood with its error, and the paired difference to the first run.

The difference is taken example by example, so what the choice of examples adds cancels; its error joins that of the mean
difference with those of both estimates of log Z.

Example:

  minprobflow compare runs/cd runs/fpmpf
"""


def compare(
    places: Annotated[list[str], typer.Argument(metavar="RUN RUN ...", help="run folders trained on the same data")],
    method: Annotated[str, typer.Option(help="auto, exact or ais")] = "auto",
    which: Annotated[str, typer.Option("--model", help="best or last model of each run")] = "best",
    chains: Annotated[int | None, typer.Option(help="chains of AIS  [default: 100]")] = None,
    betas: Annotated[int | None, typer.Option(help="temperatures of AIS  [default: doubled until precise enough]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="all random numbers follow from it")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress on standard error")] = False,
) -> None:
    """Compare runs."""
    import numpy as np

    from ..likelihood import log_partition
    from ..likelihood.judge import free_energies
    from ..runs.open import open_data, open_model

    if len(places) < 2:
        raise InputError("name at least two runs to compare")
    settings = {name: value for name, value in (("chains", chains), ("betas", betas)) if value is not None}
    rows: list[dict[str, Any]] = []
    first: Any = None
    for place in places:
        data, model = open_data(place), open_model(place, which)
        if first is not None and not np.array_equal(data.test, first["test"]):
            raise InputError(f"{place} was trained on other data than {places[0]}: compare runs on the same data")
        with progress_bar(quiet) as progress:
            log_z = log_partition(model, method, seed=seed, base_data=data.train, progress=progress, **settings)
        each = -free_energies(model, data.test) - log_z.value
        first = first or {"test": data.test, "each": each, "stderr": log_z.stderr}
        apart = each - first["each"]
        error = float(np.sqrt(apart.var(ddof=1) / len(apart) + log_z.stderr**2 + first["stderr"] ** 2)) if place != places[0] else 0.0
        rows.append(
            {
                "run": place,
                "log_likelihood": float(each.mean()),
                "stderr": log_z.stderr,
                "method": log_z.method,
                "verdict": log_z.verdict,
                "difference": float(apart.mean()),
                "difference_stderr": error,
            }
        )
    if as_json:
        print(json.dumps({"runs": rows}))
        return
    width = max(len(row["run"]) for row in rows)
    print(f"{'run':{width}}  {'test':>9} {'+-':>6}  {'difference':>10} {'+-':>6}  verdict")
    for row in rows:
        apart = f"{row['difference']:+10.3f} {row['difference_stderr']:6.3f}" if row is not rows[0] else f"{'':17}"
        print(f"{row['run']:{width}}  {row['log_likelihood']:9.3f} {row['stderr']:6.3f}  {apart}  {row['verdict']} ({row['method']})")
