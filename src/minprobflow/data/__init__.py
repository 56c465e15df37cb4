"""Data sets. Numpy only: nothing here knows about models."""

from .base import Dataset
from .registry import load_dataset

__all__ = ["Dataset", "load_dataset"]
