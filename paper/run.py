"""A row of a table as a run of the library: its configuration, its looks at the validation split, and its evaluation."""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from minprobflow.data import Dataset
from minprobflow.models import RBM, BernoulliRBM
from minprobflow.models.base import Model
from minprobflow.runs import Run, evaluate, train_run
from minprobflow.train import Config

from .plan import Experiment, Row
from .records import Record

NOT_OF_A_RUN = ("plain", "early_stop", "search_seeds")  # settings that say how the others are meant


class Trained(NamedTuple):
    """A finished run, and which of its models is the row's."""

    run: Run
    model: Model
    epochs: int  # after which this model was there

    @property
    def seconds(self) -> float:
        """Processor seconds of all updates, over all threads: unlike wall time they hardly depend on the machine's other work."""
        return float(self.run.summary["cpu_seconds"])

    @property
    def curve(self) -> list[dict[str, float]]:
        """The looks at the validation split: epoch, seconds without compilation, score."""
        compiling, metrics = self.run.summary["compile_seconds"], self.run.metrics
        passed = itertools.accumulate(record["cpu_seconds"] for record in metrics)
        looks = [(record, seconds) for record, seconds in zip(metrics, passed, strict=True) if "valid" in record]
        return [{"epoch": look["epoch"], "seconds": round(seconds - compiling, 3), "valid": look["valid"]} for look, seconds in looks]

    @property
    def valid(self) -> float:
        """The validation score of this model."""
        return next(point["valid"] for point in self.curve if point["epoch"] == self.epochs)


def train(plan: Experiment, settings: dict[str, Any], seed: int, dataset: Dataset, looks: int = 1) -> Trained:
    """Train with these settings (`Row.resolved`), and look at the validation likelihood this many times, the last at the end.

    At a constant rate (plain descent, the paper's), or where `early_stop` is set, the length is chosen on the validation split: the
    model is that of the best look.
    """
    config = configured(plan, settings, seed, dataset, looks)
    start = partial(as_in_the_scripts, n_visible=dataset.train.shape[1], n_hidden=plan.hidden) if settings.get("plain") else None
    run = train_run(config, dataset=dataset, start=start)
    if stops_early(settings):
        return Trained(run, run.best, run.summary["best_epoch"])
    return Trained(run, run.last, config.epochs)


def configured(plan: Experiment, settings: dict[str, Any], seed: int, dataset: Dataset, looks: int = 1) -> Config:
    """The run that these settings of a row describe."""
    plain = settings.get("plain", False)
    own = {name: value for name, value in settings.items() if name not in NOT_OF_A_RUN}
    if own.get("refresh") == "epoch":
        own["refresh"] = len(dataset.train) // own["batch_size"]
    return Config.of(
        own,
        f"{plan.table} {plan.profile}",
        data=plan.data,
        model="rbm",
        hidden=plan.hidden,
        schedule="constant" if plain else "linear",
        centred=not plain,
        seed=seed,
        looks=max(looks, plan.looks) if stops_early(settings) and looks else looks,
        score="exact" if "exact" in plan.estimators else plan.score,
    )


def stops_early(settings: dict[str, Any]) -> bool:
    """Whether the model of a run is that of its best look at the validation split, instead of the last."""
    return bool(settings.get("early_stop", settings.get("plain", False)))


def as_in_the_scripts(key: Key[Array, ""], n_visible: int, n_hidden: int) -> RBM:
    """The start of the authors' scripts: weights uniform in +-4 sqrt(6 / (H + D)), biases zero."""
    bound = 4 * np.sqrt(6 / (n_hidden + n_visible))
    weights = jax.random.uniform(key, (n_visible, n_hidden), minval=-bound, maxval=bound)
    return BernoulliRBM(weights, jnp.zeros(n_visible), jnp.zeros(n_hidden))


def evaluated(plan: Experiment, row: Row, model: Model, dataset: Dataset, seed: int) -> Record:
    """The finished model on test and training data, by the table's estimators: the records of `runs.evaluate`, and seconds."""
    found: Record = {}
    for method in plan.estimators:
        begun, settings = time.perf_counter(), plan.ais_of(row) if method == "ais" else {}
        parts = {"test": dataset.test, "train": dataset.train}
        found[method] = dict(evaluate(model, parts, method, train=dataset.train, seed=seed, progress=False, **settings))
        found[method]["seconds"] = round(time.perf_counter() - begun, 1)
    return found
