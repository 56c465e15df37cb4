"""`python -m paper`: the paper's tables and figures."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from minprobflow import cli
from minprobflow.cli.endings import stoppable
from minprobflow.errors import InputError

EQUAL_TIME = ("time1", "time2")

HELP = """Reproduce the paper's tables and figures. Results accumulate: running again only adds what is missing.

Each finished (row, seed) is one line of a JSON-lines file in the results folder, and so is every trial of a search; settings are
chosen on the validation split. `time1` and `time2` compare the rules in equal time, with the data and hidden units of table1 and
table2 (rows such as PCD1 and FPMPF10-refresh5; no profile).
`page` writes docs/reproduction.md from the records, `figures` draws samples, filters and curves; with `--train` it first trains
again the models that are not kept here.

Examples:

  python -m paper table1 --profile quick --rows CD1,PCD1

  python -m paper table2 --profile best --rows CD10,FPMPF10 --seeds 3 --budget 60 --jobs 2

  python -m paper page
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(help=HELP)
@stoppable
def paper(
    what: Annotated[str, typer.Argument(metavar="table1|table2|table3|time1|time2|figures|page", help="what to make")],
    profile: Annotated[str, typer.Option(help="best (our recipe), paper (as the paper describes) or quick (minutes)")] = "best",
    rows: Annotated[str | None, typer.Option(metavar="ROW,ROW", help="rows such as CD10,FPMPF10  [default: all]")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="of each row  [default: the profile's]")] = None,
    budget: Annotated[float | None, typer.Option(metavar="MINUTES", help="start nothing new after this time")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="(row, seed) jobs at once, on one thread each if several")] = 1,
    results: Annotated[str, typer.Option(metavar="FOLDER", help="where records are")] = "results",
    models: Annotated[str, typer.Option(metavar="FOLDER", help="where trained models are put, for the figures")] = "reproduced-models",
    train: Annotated[bool, typer.Option("--train", help="for figures: first train the models again that are not kept here")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress on standard error")] = False,
) -> None:
    """Reproduce a table, the figures, or the page made of them."""
    from . import equal_time, figures, page, plan
    from . import jobs as running
    from .records import Results

    known = (*plan.TABLES, *EQUAL_TIME, "figures", "page")
    if what not in known:
        raise InputError(f"unknown {what!r}: use one of {', '.join(known)}")
    if train and what != "figures":
        raise InputError("--train goes with figures: python -m paper figures --train")
    place = Results(results, models)
    say = (lambda line: None) if quiet else (lambda line: print(line, file=sys.stderr, flush=True))
    if what == "page":
        file = Path("docs/reproduction.md")
        if not file.is_file():
            raise InputError("there is no docs/reproduction.md here: run this in a checkout of minprobflow")
        print(page.write_page(place, file))
        return
    if what == "figures":
        if train:
            running.train_models(profile, place, budget, jobs, say)
        for file in figures.draw(place, Path("docs/images"), profile, say):
            print(file)
        return
    names = None if rows is None else [name.strip() for name in rows.split(",")]
    options: dict[str, Any] = {"seeds": seeds, "jobs": jobs, "results": place, "report": say}
    begun = time.time()
    if what in EQUAL_TIME:
        table, missing = what.replace("time", "table"), 0
        for timed in equal_time.plans(table, place):
            left = None if budget is None else budget - (time.time() - begun) / 60
            missing += running.run(timed, names, budget=left, **options)
        print(equal_time.table(place, table))
    else:
        missing = running.reproduce(what, profile, names, budget=budget, **options)
        print(page.table(place, what, profile))
    if missing:
        say(f"{missing} (row, seed) records are still missing: run the same command again to continue")


if __name__ == "__main__":
    cli.main(app)
