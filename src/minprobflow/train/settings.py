"""All settings of a training run in one record: what is checked before any work, and what a resumed run must share."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import jax
import numpy as np
import optax

from ..errors import InputError
from ..models.base import Centrable, Model
from ..numerics import all_finite
from ..rules import RuleSpec
from .optimizer import OPTIMIZERS, Rate, build, decaying_rate


@dataclass(frozen=True)
class Settings:
    """See `fit` for their meaning."""

    rule: RuleSpec
    epochs: int
    batch_size: int
    optimizer: str | optax.GradientTransformation
    learning_rate: float | Callable[..., Any] | None
    centred: bool | None
    l1: float
    l2: float
    average: float | str | None
    seed: int
    seeds: int | None

    def checked(self, model: Model, rows: np.ndarray) -> Settings:
        """These settings with the defaults filled in; raises on what cannot work with this model and data."""
        for name in ("epochs", "batch_size", "seed", "seeds"):
            if not isinstance(getattr(self, name), int | np.integer | None):
                raise InputError(f"{name}={getattr(self, name)!r}: it must be a whole number")
        if self.epochs < 1:
            raise InputError(f"epochs={self.epochs}: train for at least one")
        if not 1 <= self.batch_size <= len(rows):
            raise InputError(f"batch_size={self.batch_size} does not fit {len(rows)} examples: choose one from 1 to {len(rows)}")
        if self.seeds is not None and self.seeds < 1:
            raise InputError(f"seeds={self.seeds}: train at least one replica")
        if not (0 <= self.l1 < math.inf and 0 <= self.l2 < math.inf):
            raise InputError(f"l1={self.l1}, l2={self.l2}: penalties must be finite and not negative")
        if not bool(all_finite(model)):
            raise InputError("the model to start from has non-finite parameters: start from a fresh or an earlier one")
        self.rule.check(model)
        return dataclasses.replace(self, learning_rate=self._rate(), centred=self._centred(model), average=self._average())

    def _rate(self) -> float | Callable[..., Any] | None:
        if not isinstance(self.optimizer, str):
            if self.learning_rate is not None:
                raise InputError("an optax optimiser brings its own learning rate: drop learning_rate=, or name the optimizer")
            return None
        if self.optimizer not in OPTIMIZERS:
            raise InputError(f"unknown optimizer {self.optimizer!r}: use one of {', '.join(OPTIMIZERS)}, or an optax optimiser")
        if self.learning_rate is None:
            return OPTIMIZERS[self.optimizer].scale * self.rule.default_rate
        number = isinstance(self.learning_rate, int | float | np.number)
        if not callable(self.learning_rate) and not (number and math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InputError(f"learning_rate={self.learning_rate}: it must be a positive finite number")
        return self.learning_rate

    def _centred(self, model: Model) -> bool:
        if self.centred and not isinstance(model, Centrable):
            raise InputError(f"{type(model).__name__} has no centred gradient: pass centred=False, or leave it out")
        if self.centred is None:
            return isinstance(model, Centrable) and self.optimizer != "adam"
        return self.centred

    def _average(self) -> float | None:
        if self.average is None or self.average == "polyak":
            return None if self.average is None else 1.0
        if isinstance(self.average, str) or not 0 < self.average <= 1:
            raise InputError(f'average={self.average!r}: give a decay between 0 and 1, or "polyak"')
        return float(self.average)

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The gradient transformation (after `checked`)."""
        return build(self.optimizer, cast(bool, self.centred), self.l1, self.l2)

    def rate(self, n_examples: int) -> Rate | None:
        """The learning rate as a function of the update's number; None where the optimiser brings its own."""
        total_steps = self.epochs * (n_examples // self.batch_size)
        return None if self.learning_rate is None else decaying_rate(self.learning_rate, total_steps)

    def record(self) -> dict[str, Any]:
        """What a resumed run must share, as plain values. The number of epochs may be raised."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "epochs"}
        plain["rule"] = {self.rule.name: {key: _plain(value) for key, value in dataclasses.asdict(self.rule).items()}}
        return {key: _plain(value) for key, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, jax.tree_util.Partial):  # a schedule with its numbers
        return f"{value.func.__name__.strip('_')}({', '.join(str(argument) for argument in value.args)})"
    return getattr(value, "__name__", type(value).__name__) if callable(value) or isinstance(value, tuple) else value
