"""Data sets. Numpy only: nothing here knows about models."""

from .base import Dataset, DatasetSpec, Labels, SourceFile, register
from .fasta import AMINO_ACIDS, Alignment, as_text, fasta_text, read_fasta, read_rows
from .loader_options import Option
from .registry import datasets, load_dataset, options
from .reweighting import repeated, sequence_weights

__all__ = [
    "AMINO_ACIDS",
    "Alignment",
    "Dataset",
    "DatasetSpec",
    "Labels",
    "Option",
    "SourceFile",
    "as_text",
    "datasets",
    "fasta_text",
    "load_dataset",
    "options",
    "read_fasta",
    "read_rows",
    "register",
    "repeated",
    "sequence_weights",
]
