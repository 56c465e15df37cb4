"""`minprobflow train`: a training run in a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .training_display import TrainingDisplay, result_lines

if TYPE_CHECKING:
    from ..runs import RunConfig, RunFolder

OF_THE_COMMAND = ("data_option", "config", "out", "resume", "overwrite", "quiet", "as_json")  # the other options are the run's settings

HELP = """Train an RBM; everything about the run is left in a folder.

Without arguments it trains on the embedded digits. Real numbers (--data-option grey=true, or real=true for a file) get a
Gaussian RBM. Stop it any time, and continue with --resume: it ends with the same parameters, bit for bit, as if it had never
been stopped.

Options of a file, each given as --data-option NAME=VALUE: split (shares of train, valid and test, such as 0.8,0.1,0.1), seed (of
the shuffle before the split), threshold (make rows binary by value > threshold), real (true keeps real numbers), labels (first or
last column, kept apart from the rows). Those of a data set: minprobflow datasets info NAME.

Examples:

  minprobflow train

  minprobflow train --data survey.csv --data-option threshold=0.5 --data-option labels=first

  minprobflow train --data mnist --rule fpmpf --k 10 --refresh 5 --hidden 200 --epochs 50 --batch-size 100 --out runs/mnist

  minprobflow train --data digits --data-option grey=true --hidden 64

  minprobflow train --config mnist.toml --seed 1 --out runs/mnist-1

  minprobflow train --resume --out runs/mnist
"""


def train(
    data: Annotated[str | None, typer.Option(help="a data set (see minprobflow datasets) or a file  [default: digits]")] = None,
    data_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="an option of the data, such as threshold=0.5 (see above); may be repeated"),
    ] = None,
    rule: Annotated[str | None, typer.Option(help="cd, pcd, mpf-1flip, fmpf, pmpf, fpmpf or exact  [default: pcd]")] = None,
    k: Annotated[int | None, typer.Option(help="Gibbs steps for each draw of particles  [default: 5]")] = None,
    refresh: Annotated[int | None, typer.Option(help="updates made with one draw of particles  [default: 1]")] = None,
    n_particles: Annotated[int | None, typer.Option(help="number of particles  [default: the batch size]")] = None,
    min_ess: Annotated[float | None, typer.Option(help="draw anew when fewer particles than this share are effective")] = None,
    o: Annotated[str | None, typer.Option(help="odd function of mpf-1flip: zero, sign or tanh")] = None,
    hidden: Annotated[int | None, typer.Option(help="hidden units  [default: 16]")] = None,
    tau: Annotated[float | None, typer.Option(help="temperature  [default: 1]")] = None,
    epochs: Annotated[int | None, typer.Option(help="times to go through the data  [default: 50]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="examples an update  [default: 50, or all if there are fewer]")] = None,
    optimizer: Annotated[str | None, typer.Option(help="sgd, momentum or adam  [default: sgd]")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="decays to zero over the run  [default: what suits the rule, 0.2 for pcd]")
    ] = None,
    centred: Annotated[bool | None, typer.Option(help="the centred gradient  [default: on, but for adam]")] = None,
    l1: Annotated[float | None, typer.Option(help="penalty on sum |W|")] = None,
    l2: Annotated[float | None, typer.Option(help="penalty on sum W^2")] = None,
    average: Annotated[str | None, typer.Option(help="decay of averaged parameters, such as 0.999, or polyak")] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="epochs between looks at the likelihood  [default: 1]")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="all random numbers follow from it  [default: 0]")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE.toml", help="settings by these names; flags win")] = None,
    out: Annotated[str | None, typer.Option(metavar="FOLDER", help="where the run goes  [default: runs/DATA-RULE-HIDDEN-SEED]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue the run in --out")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the run that is in --out")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress on standard error")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the summary as one JSON object")] = False,
) -> None:
    """Train an RBM."""
    flags = {name: value for name, value in locals().items() if name not in OF_THE_COMMAND}
    from ..runs import RunFolder, resolve, train_run
    from ..runs.config import given, resumed

    if average is not None and average != "polyak":
        flags["average"] = _number(average, "--average")
    if data_option:
        flags["data_options"] = dict(_option(text) for text in data_option)
    if resume and overwrite:
        raise InputError("--resume continues the run in --out, --overwrite replaces it: choose one")
    place = out or _default_place(resolve(config, flags))
    if resume:
        if not RunFolder(place).begun():
            raise InputError(f"there is no run to resume in {place}: name its folder with --out, or drop --resume to start it")
        settings = resumed(RunFolder(place).read_config(), given(config, flags), place)
    else:
        settings = resolve(config, flags)
    try:
        with TrainingDisplay(settings, quiet) as show:
            summary = train_run(settings, place, resume, show, overwrite)
    except (KeyboardInterrupt, OSError) as stop:
        stop.add_note(_how_to_continue(RunFolder(place), settings))
        raise
    if as_json:
        print(json.dumps(summary))
        return
    print("\n".join(result_lines(summary)))


def _default_place(settings: RunConfig) -> str:
    return f"runs/{settings.data.replace('/', '_')}-{settings.rule}-{settings.hidden}-{settings.seed}"


def _how_to_continue(folder: RunFolder, settings: RunConfig) -> str:
    import shlex

    if not folder.begun():
        return "stopped before the run was started: the same command starts it again"
    done = len(folder.read_metrics())
    where = f"stopped after epoch {done} of {settings.epochs}" if done else "stopped before the first epoch was finished"
    return f"{where}; continue with: minprobflow train --resume --out {shlex.quote(str(folder.path))}"


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--data-option {text}: write it as NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _number(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError as problem:
        raise InputError(f"{flag} {text}: expected a number") from problem
