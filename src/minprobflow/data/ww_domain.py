"""The WW domain: an alignment of a small protein domain that binds proline-rich peptides; 31 columns, 21 values."""

from __future__ import annotations

import numpy as np

from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .fasta import AMINO_ACIDS, read_fasta
from .folder import locate

FILE = SourceFile("protein/WW_domain_MSA.fasta.gz", "b262492f807bddecbe4ce02f693114c1e1b9e1d7c0b2ecb1568c610e7a7cce37")


def load() -> Dataset:
    """The 7,503 distinct sequences, shuffled with a fixed seed: 6,003 / 750 / 750.

    Relatives are spread over the three parts: a test sequence may have a close one in `train`.
    """
    distinct = np.unique(read_fasta(locate(FILE)).rows, axis=0)
    order = np.random.default_rng(0).permutation(len(distinct))
    parts = [distinct[part] for part in np.split(order, [len(distinct) - 1500, len(distinct) - 750])]
    source = "the distinct sequences of jertubiana/PGM's data/WW/WW_domain_MSA.fasta; values are places in " + AMINO_ACIDS
    return in_three("ww-domain", parts, None, source, [FILE])


register(
    DatasetSpec("ww-domain", "aligned sequences of a protein domain; 21 values a column", (6_003, 750, 750), 31, (FILE,), load, n_values=21)
)
