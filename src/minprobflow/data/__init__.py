"""Data sets. Numpy only: nothing here knows about models."""

from .base import Dataset, DatasetSpec, Labels, SourceFile, register
from .registry import datasets, load_dataset

__all__ = ["Dataset", "DatasetSpec", "Labels", "SourceFile", "datasets", "load_dataset", "register"]
