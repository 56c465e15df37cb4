"""The validation score of a model while it is trained, and what it says about the run."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import choice
from ..data import Dataset
from ..enumeration import MAX_UNITS, is_enumerable, log_partition
from ..likelihood import independent_units
from ..likelihood import log_partition as estimate_log_partition
from ..likelihood.ais import forward
from ..likelihood.rows import free_energies
from ..likelihood.schedules import three_piece
from ..models.base import Model
from ..train import Config, run_settings
from ..train.tracking import FAR, TrackedPartition
from .folder import EpochRecord

BETAS, CHAINS, ROWS = 301, 50, 5000  # of a quick look
SAFE = {"chains": 100, "betas": 2000}  # of AIS in both directions
RISE = 0.01  # least share of the gain over independent units that counts as still rising


class Look(NamedTuple):
    """A look at the likelihood."""

    train: float
    valid: float
    stderr: float  # zero when exact
    method: str
    independent: float  # log-likelihood of the same validation rows under independent units
    verdict: str = "trusted"  # how far to trust it, as far as one can tell while training

    @property
    def gain(self) -> float:
        """What the model knows beyond the units' means, in nats per validation row."""
        return self.valid - self.independent

    def record(self) -> dict[str, float | str]:
        """What a run keeps of it."""
        return {"train": self.train, "valid": self.valid, "stderr": self.stderr, "method": self.method, "verdict": self.verdict}


_log_partition = jax.jit(log_partition)
_mean_free_energy = jax.jit(lambda model, rows: jnp.mean(model.free_energy(rows)))


class Validation:
    """Looks at models of one run, by one of the scores of `Config.score`. `independent` is the baseline, computed once.

    Forward AIS in a short run flatters models whose chains do not mix. The lower end of the interval ("interval") does not, but it
    heeds single reverse chains; the larger log Z of the two directions ("sides") is the steadier where those say much by chance.
    """

    def __init__(self, model: Model, dataset: Dataset, score: str = "auto") -> None:
        choice("score", score, run_settings()["score"].choices)
        valid = dataset.valid if len(dataset.valid) else dataset.train
        self._score, self._rows = score, dataset.train
        self._parts = [dataset.train[:ROWS], valid[:ROWS] if score in ("auto", "trajectory", "ais") else valid]
        self.independent = independent_units(model.space, dataset.train, self._parts[1])

    def __call__(self, model: Model, seed: int, followed: TrackedPartition | None = None) -> Look:
        """Mean log-likelihood of up to 5,000 training rows and of the validation rows.

        `followed` is what chains that followed the model say of its log Z.
        """
        if self._score in ("exact", "interval", "sides"):
            return self._safe(model)
        stderr, method, verdict = 0.0, "exact", "trusted"
        if self._score == "auto" and is_enumerable(model, MAX_UNITS):
            log_z = float(_log_partition(model))
        elif followed is not None and self._score in ("auto", "trajectory"):
            log_z, stderr, verdict, method = followed.value, followed.stderr, followed.verdict, "trajectory AIS, optimistic"
        else:
            mean = model.space.mean_features(self._rows)
            side = forward(jax.random.key(seed), model, model.base(jnp.asarray(mean, jnp.float32)), three_piece(BETAS), CHAINS)
            log_z, stderr, method = side.log_partition, side.mean.stderr, f"AIS, {BETAS} temperatures, optimistic"
            verdict = "wide" if stderr < FAR else "do not trust"  # one direction only, in a short run
        train, valid = (-float(_mean_free_energy(model, jnp.asarray(rows))) - log_z for rows in self._parts)
        return Look(train, valid, stderr, method, self.independent, verdict)

    def _safe(self, model: Model) -> Look:
        """In double precision; by AIS in both directions, on the safe side."""
        if self._score == "exact":
            found = estimate_log_partition(model, "exact", progress=False)
            log_z, method = found.value, "exact"
        else:
            found = estimate_log_partition(model, "ais", base_data=self._rows, progress=False, **SAFE)
            sides = found.value, found.settings["reverse"], *found.settings["forward_by_base"].values()
            log_z = {"interval": found.upper, "sides": max(sides)}[self._score]
            method = f"AIS both ways, {SAFE['betas']} temperatures, {self._score}"
        train, valid = (float(np.mean(-free_energies(model, rows))) - log_z for rows in self._parts)
        return Look(train, valid, found.stderr, method, self.independent, found.verdict)


def needs_chains(config: Config, model: Model) -> bool:
    """Whether a run with this configuration looks at the likelihood by chains that follow the model."""
    exact = config.score == "auto" and is_enumerable(model, MAX_UNITS)
    return config.score in ("auto", "trajectory") and not exact and bool(config.look_epochs())


def plateau(metrics: list[EpochRecord], patience: int) -> bool:
    """Whether the last `patience` looks have seen no rise above the best look before them, beyond the error of the difference.

    >>> looks = [{"epoch": n, "valid": value, "stderr": 0.1} for n, value in enumerate([-9.0, -8.0, -7.95, -7.9])]
    >>> plateau(looks, patience=2), plateau(looks, patience=3)
    (True, False)
    """
    seen = [record for record in metrics if "valid" in record]
    if len(seen) <= patience:
        return False
    best = max(seen[:-patience], key=lambda record: record["valid"])
    return all(record["valid"] - best["valid"] <= math.hypot(record["stderr"], best["stderr"]) for record in seen[-patience:])


def remarks(metrics: list[EpochRecord], independent: float) -> list[str]:
    """What a user should be told at the end of a run with these records; often nothing."""
    seen = [record for record in metrics if "valid" in record]
    if not seen:
        return []
    last, epochs = seen[-1], seen[-1]["epoch"]
    noise = 3 * last["stderr"]  # of a difference of two estimates, about two standard errors
    if last["valid"] + noise < independent:
        return [f"worse than independent units by {independent - last['valid']:.3g} nats: lower the learning rate"]
    half = next(record for record in reversed(seen) if record["epoch"] <= max(epochs / 2, seen[0]["epoch"]))
    rise = last["valid"] - half["valid"]
    if last is max(seen, key=lambda record: record["valid"]) and rise > noise + RISE * (last["valid"] - independent):
        longer = 2 * epochs
        return [
            f"still rising ({rise:.2g} nats since epoch {half['epoch']}): a run with --epochs {longer} will probably end higher. "
            f"--resume --epochs {longer} continues this one: the learning rate returns to half its initial value and decays to zero again"
        ]
    return []
