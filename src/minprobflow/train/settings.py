"""All settings of a training run in one record: what is checked before any work, and what a resumed run must share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..arguments import choice, flag, number, whole
from ..errors import InputError
from ..models.base import Centrable, Model, as_model
from ..rules import RuleSpec
from . import defaults
from .optimizer import OPTIMIZERS, Rate, build, decaying_rate


@dataclass(frozen=True)
class Settings:
    """See `fit` for their meaning."""

    rule: RuleSpec
    epochs: int
    batch_size: int | None
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
        size = defaults.batch_size(len(rows)) if self.batch_size is None else self.batch_size
        plain: dict[str, Any] = {
            "epochs": whole("epochs", self.epochs, 1),
            "batch_size": whole("batch_size", size, 1, len(rows), hint=f"there are {len(rows)} examples"),
            "l1": number("l1", self.l1, 0, hint="it is the strength of a penalty"),
            "l2": number("l2", self.l2, 0, hint="it is the strength of a penalty"),
        }
        as_model(model, finite=True)
        self.rule.check(model)
        return dataclasses.replace(self, **plain, learning_rate=self._rate(), centred=self._centred(model), average=self._average())

    @property
    def examples(self) -> int:
        """An update's (after `checked`)."""
        return cast(int, self.batch_size)

    def _rate(self) -> float | Callable[..., Any] | None:
        if isinstance(self.optimizer, optax.GradientTransformation):
            if self.learning_rate is not None:
                raise InputError("an optax optimiser brings its own learning rate: drop learning_rate=, or name the optimizer")
            return None
        choice("optimizer", self.optimizer, OPTIMIZERS, hint=", or an optax optimiser")
        if self.learning_rate is None:
            return OPTIMIZERS[self.optimizer].rate(self.rule.default_rate)
        if not callable(self.learning_rate) or isinstance(self.learning_rate, type):
            return number("learning_rate", self.learning_rate, above=0, hint="or an optax schedule")
        try:
            rate = jax.eval_shape(self.learning_rate, jax.ShapeDtypeStruct((), jnp.result_type(int)))
            scalar = rate.shape == () and not jnp.issubdtype(rate.dtype, jnp.complexfloating)
        except Exception as problem:
            raise InputError(f"learning_rate(step) failed: {problem}. Pass a number, or an optax schedule") from problem
        if not scalar:
            raise InputError(f"learning_rate(step) returned shape {rate.shape}: it must return one number")
        return self.learning_rate

    def _centred(self, model: Model) -> bool:
        if self.centred is not None:
            flag("centred", self.centred)
        if self.centred and not isinstance(model, Centrable):
            raise InputError(f"{type(model).__name__} has no centred gradient: pass centred=False, or leave it out")
        if self.centred is None:
            return isinstance(model, Centrable) and self.optimizer != "adam"
        return bool(self.centred)

    def _average(self) -> float | None:
        if self.average is None or (isinstance(self.average, str) and self.average == "polyak"):
            return None if self.average is None else 1.0
        return number("average", self.average, high=1, above=0, hint='it is a decay such as 0.999, or "polyak"')

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The gradient transformation (after `checked`)."""
        return build(self.optimizer, cast(bool, self.centred), self.l1, self.l2)

    def rate(self, n_examples: int) -> Rate | None:
        """The learning rate as a function of the update's number; None where the optimiser brings its own."""
        total_steps = self.epochs * (n_examples // self.examples)
        return None if self.learning_rate is None else decaying_rate(self.learning_rate, total_steps)

    def record(self) -> dict[str, Any]:
        """What a resumed run must share, as plain values. The number of epochs may be raised."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "epochs"}
        plain["rule"] = {self.rule.name: {key: _plain(value) for key, value in self.rule.settings().items()}}
        return {key: _plain(value) for key, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, jax.tree_util.Partial):  # a schedule with its numbers
        return f"{value.func.__name__.strip('_')}({', '.join(str(argument) for argument in value.args)})"
    return getattr(value, "__name__", type(value).__name__) if callable(value) or isinstance(value, tuple) else value
