"""The command line. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import os
import sys

import platformdirs
import typer

from ..errors import InputError, TrainingDiverged
from . import compare, datasets, evaluate, report, reproduce, sample, train

app = typer.Typer(
    name="minprobflow",
    help="Train and judge restricted Boltzmann machines and other energy-based models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(help=train.HELP)(train.train)
app.command(help=evaluate.HELP)(evaluate.evaluate)
app.command(help=sample.HELP)(sample.sample)
app.command(help=compare.HELP)(compare.compare)
app.command(help=report.HELP)(report.report)
app.command(help=reproduce.HELP)(reproduce.reproduce)
app.add_typer(datasets.app, name="datasets")


@app.callback()
def _root() -> None:
    """Train and judge restricted Boltzmann machines and other energy-based models."""


def main() -> None:
    """Entry point: 0 on success, 2 on bad input, 1 when something else went wrong."""
    _keep_compiled_programs()
    try:
        app()
    except InputError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
    except TrainingDiverged as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(1)
    except OSError as problem:  # a full disk, no permission: nothing half written is left
        print(f"error: {problem}: mend that, and go on with --resume if it was a training run", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("stopped; a training run goes on with --resume, a reproduction with the same command", file=sys.stderr)
        sys.exit(1)


def _keep_compiled_programs() -> None:
    """Have JAX keep compiled programs in the user's cache, so that a second run starts at once; what the user set stays."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", platformdirs.user_cache_dir("minprobflow-compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


if __name__ == "__main__":
    main()
