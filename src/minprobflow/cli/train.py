"""`minprobflow train`: a training run in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .flags import AsJson, DataOption, Groups, Quiet, data_options, grouped, with_settings

if TYPE_CHECKING:
    from ..data import Dataset
    from ..runs import RunFolder
    from ..runs.train import Summary
    from ..train import Config

HELP = """Train a model; everything about the run is left in a folder.

Without arguments it trains an RBM on the embedded digits. Without --model the model is chosen from the data: an RBM for bits, a
Gaussian RBM for real numbers (--data-option grey=true, or real=true for a file), a categorical RBM for sequences (FASTA) and other
whole numbers. Stop it any time, and continue with --resume: it ends with the same parameters, bit for bit, as if it had never been
stopped.

A file may be .csv or .tsv (with a header, an index, quotes, words such as yes and no), .parquet, .npy, .npz, .mat, IDX or FASTA.
Validation and test rows are split off, or come from files of their own (--valid, --test), or from the arrays train, valid and test
of one .npz file. What was understood is printed before training.

Options of a file, each given as --data-option NAME=VALUE: split (shares of train, valid and test, such as 0.8,0.1,0.1), seed
(of the shuffle before the split), drop (columns to leave out, by name), missing (drop leaves out rows that lack a value), threshold
(make rows binary by value > threshold), real (true keeps real numbers), whole (true keeps whole numbers), signs (true keeps -1
and +1), labels (first or last column, kept apart from the rows), alphabet (of sequences, the gap first). Those of a data set:
minprobflow datasets info NAME.

Examples:

  minprobflow train

  minprobflow train --data survey.csv --data-option drop=id --data-option missing=drop

  minprobflow train --data train.csv --valid valid.csv --test test.csv

  minprobflow train --data mnist --rule fpmpf --k 10 --refresh 5 --hidden 200 --epochs 50 --batch-size 100 --out runs/mnist

  minprobflow train --data digits --data-option grey=true --hidden 64

  minprobflow train --data family.fasta --model potts --out runs/family

  minprobflow train --config mnist.toml --seed 1 --out runs/mnist-1

  minprobflow train --resume --out runs/mnist
"""


def groups() -> Groups:
    """Every setting of a run, its rule and its model."""
    from ..model_specs import ModelSpec
    from ..rules import RuleSpec
    from ..samplers import KernelSpec
    from ..train import Config, run_settings

    known: dict[str, Mapping[str, type]] = {"rule": RuleSpec.specs(), "model": ModelSpec.specs()}
    names = {
        name: [run_settings()[name]._replace(help=f"{run_settings()[name].help} ({', '.join(specs)})")] for name, specs in known.items()
    }
    own = [name for name in run_settings() if name not in ("data", "data_options", "model", "rule")]
    return {
        "Data": grouped([Config], ["data"]),
        "Model": {"model": names["model"], **grouped(known["model"].values())},
        "Rule": {"rule": names["rule"], **grouped(known["rule"].values())},
        "Kernel": grouped(KernelSpec.specs().values()),
        "Training": grouped([Config], own),
    }


def train(
    settings: dict[str, object],
    data_option: DataOption = None,
    valid: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel="Data", help="rows for validation; by default a share of the data")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel="Data", help="rows for the test; by default a share of the data")
    ] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE.toml", help="settings by these names; flags win")] = None,
    out: Annotated[str | None, typer.Option(metavar="FOLDER", help="where the run is kept  [default: runs/DATA-RULE-MODEL-SEED]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue the run in --out")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the run that is in --out")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model."""
    from ..data import describe
    from ..runs import RunFolder, train_run
    from ..train import Config, TrainingProgress
    from ..train.config import stated

    options = {**data_options(data_option), **{k: v for k, v in (("valid", valid), ("test", test)) if v}}
    if options:
        settings = {**settings, "data_options": options}
    if resume and overwrite:
        raise InputError("--resume continues the run in --out, --overwrite replaces it: choose one")
    place = out or _default_place(Config.read(config, settings))
    folder = RunFolder(place)
    if resume:
        if not folder.begun():
            raise InputError(f"there is no run to resume in {place}: name its folder with --out, or drop --resume to start it")
        wanted = folder.read_config().resumed(stated(config, settings), place)
    else:
        wanted = Config.read(config, settings)

    def begun(resolved: Config, dataset: Dataset) -> None:
        if not quiet:
            first, *more = describe(dataset, resolved.model == "mixed-rbm")
            print("\n      ".join([f"data  {dataset.name}: {first}", *more]), file=sys.stderr)
            print(f"model {resolved.model}{'' if wanted.model else ', chosen from the data'}", file=sys.stderr, flush=True)

    progress = nullcontext() if quiet else TrainingProgress(wanted.epochs, wanted.rule_spec().informative(), wanted.look_epochs())
    try:
        with progress as show:
            run = train_run(wanted, place, resume=resume, overwrite=overwrite, show=show, begun=begun)
    except (KeyboardInterrupt, OSError) as stop:
        stop.add_note(_how_to_continue(folder, wanted))
        raise
    print(json.dumps(run.summary) if as_json else "\n".join(result_lines(run.summary)))


build = with_settings(train, HELP, groups)


def result_lines(summary: Summary) -> list[str]:
    """The end of a run in words, from its summary."""
    place, last = summary["run"], summary["last"]
    lines = [f"run       {place}"]
    if "valid" in last:
        gain = last["valid"] - summary["independent_units"]
        band = "" if last["stderr"] == 0 else f" +- {last['stderr']:.2f}"
        side = f"{abs(gain):.2f} {'above' if gain >= 0 else 'below'} independent units"
        doubt = "" if last.get("verdict", "trusted") == "trusted" else f"; {last['verdict']}"
        lines.append(f"valid     {last['valid']:.2f}{band} nats, {side} ({last['method']}{doubt})")
        lines.append(f"train     {last['train']:.2f} nats; best on validation at epoch {summary['best_epoch']} of {summary['epochs']}")
    lines.append(f"models    {place}/model.safetensors (last), {place}/best.safetensors (best on validation); {summary['model']}")
    return lines + [f"note      {remark}" for remark in summary["remarks"]]


def _default_place(config: Config) -> str:
    from ..model_specs import ModelSpec
    from ..specs import settings_of

    named = [config.model] if config.model else []
    spec = ModelSpec.specs()[config.model or "rbm"]
    hidden = [str(config.model_settings.get("hidden", known.default))] if (known := settings_of(spec).get("hidden")) else []
    return "runs/" + "-".join([config.data.replace("/", "_"), str(config.rule), *named, *hidden, str(config.seed)])


def _how_to_continue(folder: RunFolder, config: Config) -> str:
    import shlex

    if not folder.begun():
        return "stopped before the run was started: the same command starts it again"
    done = len(folder.read_metrics())
    where = f"stopped after epoch {done} of {config.epochs}" if done else "stopped before the first epoch was finished"
    return f"{where}; continue with: minprobflow train --resume --out {shlex.quote(str(folder.path))}"
