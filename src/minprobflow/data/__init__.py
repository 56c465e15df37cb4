"""Data sets. Numpy only: nothing here knows about models."""

from .base import Dataset, DatasetSpec, Labels, SourceFile, register
from .fasta import AMINO_ACIDS, Alignment, as_text, read_fasta
from .registry import datasets, load_dataset
from .reweighting import repeated, sequence_weights

__all__ = [
    "AMINO_ACIDS",
    "Alignment",
    "Dataset",
    "DatasetSpec",
    "Labels",
    "SourceFile",
    "as_text",
    "datasets",
    "load_dataset",
    "read_fasta",
    "register",
    "repeated",
    "sequence_weights",
]
