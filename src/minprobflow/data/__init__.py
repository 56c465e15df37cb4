"""Data sets. Numpy only: nothing here knows about models."""

from ..columns import ColumnNames
from .base import Dataset, DatasetSpec, Labels, SourceFile, register
from .describe import describe
from .fasta import AMINO_ACIDS, Alignment, as_text, fasta_text, read_fasta
from .loader_options import Option
from .registry import datasets, load_dataset, options
from .reweighting import repeated, sequence_weights
from .rows import csv_text, read_rows

__all__ = [
    "AMINO_ACIDS",
    "Alignment",
    "ColumnNames",
    "Dataset",
    "DatasetSpec",
    "Labels",
    "Option",
    "SourceFile",
    "as_text",
    "csv_text",
    "datasets",
    "describe",
    "fasta_text",
    "load_dataset",
    "options",
    "read_fasta",
    "read_rows",
    "register",
    "repeated",
    "sequence_weights",
]
