"""Alignments of sequences in FASTA format, as rows of whole numbers."""

from __future__ import annotations

import os
import string
from typing import NamedTuple

import numpy as np
from jaxtyping import Num, UInt8

from ..arguments import shown
from ..errors import InputError
from ..tables import table, within_memory
from .files import existing
from .limits import gunzip

AMINO_ACIDS = "-ACDEFGHIKLMNPQRSTVWY"
"""the gap, then the twenty amino acids by their letter: a residue's value is its place here"""
UNKNOWN = "BJOUXZ*"  # ambiguous or rare residues
INSERTIONS = frozenset(string.ascii_lowercase + ".")
SUFFIXES = (".fasta", ".fa", ".faa", ".fas", ".afa", ".a2m")
OTHER = 255  # the value of what is no letter of the alphabet


class Alignment(NamedTuple):
    """Sequences of equal length. `alphabet[value]` is the letter of a value."""

    names: list[str]
    rows: UInt8[np.ndarray, "n D"]
    alphabet: str

    def text(self) -> list[str]:
        """The sequences as letters."""
        return as_text(self.rows, self.alphabet)


def is_fasta(name: str) -> bool:
    """Whether a file's name is that of an alignment, plain or gzipped.

    >>> is_fasta("family.fasta.gz"), is_fasta("rows.csv")
    (True, False)
    """
    return name.lower().removesuffix(".gz").endswith(SUFFIXES)


def fasta_text(rows: Num[np.ndarray, "n D"], alphabet: str = AMINO_ACIDS) -> str:
    """Rows of values as the text of a FASTA file.

    >>> print(fasta_text(np.asarray([[1, 2, 0]], np.uint8)), end="")
    >sample1
    AC-
    """
    return "".join(f">sample{number}\n{letters}\n" for number, letters in enumerate(as_text(rows, alphabet), 1))


def read_fasta(path: str | os.PathLike[str], alphabet: str = AMINO_ACIDS) -> Alignment:
    """Read an alignment, plain or gzipped.

    The first letter of the alphabet is the gap. Letters for unknown residues are read as gaps. Lower-case letters and dots are
    insertions of the A2M format, which belong to no column, and are left out.
    """
    file = existing(path)
    try:
        with within_memory(str(path), "use a machine with more memory, or a file with fewer sequences"):
            content = file.read_bytes()
            text = (gunzip(content, str(path)) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")
            return parse_fasta(text, str(path), alphabet)
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{path} cannot be read ({problem}): is it a whole FASTA file, plain or gzipped?") from problem


def parse_fasta(text: str, name: str = "alignment", alphabet: str = AMINO_ACIDS) -> Alignment:
    """An alignment from the text of a FASTA file.

    >>> parse_fasta(">one\\nAC-\\n>two\\nA\\nDC").rows.tolist()
    [[1, 2, 0], [1, 3, 2]]
    """
    if not isinstance(text, str):
        raise InputError(f"{name} is {type(text).__name__}, not text: pass the content of a FASTA file, or its path to read_fasta")
    values = _values(alphabet)
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
    rows: list[np.ndarray] = []
    for title, parts in zip(names, sequences, strict=True):
        columns = "".join(letter for letter in "".join(parts) if letter not in INSERTIONS)
        codes = np.frombuffer(columns.encode("utf-32-le", "surrogatepass"), "<u4")
        row = values[np.minimum(codes, OTHER)]
        if (row == OTHER).any():
            wrong = columns[int(np.argmax(row == OTHER))]
            raise InputError(f"{name}: {title or 'a sequence'} has the letter {wrong!r}, not one of {alphabet}")
        if rows and len(row) != len(rows[0]):
            raise InputError(
                f"{name}: {title or 'a sequence'} has {len(row)} columns, the first has {len(rows[0])}: align the sequences first"
            )
        rows.append(row)
    if rows[0].size == 0:
        raise InputError(f"{name} has no columns: lower-case letters and dots are insertions and left out, so write residues in capitals")
    return Alignment(names, np.stack(rows), alphabet)


def as_text(rows: Num[np.ndarray, "n D"], alphabet: str = AMINO_ACIDS) -> list[str]:
    """Rows of values as sequences of letters.

    >>> as_text(np.asarray([[1, 2, 0]], np.uint8))
    ['AC-']
    """
    _values(alphabet)
    values = table(rows, "rows", "whole numbers from 0")
    if not ((values >= 0) & (values < len(alphabet)) & (values == np.floor(values))).all():
        raise InputError(f"rows hold values that are not places in the alphabet: they go from 0 to {len(alphabet) - 1}")
    letters = np.asarray(list(alphabet))
    return ["".join(row) for row in letters[values.astype(np.intp)]]


def _values(alphabet: object) -> UInt8[np.ndarray, " 256"]:
    """The value of each letter by its code; `OTHER` for what is not in the alphabet."""
    if not isinstance(alphabet, str) or not 2 <= len(alphabet) < OTHER:
        size = f"of length {len(alphabet)}" if isinstance(alphabet, str) else shown(alphabet)
        raise InputError(f"the alphabet is {size}: give text of 2 to {OTHER - 1} letters, the gap first, such as '-ACGT'")
    for letter in alphabet:
        if alphabet.count(letter) > 1:
            raise InputError(f"the alphabet has {letter!r} twice: give each letter once")
        if not letter.isascii() or not letter.isprintable() or letter.islower() or letter in " .>":
            raise InputError(f"the alphabet has {letter!r}: use capitals and ASCII signs, since lower-case letters and dots are insertions")
    values = np.full(OTHER + 1, OTHER, np.uint8)
    values[[ord(letter) for letter in UNKNOWN if letter not in alphabet]] = 0
    values[[ord(letter) for letter in alphabet]] = np.arange(len(alphabet))
    return values
