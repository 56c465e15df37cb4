"""One training run of a row, and what it is judged by."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from minprobflow.data import Dataset
from minprobflow.likelihood import Estimate, from_log_partition, log_likelihood, log_partition
from minprobflow.models import RBM
from minprobflow.models.base import Model
from minprobflow.train import Epoch, constant_rate, fit

from .plan import Experiment, Row

RULE_SETTINGS = ("k", "refresh", "n_particles", "min_ess", "log")
VALIDATION: dict[str, Any] = {"chains": 100, "betas": 2000}  # of AIS while a run goes on


class Trained(NamedTuple):
    """A trained model, the seconds its updates took, and its validation likelihood on the way.

    Seconds are the processor's, over all threads: unlike those on the wall they hardly depend on what else the machine does.
    """

    model: Model
    epochs: int  # after which this model was there
    seconds: float  # of the whole run
    compile_seconds: float
    wall_seconds: float
    curve: list[dict[str, float]]

    @property
    def valid(self) -> float:
        """The validation likelihood of this model."""
        return next(point["valid"] for point in self.curve if point["epoch"] == self.epochs)


def train(
    experiment: Experiment,
    settings: dict[str, Any],
    seed: int,
    dataset: Dataset,
    looks: int = 1,
) -> Trained:
    """Train with these settings (`Row.resolved`), and look at the validation likelihood this many times, the last at the end.

    At a constant rate (plain descent, the paper's), or where `early_stop` is set, the length is chosen on the validation split: the
    model is that of the best look.
    """
    plain, epochs, early_stop = settings.get("plain", False), settings["epochs"], stops_early(settings)
    rate = settings["learning_rate"]
    updates = len(dataset.train) // settings["batch_size"]
    rule_settings: dict[str, Any] = {name: settings[name] for name in RULE_SETTINGS if name in settings}
    if rule_settings.get("refresh") == "epoch":
        rule_settings["refresh"] = updates
    curve: list[dict[str, float]] = []
    each: list[float] = []
    mark = time.process_time()
    looks = max(looks, experiment.looks) if early_stop and looks else looks
    looked_at = set(np.linspace(0, epochs, min(looks, epochs) + 1).round().astype(int).tolist()) if looks else set()
    best: tuple[float, int, Model] | None = None

    def after(epoch: Epoch) -> None:
        nonlocal mark, best
        each.append(time.process_time() - mark)
        if epoch.number in looked_at:
            score = validation_score(experiment, epoch.model, dataset)
            curve.append({"epoch": epoch.number, "seconds": sum(each), "valid": score})
            if early_stop and (best is None or score > best[0]):
                best = score, epoch.number, epoch.model
        mark = time.process_time()

    def start(key: Key[Array, ""]) -> RBM:
        shape = dataset.train.shape[1], experiment.hidden
        return as_in_the_scripts(key, *shape) if plain else RBM.init(key, *shape, data=dataset.train)

    done = fit(
        start,
        dataset.train,
        settings["rule"],
        epochs=epochs,
        batch_size=settings["batch_size"],
        learning_rate=constant_rate(rate) if plain else rate,
        centred=not plain,
        l2=settings.get("l2", 0.0),
        average=settings.get("average"),
        seed=seed,
        callbacks=[after],
        progress=False,
        **rule_settings,
    )
    compiling = max(each[0] - float(np.median(each[1:] or each)), 0.0)
    for point in curve:
        point["seconds"] = round(point["seconds"] - compiling, 3)
    wall = sum(record["seconds"] for record in done.history)
    _, stopped, model = best or (None, epochs, done.model)
    return Trained(model, stopped, sum(each) - compiling, compiling, wall, curve)


def stops_early(settings: dict[str, Any]) -> bool:
    """Whether the model of a run is that of its best look at the validation split, instead of the last."""
    return bool(settings.get("early_stop", settings.get("plain", False)))


def as_in_the_scripts(key: Key[Array, ""], n_visible: int, n_hidden: int) -> RBM:
    """The start of the authors' scripts: weights uniform in +-4 sqrt(6 / (H + D)), biases zero."""
    bound = 4 * np.sqrt(6 / (n_hidden + n_visible))
    weights = jax.random.uniform(key, (n_visible, n_hidden), minval=-bound, maxval=bound)
    return RBM(weights, jnp.zeros(n_visible), jnp.zeros(n_hidden))


def validation_score(experiment: Experiment, model: Model, dataset: Dataset) -> float:
    """Log-likelihood on the validation split: exact, or by AIS on the safe side.

    Forward AIS in a short run flatters models whose chains do not mix. The lower end of the interval ("interval") does not, but it
    heeds single reverse chains; the larger log Z of the two directions ("sides") is the steadier where those say much by chance.
    """
    if "exact" in experiment.estimators:
        return log_likelihood(model, dataset.valid, "exact").value
    log_z = log_partition(model, "ais", base_data=dataset.train, **VALIDATION)
    sides = log_z.value, log_z.settings["reverse"], *log_z.settings["forward_by_base"].values()
    safe = {"interval": log_z.upper, "sides": max(sides)}[experiment.score]
    return from_log_partition(model, dataset.valid, dataclasses.replace(log_z, value=safe)).value


def judged(experiment: Experiment, row: Row, model: Model, dataset: Dataset, seed: int) -> dict[str, Any]:
    """The finished model on test and training data, by the table's estimators."""
    found: dict[str, Any] = {}
    for method in experiment.estimators:
        begun = time.perf_counter()
        if method == "csl":
            parts = {part: log_likelihood(model, getattr(dataset, part), "csl", seed=seed) for part in ("test", "train")}
        else:
            extra: dict[str, Any] = experiment.ais_of(row) if method == "ais" else {}
            log_z = log_partition(model, method, seed=seed, base_data=dataset.train, **extra)
            parts = {part: from_log_partition(model, getattr(dataset, part), log_z) for part in ("test", "train")}
        found[method] = {part: _record(estimate) for part, estimate in parts.items()}
        found[method] |= {"verdict": parts["test"].verdict, "warnings": list(parts["test"].warnings)}
        found[method]["settings"] = {
            name: value
            for name, value in parts["test"].settings.items()
            if name in ("chains", "betas", "gap", "forward_by_base", "samples", "burn_in", "thinning")
        }
        found[method]["seconds"] = round(time.perf_counter() - begun, 1)
    return found


def _record(estimate: Estimate) -> dict[str, float | None]:
    return {
        name: (float(value) if np.isfinite(value) else None) for name, value in estimate.record().items() if isinstance(value, int | float)
    }
