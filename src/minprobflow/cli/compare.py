"""`minprobflow compare`: runs side by side on the same test data."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..errors import InputError
from .flags import AsJson, Groups, Quiet, Seed, Which, grouped, with_settings

HELP = """Compare runs on their test data: log-likelihood with its error, and the paired difference to the first run.

The difference is taken example by example, so what the choice of examples adds cancels; its error joins that of the mean
difference with those of both estimates of log Z.

Example:

  minprobflow compare runs/cd runs/fpmpf
"""


def groups() -> Groups:
    """Settings of the estimators of log Z."""
    from ..likelihood import estimators

    return {"Estimator": grouped(estimators().values())}


def compare(
    places: Annotated[list[str], typer.Argument(metavar="RUN RUN ...", help="run folders trained on the same data")],
    settings: dict[str, object],
    method: Annotated[str, typer.Option(help="auto, exact or ais")] = "auto",
    which: Which = "best",
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare runs."""
    import numpy as np

    from ..likelihood import compare as paired
    from ..progress import phases
    from ..runs.open import open_data, open_model

    if len(places) < 2:
        raise InputError("name at least two runs to compare")
    data, models = open_data(places[0]), [open_model(place, which) for place in places]
    for place in places[1:]:
        if not np.array_equal(open_data(place).test, data.test):
            raise InputError(f"{place} was trained on other data than {places[0]}: compare runs on the same data")
    if not len(data.test):
        raise InputError(f"the data of {places[0]} have no test part: train with another --data-option split")
    with phases(not quiet) as progress:
        found = paired(models, data.test, method, seed=seed, base_data=data.train, progress=progress or False, **settings)
    rows = [
        {
            "run": place,
            "log_likelihood": one.log_likelihood.value,
            "stderr": one.log_likelihood.stderr,
            "method": one.log_likelihood.method,
            "verdict": one.log_likelihood.verdict,
            "difference": one.difference,
            "difference_stderr": one.stderr,
        }
        for place, one in zip(places, found, strict=True)
    ]
    if as_json:
        print(json.dumps({"runs": rows}))
        return
    width = max(len(place) for place in places)
    print(f"{'run':{width}}  {'test':>9} {'+-':>6}  {'difference':>10} {'+-':>6}  verdict")
    for row in rows:
        apart = f"{row['difference']:+10.3f} {row['difference_stderr']:6.3f}" if row is not rows[0] else f"{'':17}"
        print(f"{row['run']:{width}}  {row['log_likelihood']:9.3f} {row['stderr']:6.3f}  {apart}  {row['verdict']} ({row['method']})")


build = with_settings(compare, HELP, groups)
