"""Models by name, and how each is started from data: what `minprobflow train --model` and a run's configuration can name.

A subclass of `ModelSpec` with a `name`, here or in a file of a folder named in MINPROBFLOW_PLUGINS, adds one, with a flag for each
of its fields.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from . import models
from .arguments import number, whole
from .columns import Words, named
from .data import Dataset
from .errors import InputError
from .models.base import Model
from .plugins import discover
from .specs import Spec
from .units.columns import kinds_of_columns

Values = Literal["bits", "categories", "signs", "real"]
"""what the rows of a data set hold"""


@dataclass(frozen=True)
class ModelSpec(Spec):
    """Settings of a model that is started from data."""

    family: ClassVar[str] = "model"
    values: ClassVar[Values]
    """what its rows hold"""
    known: ClassVar[dict[str, type[ModelSpec]]] = {}

    tau: float = 1.0
    """temperature by which energies are divided"""

    @classmethod
    def specs(cls) -> dict[str, type[ModelSpec]]:
        """All known models by name."""
        discover(models)
        return dict(sorted(cls.known.items()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", number("tau", self.tau, above=0, hint="it is a temperature, by default 1"))
        for name in ("hidden", "n_values"):
            value = getattr(self, name, None)
            if value is not None or (name == "hidden" and hasattr(self, name)):
                object.__setattr__(self, name, whole(name, value, 1 if name == "hidden" else 2))

    @abstractmethod
    def build(self, seed: object, data: Dataset) -> Model:
        """The model to start from: small random weights, and what the single units of the training rows say."""


@dataclass(frozen=True)
class _Hidden(ModelSpec):
    hidden: int = 16
    """number of hidden units"""


@dataclass(frozen=True)
class _Categories(ModelSpec):
    n_values: int | None = None
    """values that a unit can have; by default those of the alphabet, or one more than the largest in the data"""

    def count(self, data: Dataset) -> int:
        """The number of values of a unit."""
        return self.n_values or n_values(data)


@dataclass(frozen=True)
class RBMSpec(_Hidden):
    """Bits."""

    name: ClassVar[str] = "rbm"
    values: ClassVar[Values] = "bits"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.BernoulliRBM.init(seed, data.train.shape[1], self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class GaussianRBMSpec(_Hidden):
    """Real numbers."""

    name: ClassVar[str] = "gaussian-rbm"
    values: ClassVar[Values] = "real"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.GaussianRBM.init(seed, data.train.shape[1], self.hidden, data.train, tau=self.tau)


@dataclass(frozen=True)
class CategoricalRBMSpec(_Hidden, _Categories):
    """Whole numbers, such as the letters of sequences."""

    name: ClassVar[str] = "categorical-rbm"
    values: ClassVar[Values] = "categories"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.CategoricalRBM.init(seed, data.train.shape[1], self.count(data), self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class SpinRBMSpec(_Hidden):
    """-1 and +1."""

    name: ClassVar[str] = "spin-rbm"
    values: ClassVar[Values] = "signs"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.SpinRBM.init(seed, data.train.shape[1], self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class MixedRBMSpec(_Hidden):
    """Columns of bits, spins, whole and real numbers side by side."""

    name: ClassVar[str] = "mixed-rbm"
    values: ClassVar[Values] = "real"

    def build(self, seed: object, data: Dataset) -> Model:
        rows = np.concatenate([data.train, data.valid, data.test])  # a rare category may not be in `train`
        columns = kinds_of_columns(rows, data.words)
        return models.MixedRBM.init(seed, columns, self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class IsingSpec(ModelSpec):
    """Bits, without hidden units."""

    name: ClassVar[str] = "ising"
    values: ClassVar[Values] = "bits"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.Ising.init(data.train.shape[1], data.train, self.tau)


@dataclass(frozen=True)
class PottsSpec(_Categories):
    """Whole numbers, without hidden units."""

    name: ClassVar[str] = "potts"
    values: ClassVar[Values] = "categories"

    def build(self, seed: object, data: Dataset) -> Model:
        return models.Potts.init(data.train.shape[1], self.count(data), data.train, self.tau)


def model_spec(name: str, **settings: object) -> ModelSpec:
    """The spec with this name and these settings.

    >>> model_spec("potts", tau=2.0)
    PottsSpec(tau=2.0, n_values=None)
    """
    return ModelSpec.find(name, settings, "RBMSpec(hidden=8)")


def chosen_for(data: Dataset) -> str:
    """The name of the model that suits what the rows hold."""
    if data.words is not None and (data.train.dtype.kind == "f" or max(map(len, data.words)) > 2):
        return MixedRBMSpec.name
    if data.train.dtype.kind == "f":
        return GaussianRBMSpec.name
    if data.train.dtype.kind == "i":
        return SpinRBMSpec.name
    return RBMSpec.name if n_values(data) == 2 and data.alphabet is None else CategoricalRBMSpec.name


def n_values(data: Dataset) -> int:
    """The number of values that a unit of countable values has in these data, at least two."""
    if data.alphabet is not None:
        return len(data.alphabet)
    return max(2, 1 + max(int(np.max(rows)) for rows in (data.train, data.valid, data.test) if len(rows)))


def completed(spec: ModelSpec, data: Dataset) -> ModelSpec:
    """The spec with the settings filled in that depend on the data; raises if the model has no values for the words in them."""
    if data.words is not None and not isinstance(spec, MixedRBMSpec):
        _check_words(spec, data, data.words)
    return dataclasses.replace(spec, n_values=spec.count(data)) if isinstance(spec, _Categories) else spec


def _check_words(spec: ModelSpec, data: Dataset, words: Words) -> None:
    """Refuse words as real numbers, and units that could have values without a word."""
    fits = {
        "bits": lambda known: len(known) <= 2,
        "categories": lambda known: len(known) == n_values(data),
        "signs": lambda known: not known,
        "real": lambda known: not known,
    }[spec.values]
    for column, known in enumerate(words):
        if not fits(known):
            held = f"the words {', '.join(known[:4])}{', ...' if len(known) > 4 else ''}" if known else "numbers"
            raise InputError(
                f"{data.name}: column {column}{named(column, data.columns)} holds {held}, which {spec.name} has no units for: "
                f"use {MixedRBMSpec.name}, which has columns of several kinds (on the command line: --model {MixedRBMSpec.name})"
            )
