"""Alignments of sequences in FASTA format, as rows of whole numbers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from ..errors import InputError

AMINO_ACIDS = "-ACDEFGHIKLMNPQRSTVWY"
"""the gap, then the twenty amino acids by their letter: a residue's value is its place here"""
UNKNOWN = "BJOUXZ*"  # ambiguous or rare residues


class Alignment(NamedTuple):
    """Sequences of equal length. `alphabet[value]` is the letter of a value."""

    names: list[str]
    rows: UInt8[np.ndarray, "n D"]
    alphabet: str

    def text(self) -> list[str]:
        """The sequences as letters."""
        return as_text(self.rows, self.alphabet)


def read_fasta(path: str | Path, alphabet: str = AMINO_ACIDS) -> Alignment:
    """Read an alignment, plain or gzipped.

    The first letter of the alphabet is the gap. Letters for unknown residues are read as gaps. Lower-case letters and dots are
    insertions of the A2M format, which belong to no column, and are left out.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}: check the path")
    content = file.read_bytes()
    try:
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("ascii")
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise InputError(f"{path} cannot be read ({problem}): is it a whole FASTA file, plain or gzipped?") from problem
    return parse_fasta(text, str(path), alphabet)


def parse_fasta(text: str, name: str = "alignment", alphabet: str = AMINO_ACIDS) -> Alignment:
    """An alignment from the text of a FASTA file.

    >>> parse_fasta(">one\\nAC-\\n>two\\nA\\nDC").rows.tolist()
    [[1, 2, 0], [1, 3, 2]]
    """
    names: list[str] = []
    sequences: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(">"):
            names.append(line.lstrip(">").strip())
            sequences.append([])
        elif line.strip():
            if not sequences:
                raise InputError(f"{name}, line {number}: a sequence before the first name: FASTA names start with >")
            sequences[-1].append(line.strip())
    if not sequences:
        raise InputError(f"{name} holds no sequence: FASTA files have a line that starts with > before each")
    values = np.full(256, 255, np.uint8)
    values[[ord(letter) for letter in UNKNOWN if letter not in alphabet]] = 0
    values[[ord(letter) for letter in alphabet]] = np.arange(len(alphabet))
    rows: list[np.ndarray] = []
    for title, parts in zip(names, sequences, strict=True):
        columns = "".join(letter for letter in "".join(parts) if not (letter.islower() or letter == "."))
        row = values[np.frombuffer(columns.encode("ascii"), np.uint8)]
        if (row == 255).any():
            raise InputError(
                f"{name}: {title or 'a sequence'} has the letter {columns[int(np.argmax(row == 255))]!r}, not one of {alphabet}"
            )
        if rows and len(row) != len(rows[0]):
            raise InputError(
                f"{name}: {title or 'a sequence'} has {len(row)} columns, the first has {len(rows[0])}: align the sequences first"
            )
        rows.append(row)
    return Alignment(names, np.stack(rows), alphabet)


def as_text(rows: UInt8[np.ndarray, "n D"], alphabet: str = AMINO_ACIDS) -> list[str]:
    """Rows of values as sequences of letters.

    >>> as_text(np.asarray([[1, 2, 0]], np.uint8))
    ['AC-']
    """
    letters = np.asarray(list(alphabet))
    return ["".join(row) for row in letters[rows]]
