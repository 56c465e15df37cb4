"""One training run: validated, recorded, its best model kept; in a folder that it can be resumed from, or in memory."""

from __future__ import annotations

import dataclasses
import math
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypedDict, cast

import jax
import numpy as np

from .. import pictures
from ..arguments import flag, function, shown
from ..data import Dataset
from ..errors import InputError, ModelFileError
from ..files import write_atomically
from ..models import files as model_files
from ..models.base import Model, as_model
from ..random_bits import as_key
from ..records import write_record
from ..samplers import sample
from ..train import Config, Epoch, fit
from ..train.progress import Figure
from ..train.tracking import TrackedPartition
from ..train.watching import NAMES
from .diagnostics import filters
from .environment import environment
from .folder import EpochRecord, RunFolder
from .open import dataset_of
from .validation import Look, Validation, needs_chains, plateau, remarks

CHAINS = 200  # that track the likelihood

Show = Callable[[Epoch, Look | None], object]


class Summary(TypedDict):
    """What a finished run says of itself."""

    run: str | None
    model: str | None
    rule: str
    epochs: int
    best_epoch: int
    last: EpochRecord
    independent_units: float
    remarks: list[str]
    seconds: float
    cpu_seconds: float
    compile_seconds: float


class Run(NamedTuple):
    """A finished run."""

    config: Config
    """with every setting of rule and model stated"""
    last: Model
    best: Model
    """on validation; the last one where there was no look at the likelihood"""
    metrics: list[EpochRecord]
    """a record per epoch"""
    summary: Summary


def train_run(
    config: Config,
    out: str | os.PathLike[str] | None = None,
    *,
    dataset: Dataset | None = None,
    start: Callable[[jax.Array], Model] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    show: Show | None = None,
    begun: Callable[[Config, Dataset], object] | None = None,
) -> Run:
    """Train as `config` says, look at the validation likelihood on the way, and keep the best model.

    Whatever is wrong with the settings or the data is found before anything is written.

    Args:
        config: all settings.
        out: a folder that everything is left in and that the run can be resumed from; by default nothing is written.
        dataset: the data, if they are not those that `config` names.
        start: key -> the model to start from, if it is not the one that `config` names.
        resume: continue the run that is in `out`.
        overwrite: replace the run that is in `out`.
        show: called after each epoch with the `Epoch` and the `Look`, if there was one.
        begun: called before the first epoch with the configuration, every setting of rule and model stated, and the data.

    Returns:
        A `Run` with the last and the best model, a record per epoch and a summary.

    >>> run = train_run(Config.of(hidden=4, epochs=2))
    >>> [record["epoch"] for record in run.metrics], run.summary["model"]
    ([1, 2], 'rbm')
    """
    _check_types(config, dataset, start, show, begun)
    resume, overwrite = flag("resume", resume), flag("overwrite", overwrite)
    folder = None if out is None else RunFolder(out)
    if folder and folder.begun() and not (resume or overwrite):
        raise InputError(f"{folder.path} already holds a run: continue with --resume, replace it with --overwrite, or choose another --out")
    dataset = dataset_of(config) if dataset is None else dataset
    config = config.resolved(dataset)
    start = start or partial(config.model_spec(dataset).build, data=dataset)
    model = as_model(start(as_key(config.seed, "seed")), "start(key)")
    if config.likelihood_chains is None and needs_chains(config, model):
        config = dataclasses.replace(config, likelihood_chains=CHAINS)
    config.checked(model, model.space.check(dataset.train))
    begun = begun or (lambda config, dataset: None)
    if folder is None:
        begun(config, dataset)
        return _train(config, None, model, dataset, show)
    with folder.locked():
        if overwrite:
            folder.clear()
        if not folder.begun():
            folder.write_config(config)
        write_record(folder.environment_file, environment(dataset, config.model == "mixed-rbm"))
        begun(config, dataset)
        return _train(config, folder, model, dataset, show)


def _check_types(config: object, dataset: object, start: object, show: object, begun: object) -> None:
    if not isinstance(config, Config):
        raise InputError(f"config is {shown(config)}: pass a configuration such as mpf.Config.of(rule='pcd', hidden=16)")
    if not isinstance(dataset, Dataset | None):
        raise InputError(f"dataset is {shown(dataset)}: pass what mpf.load_dataset returned, or None for the data that config names")
    calls = (("start", start, "a key", 1), ("show", show, "an Epoch and a Look", 2), ("begun", begun, "a Config and a Dataset", 2))
    for name, value, takes, count in calls:
        if value is not None:
            function(name, value, takes, count)


def _train(config: Config, folder: RunFolder | None, model: Model, dataset: Dataset, show: Show | None) -> Run:
    best, best_model, best_epoch = _best_so_far(folder), None, 0
    looks, look_at = config.look_epochs(), Validation(model, dataset, config.score)
    provenance = {"data": dataset.source, "sha256": dataset.sha256, "rule": repr(config.rule_spec()), "seed": config.seed}
    kept: list[EpochRecord] = []
    kept_rungs: Figure | None = None
    begun, mark = time.perf_counter(), time.process_time()

    earlier = [] if folder is None else folder.read_metrics()  # of a run that is resumed

    def settled(metrics: list[EpochRecord]) -> bool:
        return config.stop_when == "plateau" and plateau(metrics, config.patience)

    def after(epoch: Epoch) -> bool:
        nonlocal best, best_model, best_epoch, mark, kept_rungs
        seconds = time.process_time() - mark
        look = look_at(epoch.model, config.seed + epoch.number, _followed(epoch)) if epoch.number in looks else None
        if look is not None and look.valid > best:
            best, best_model, best_epoch = look.valid, epoch.model, epoch.number
            if folder is not None:
                model_files.save(epoch.model, folder.best, {**provenance, "epoch": epoch.number, "valid": best}, dataset.column_names)
        rungs = epoch.metrics.get("rungs")
        if folder is not None and rungs is not None and rungs != kept_rungs and (found := epoch.trajectory) is not None:
            found.save(folder.trajectory)
            kept_rungs = rungs
        metrics = {name: float(value) for name, value in epoch.metrics.items()}
        seen = {} if look is None else look.record()
        record = {"epoch": epoch.number, **metrics, **seen, "seconds": epoch.seconds, "cpu_seconds": seconds}
        kept.append(cast(EpochRecord, record))
        if folder is not None:
            folder.append_metrics(kept[-1])
        if show:
            show(epoch, look)
        mark = time.process_time()
        return settled([*(record for record in earlier if record["epoch"] < kept[0]["epoch"]), *kept])

    checkpoint, resume = (None, False) if folder is None else (folder.checkpoint, True)
    if settled(earlier):  # it has come to its end already
        config = dataclasses.replace(config, epochs=earlier[-1]["epoch"])
    done = fit(model, dataset.train, **config.arguments(), checkpoint=checkpoint, resume=resume, callbacks=[after], progress=False)
    last = done.model
    if folder is not None and done.trajectory is not None:
        done.trajectory.save(folder.trajectory)
    compiling = _compile_seconds(kept)
    metrics = kept
    if kept and kept[-1]["epoch"] < config.epochs:  # it stopped early
        config = dataclasses.replace(config, epochs=kept[-1]["epoch"])
    if folder is not None:
        metrics, best_model, best_epoch = _close(folder, config, last, look_at, provenance, dataset)
    summary: Summary = {
        "run": None if folder is None else str(folder.path),
        "model": config.model,
        "rule": str(config.rule),
        "epochs": config.epochs,
        "best_epoch": best_epoch or config.epochs,
        "last": metrics[-1] if metrics else {},
        "independent_units": look_at.independent,
        "remarks": remarks(metrics, look_at.independent),
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": math.fsum(record["cpu_seconds"] for record in kept) - compiling,
        "compile_seconds": compiling,
    }
    if folder is not None:
        write_record(folder.summary_file, summary)
    return Run(config, last, best_model or last, metrics, summary)


def _followed(epoch: Epoch) -> TrackedPartition | None:
    return TrackedPartition(*(float(epoch.metrics[name]) for name in NAMES)) if NAMES[0] in epoch.metrics else None


def _compile_seconds(metrics: list[EpochRecord]) -> float:
    """What the first epoch of this sitting took longer than the others."""
    each = [record["cpu_seconds"] for record in metrics]
    return max(each[0] - float(np.median(each[1:] or each)), 0.0) if each else 0.0


def _close(
    folder: RunFolder, config: Config, last: Model, look_at: Validation, provenance: dict[str, object], dataset: Dataset
) -> tuple[list[EpochRecord], Model, int]:
    """Write what a finished run has: its last model, pictures; read back what it recorded over all sittings."""
    model_files.save(last, folder.final, {**provenance, "epoch": config.epochs}, dataset.column_names)
    if not folder.best.exists():  # it was lost after the last epoch, or there was no look
        valid = look_at(last, config.seed + config.epochs).valid
        model_files.save(last, folder.best, {**provenance, "epoch": config.epochs, "valid": valid}, dataset.column_names)
    _pictures(folder, last, dataset)
    metrics = folder.read_metrics()
    lost = config.epochs - len(metrics)
    if lost > 0:
        warnings.warn(
            f"{folder.metrics_file} lacks the records of {lost} of {config.epochs} epochs, which were deleted or damaged: "
            "the models are whole, but a report will not show those epochs",
            stacklevel=4,
        )
    return metrics, model_files.load(folder.best), model_files.read_provenance(folder.best).get("epoch", 0)


def _best_so_far(folder: RunFolder | None) -> float:
    """The validation score of the best model, which its file holds. A damaged file is removed: the next evaluation replaces it."""
    if folder is None:
        return -math.inf
    if not folder.best.exists():
        if any("valid" in record for record in folder.read_metrics()):
            warnings.warn(f"{folder.best} is missing: the best model from here on is kept instead", stacklevel=4)
        return -math.inf
    try:
        kept = model_files.read_provenance(folder.best)
        model_files.load(folder.best)
    except ModelFileError as problem:
        folder.best.unlink()
        warnings.warn(f"{problem}. It is removed, and the best model from here on is kept instead", stacklevel=4)
        return -math.inf
    return float(kept["valid"]) if isinstance(kept.get("valid"), float) else -math.inf


def _pictures(folder: RunFolder, model: Model, dataset: Dataset) -> None:
    if dataset.image_shape is None:
        return
    drawn = pictures.png(pictures.grid(sample(model, n=64, steps=1000), dataset.image_shape), "samples after 1,000 Gibbs steps from noise")
    write_atomically(folder.path / "samples.png", drawn)
    weights = filters(model)[:64]
    if len(weights):
        shown = pictures.png(pictures.grid(weights, dataset.image_shape), f"weights of {len(weights)} hidden units", signed=True)
        write_atomically(folder.path / "filters.png", shown)
