"""`minprobflow reproduce`: the paper's tables and figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

HELP = """Reproduce the paper's tables and figures. Results accumulate: running again only adds what is missing.

Each finished (row, seed) is one JSON record in the results folder; settings are chosen on the validation split, and every
trial is recorded. `time1` and `time2` compare the rules in equal time, with the data and hidden units of table1 and table2.
`page` writes docs/reproduction.md from the records, `figures` draws samples, filters and curves.

Examples:

  minprobflow reproduce table1 --profile quick --rows CD1,PCD1

  minprobflow reproduce table2 --profile best --rows CD10,FPMPF10 --seeds 3 --budget 60 --jobs 2

  minprobflow reproduce page
"""


def reproduce(
    what: Annotated[str, typer.Argument(metavar="table1|table2|table3|time1|time2|figures|page", help="what to make")],
    profile: Annotated[str, typer.Option(help="best (our recipe), paper (as the paper describes) or quick (minutes)")] = "best",
    rows: Annotated[str | None, typer.Option(metavar="ROW,ROW", help="rows such as CD10,FPMPF10  [default: all 15]")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="of each row  [default: the profile's]")] = None,
    budget: Annotated[float | None, typer.Option(metavar="MINUTES", help="start nothing new after this time")] = None,
    engine: Annotated[str, typer.Option(help="a joblib backend: loky; dask or ray where installed")] = "loky",
    jobs: Annotated[int, typer.Option(min=1, help="(row, seed) jobs at once, on one thread each if several")] = 1,
    results: Annotated[str, typer.Option(metavar="FOLDER", help="where records are")] = "results",
    models: Annotated[str, typer.Option(metavar="FOLDER", help="where trained models are put, for the figures")] = "reproduced-models",
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress on standard error")] = False,
) -> None:
    """Reproduce a table, the figures, or the page made of them."""
    from ..reproduce import equal_time, figures, page
    from ..reproduce import jobs as running
    from ..reproduce.records import Results

    place = Results(results, models)
    if what == "page":
        print(page.write_page(place, Path("docs/reproduction.md")))
        return
    if what == "figures":
        for file in figures.draw(place, Path("docs/images")):
            print(file)
        return
    say = (lambda line: None) if quiet else (lambda line: print(line, file=sys.stderr, flush=True))
    names = None if rows is None else [name.strip() for name in rows.split(",")]
    options: dict[str, Any] = {"seeds": seeds, "budget": budget, "engine": engine, "jobs": jobs, "results": place, "report": say}
    if what in ("time1", "time2"):
        table = what.replace("time", "table")
        missing = sum(running.run(plan, names, **options) for plan in equal_time.plans(table, place))
        print(equal_time.table(place, table))
    else:
        missing = running.reproduce(what, profile, names, **options)
        print(page.table(place, what, profile))
    if missing:
        say(f"{missing} (row, seed) records are still missing: run the same command again to go on")
