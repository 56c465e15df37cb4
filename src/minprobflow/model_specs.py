"""Models by name, and how each is started from data: what `minprobflow train --model` and a run's configuration can name.

A subclass of `ModelSpec` with a `name`, here or in a file of a folder named in MINPROBFLOW_PLUGINS, adds one, with a flag for each
of its fields.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from . import models
from .arguments import number, whole
from .data import Dataset
from .errors import InputError
from .models.base import Model
from .plugins import discover
from .specs import check_settings, near

Values = Literal["bits", "categories", "real"]
"""what the rows of a data set hold"""


@dataclass(frozen=True)
class ModelSpec(ABC):
    """Settings of a model that is started from data."""

    name: ClassVar[str]
    values: ClassVar[Values]
    """what its rows hold"""
    known: ClassVar[dict[str, type[ModelSpec]]] = {}

    tau: float = 1.0
    """temperature by which energies are divided"""

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            ModelSpec.known[cls.name] = cls

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", number("tau", self.tau, above=0, hint="it is a temperature, by default 1"))
        for name in ("hidden", "n_values"):
            value = getattr(self, name, None)
            if value is not None or (name == "hidden" and hasattr(self, name)):
                object.__setattr__(self, name, whole(name, value, 1 if name == "hidden" else 2))

    @abstractmethod
    def build(self, seed: Any, data: Dataset) -> Model:
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

    def build(self, seed: Any, data: Dataset) -> Model:
        return models.RBM.init(seed, data.train.shape[1], self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class GaussianRBMSpec(_Hidden):
    """Real numbers."""

    name: ClassVar[str] = "gaussian-rbm"
    values: ClassVar[Values] = "real"

    def build(self, seed: Any, data: Dataset) -> Model:
        if self.tau != 1:
            raise InputError(f"tau={self.tau}, but {data.name} holds real numbers and their model has no temperature: leave tau out")
        return models.GaussianRBM.init(seed, data.train.shape[1], self.hidden, data.train)


@dataclass(frozen=True)
class CategoricalRBMSpec(_Hidden, _Categories):
    """Whole numbers, such as the letters of sequences."""

    name: ClassVar[str] = "categorical-rbm"
    values: ClassVar[Values] = "categories"

    def build(self, seed: Any, data: Dataset) -> Model:
        return models.CategoricalRBM.init(seed, data.train.shape[1], self.count(data), self.hidden, data.train, self.tau)


@dataclass(frozen=True)
class IsingSpec(ModelSpec):
    """Bits, without hidden units."""

    name: ClassVar[str] = "ising"
    values: ClassVar[Values] = "bits"

    def build(self, seed: Any, data: Dataset) -> Model:
        return models.Ising.init(data.train.shape[1], data.train, self.tau)


@dataclass(frozen=True)
class PottsSpec(_Categories):
    """Whole numbers, without hidden units."""

    name: ClassVar[str] = "potts"
    values: ClassVar[Values] = "categories"

    def build(self, seed: Any, data: Dataset) -> Model:
        return models.Potts.init(data.train.shape[1], self.count(data), data.train, self.tau)


def model_specs() -> dict[str, type[ModelSpec]]:
    """Every known spec by name."""
    discover(models)
    return dict(sorted(ModelSpec.known.items()))


def model_spec(name: str, **settings: Any) -> ModelSpec:
    """The spec with this name and these settings.

    >>> model_spec("potts", tau=2.0)
    PottsSpec(tau=2.0, n_values=None)
    """
    known = model_specs()
    if name not in known:
        raise InputError(f"unknown model {name!r}{near(str(name), known)}")
    check_settings(f"model {name!r}", known[name], settings, known)
    return known[name](**settings)


def chosen_for(data: Dataset) -> str:
    """The name of the model that suits what the rows hold."""
    if data.train.dtype.kind == "f":
        return GaussianRBMSpec.name
    return RBMSpec.name if n_values(data) == 2 and data.alphabet is None else CategoricalRBMSpec.name


def n_values(data: Dataset) -> int:
    """The number of values that a unit of countable values has in these data, at least two."""
    if data.alphabet is not None:
        return len(data.alphabet)
    return max(2, 1 + max(int(np.max(rows)) for rows in (data.train, data.valid, data.test) if len(rows)))


def completed(spec: ModelSpec, data: Dataset) -> ModelSpec:
    """The spec with the settings filled in that depend on the data."""
    return dataclasses.replace(spec, n_values=spec.count(data)) if isinstance(spec, _Categories) else spec
