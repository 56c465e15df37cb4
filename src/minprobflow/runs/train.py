"""One training run in a folder, from nothing or from where it was stopped."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import jax
import numpy as np

from .. import pictures
from ..data import Dataset, load_dataset
from ..errors import InputError, ModelFileError
from ..files import write_atomically
from ..models import BernoulliRBM, GaussianRBM
from ..models import files as model_files
from ..models.base import Model
from ..records import write_record
from ..samplers import sample
from ..train import Epoch, fit
from ..train.settings import Settings
from ..versions import version
from .config import RunConfig
from .folder import RunFolder
from .monitor import Glance, Monitor, remarks

Show = Callable[[Epoch, Glance | None], Any]


def train_run(
    config: RunConfig, out: str | os.PathLike[str], resume: bool = False, show: Show | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Train as `config` says and leave everything in `out`; returns the summary.

    Whatever is wrong with the settings or the data is found before anything is written. `overwrite` replaces a run that is there.
    """
    folder = RunFolder(out)
    if folder.begun() and not (resume or overwrite):
        raise InputError(f"{folder.path} already holds a run: continue with --resume, replace it with --overwrite, or choose another --out")
    dataset = load_dataset(config.data, **config.data_options)
    model = _start(config, dataset)
    settings = _settings(config)
    Settings(config.rule_spec(), **settings, seeds=None).checked(model, model.space.check(dataset.train))
    with folder.locked():
        if overwrite:
            folder.clear()
        if not folder.begun():
            write_record(folder.config_file, dataclasses.asdict(config))
        write_record(folder.environment_file, environment(dataset))
        return _train(config, settings, folder, model, dataset, show)


def _settings(config: RunConfig) -> dict[str, Any]:
    """The settings that are `fit`'s."""
    names = ("epochs", "batch_size", "optimizer", "learning_rate", "centred", "l1", "l2", "average", "seed")
    return {name: getattr(config, name) for name in names}


def _start(config: RunConfig, dataset: Dataset) -> Model:
    """The model to start from: an RBM for bits, a Gaussian RBM for real numbers."""
    rows, seed = dataset.train, config.seed
    if rows.dtype.kind == "f":
        if config.tau != 1:
            raise InputError(f"tau={config.tau}, but {dataset.name} holds real numbers and their model has no temperature: leave tau out")
        model: Model = GaussianRBM.init(seed, rows.shape[1], config.hidden, rows)
    elif rows.max() > 1:
        raise InputError(
            f"{dataset.name} has units with the values 0 to {rows.max()}, and minprobflow train is for bits or real numbers: "
            "use mpf.Potts or mpf.CategoricalRBM in Python (docs/potts.md)"
        )
    else:
        model = BernoulliRBM.init(seed, rows.shape[1], config.hidden, rows, config.tau)
    config.rule_spec().check(model)
    return model


def _train(
    config: RunConfig, settings: dict[str, Any], folder: RunFolder, model: Model, dataset: Dataset, show: Show | None
) -> dict[str, Any]:
    best = _best_so_far(folder)
    begun = time.perf_counter()
    look_at = Monitor(model, dataset)
    provenance = {"data": dataset.source, "sha256": dataset.sha256, "rule": repr(config.rule_spec()), "seed": config.seed}

    def record(epoch: Epoch) -> None:
        nonlocal best
        look = None
        if epoch.number % config.evaluate_every == 0 or epoch.number == epoch.epochs:
            look = look_at(epoch.model, config.seed + epoch.number)
            if look.valid > best:
                best = look.valid
                model_files.save(epoch.model, folder.best, {**provenance, "epoch": epoch.number, "valid": best})
        metrics = {name: float(value) for name, value in epoch.metrics.items()}
        seen = {} if look is None else {"train": look.train, "valid": look.valid, "stderr": look.stderr, "method": look.method}
        folder.append_metrics({"epoch": epoch.number, **metrics, **seen, "seconds": epoch.seconds})
        if show:
            show(epoch, look)

    trained = fit(
        model,
        dataset.train,
        config.rule_spec(),
        **settings,
        checkpoint=folder.checkpoint,
        resume=True,
        callbacks=[record],
        progress=False,
    )
    model_files.save(trained.model, folder.final, {**provenance, "epoch": config.epochs})
    if not folder.best.exists():  # it was lost after the last epoch
        valid = look_at(trained.model, config.seed + config.epochs).valid
        model_files.save(trained.model, folder.best, {**provenance, "epoch": config.epochs, "valid": valid})
    _pictures(folder, trained.model, dataset)
    metrics = folder.read_metrics()
    lost = config.epochs - len(metrics)
    if lost > 0:
        warnings.warn(
            f"{folder.metrics_file} lacks the records of {lost} of {config.epochs} epochs, which were deleted or damaged: "
            "the models are whole, but a report will not show those epochs",
            stacklevel=3,
        )
    summary = {
        "run": str(folder.path),
        "epochs": config.epochs,
        "best_epoch": model_files.read_provenance(folder.best).get("epoch"),
        "last": metrics[-1] if metrics else {},
        "independent_units": look_at.independent,
        "remarks": remarks(metrics, look_at.independent),
        "seconds": time.perf_counter() - begun,
    }
    write_record(folder.summary_file, summary)
    return summary


def _best_so_far(folder: RunFolder) -> float:
    """The validation score of the best model, which its file holds. A damaged file is removed: the next evaluation replaces it."""
    if not folder.best.exists():
        return -math.inf
    try:
        kept = model_files.read_provenance(folder.best)
        model_files.load(folder.best)
    except ModelFileError as problem:
        folder.best.unlink()
        warnings.warn(f"{problem}. It is removed, and the best model from here on is kept instead", stacklevel=4)
        return -math.inf
    if isinstance(kept.get("valid"), float):
        return float(kept["valid"])
    return max((record["valid"] for record in folder.read_metrics() if "valid" in record), default=-math.inf)  # an older release's file


def _pictures(folder: RunFolder, model: Any, dataset: Dataset) -> None:
    if dataset.image_shape is None:
        return
    drawn = pictures.png(pictures.grid(sample(model, n=64, steps=1000), dataset.image_shape), "samples after 1,000 Gibbs steps from noise")
    filters = np.asarray(model.weights).T[:64]
    shown = pictures.png(pictures.grid(filters, dataset.image_shape), f"weights of {len(filters)} hidden units", signed=True)
    write_atomically(folder.path / "samples.png", drawn)
    write_atomically(folder.path / "filters.png", shown)


def environment(dataset: Dataset) -> dict[str, Any]:
    """What one needs to know to make sense of the run later."""
    packages = ("minprobflow", "jax", "jaxlib", "optax", "equinox", "numpy")
    return {
        "versions": {name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.processor(),
            "cores": os.cpu_count(),
            "jax": jax.default_backend(),
        },
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {"name": dataset.name, "source": dataset.source, "sha256": dataset.sha256},
    }
