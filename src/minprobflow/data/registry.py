"""Data sets by name: each is a module of this folder with a `load` function."""

from __future__ import annotations

import importlib

from ..errors import InputError
from .base import Dataset

DATASETS = {"digits": "digits", "mnist": "mnist"}


def load_dataset(name: str) -> Dataset:
    """Load a data set.

    >>> load_dataset("digits").train.shape
    (1200, 64)
    """
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}: the known ones are {', '.join(DATASETS)}")
    dataset: Dataset = importlib.import_module(f".{DATASETS[name]}", __package__).load()
    return dataset
