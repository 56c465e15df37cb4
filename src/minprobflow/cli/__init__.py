"""The command line. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import platformdirs
import typer

from . import compare, datasets, evaluate, report, sample, train
from .endings import ends_well, prepare_streams, stoppable
from .flags import Commands

ABOUT = "Train and evaluate restricted Boltzmann machines and other energy-based models."
app = typer.Typer(
    name="minprobflow",
    cls=Commands,
    help=ABOUT,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, build, about in (
    ("train", train.build, train.HELP),
    ("evaluate", evaluate.build, evaluate.HELP),
    ("compare", compare.build, compare.HELP),
):
    Commands.made[name] = build
    app.command(name, help=about)(lambda: None)
app.command(help=sample.HELP)(stoppable(sample.sample))
app.command(help=report.HELP)(stoppable(report.report))
app.add_typer(datasets.app, name="datasets")


def _version(wanted: bool) -> bool:
    if wanted:
        from .. import native
        from ..versions import version

        print(f"minprobflow {version()}, kernels: {native.status()}")
        raise typer.Exit
    return wanted


@app.callback(help=ABOUT)
def _root(
    version: Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="print the version and exit")] = False,
) -> None:
    pass


def main(command: Callable[[], object] = app) -> None:
    """Entry point of this or another command line: 0 on success, 2 on bad input, 130 when interrupted, 1 when something else went wrong."""
    _keep_compiled_programs()
    prepare_streams()
    with ends_well():
        command()


def _keep_compiled_programs() -> None:
    """Have JAX keep compiled programs in the user's cache, so that a second run starts at once; what the user set stays."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", platformdirs.user_cache_dir("minprobflow-compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


if __name__ == "__main__":
    main()
