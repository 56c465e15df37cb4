"""A data set from the rows of a user's file or frame: bits, categories or real numbers, shuffled and split."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from ..columns import PAIRS, Names, Table, Words
from ..errors import InputError
from ..frames import is_frame, read_frame
from ..tables import refuse_first
from .advice import MOST, counts_up, index_column, why_not_binary
from .base import Dataset, in_three
from .cells import are_numbered, complete, encoded, matched, without, without_index
from .fasta import AMINO_ACIDS, is_fasta, read_fasta
from .files import PARTS, parts_in, read_cells, shown, text_path
from .loader_options import Seed, Source

INDEX_ROWS = 10  # with fewer rows, a column that counts up may be data


def from_file(
    source: object,
    split: tuple[float, float, float] = (0.8, 0.1, 0.1),
    seed: Seed = 0,
    threshold: float | None = None,
    real: bool = False,
    whole: bool = False,
    signs: bool = False,
    labels: Literal["first", "last"] | None = None,
    alphabet: str | None = None,
    drop: tuple[str, ...] = (),
    missing: Literal["drop"] | None = None,
    valid: Source = None,
    test: Source = None,
) -> Dataset:
    """Rows of a user's file or frame, shuffled with a seed and split.

    Args:
        split: the shares of train, valid and test, which add up to 1; parts with rows of their own (valid=, test=) take none.
        seed: of the shuffle before the split.
        threshold: make rows binary by value > threshold.
        real: keep rows as real numbers, for models with real visible units.
        whole: keep rows as whole numbers from 0, for models whose units have several values.
        signs: keep rows of -1 and +1, for models with spins.
        labels: that column holds class labels (or an index) and is kept apart from the rows.
        alphabet: letters of the sequences in a FASTA file, the gap first; by default the gap and the twenty amino acids.
        drop: columns to leave out, by name or by number from 0.
        missing: drop leaves out the rows that lack a value; by default they are refused.
        valid: rows for validation, with the same columns.
        test: rows for the test, with the same columns.
    """
    if min(split) < 0 or split[0] <= 0 or abs(sum(split) - 1) > 1e-6:
        raise InputError(f"split={split}: give the shares of train, valid and test, which add up to 1, for example (0.8, 0.1, 0.1)")
    letters = (alphabet or AMINO_ACIDS) if isinstance(source, str) and is_fasta(source) else None
    if letters is not None and (threshold is not None or labels is not None or real or drop):
        raise InputError(f"{source} holds sequences of letters: leave out threshold, real, labels and drop")
    if letters is None and alphabet is not None:
        raise InputError(f"{_called(source)} holds numbers, not sequences: leave out alphabet")
    tables: dict[str, Table] = {}
    classes: dict[str, Table] = {}
    notes: list[str] = []
    sources = _sources(source, {"valid": valid, "test": test})
    called = {part: _called(where) + (f" of {part}" if is_frame(where) and part != "train" else "") for part, where in sources.items()}
    for part, where in sources.items():
        table = Table(read_fasta(text_path(where), letters).rows) if letters else _cells(where)
        if table.numbers.ndim == 2:
            table = without(table, drop if part == "train" else [text for text in drop if text in (table.names or drop)], called[part])
            table, found = (table, []) if labels == "first" else without_index(table, called[part])  # it may be that column
            notes += found if part == "train" else []
        elif drop:
            raise InputError(f"{called[part]} holds images, not columns: leave out drop")
        if tables:
            table = _like(table, tables["train"], called[part], called["train"], labels, classes)
        table, found = complete(table, called[part], missing == "drop")
        notes += found
        if labels is not None:
            table, classes[part] = _labelled(table, labels, called[part])
        tables[part] = table
    numbers, words = encoded([(called[part], table) for part, table in tables.items()])
    names = tables["train"].names
    rows = dict(zip(tables, numbers, strict=True))
    if not letters:
        rows = {part: _rows(x.reshape(len(x), -1), called[part], names, words, threshold, real, whole, signs) for part, x in rows.items()}
    found_classes, class_words = _classes(list(classes.values()))
    notes += [f"labels: {_mapping(class_words)}"] if class_words else []
    notes += [f"{_title(place, names)}: {_mapping(known)}" for place, known in enumerate(words or ()) if known and not _is_answer(known)]
    parts, kept = _split(rows, dict(zip(classes, found_classes, strict=True)), split, seed, called["train"])
    picked = "" if len(sources) == 3 else f", split {tuple(split)} with seed {seed}"
    origin = ", ".join(called.values()) + picked + ("" if threshold is None else f", value > {threshold:g}")
    several = words is not None and max(map(len, words)) > 2
    shape = None if letters or whole or several else _image_shape(tables["train"])
    data = in_three(Path(_called(source)).name, parts, shape, origin, classes=kept)
    return data._replace(alphabet=letters, columns=names, words=words, notes=tuple(notes))


def _sources(source: object, others: dict[str, object]) -> dict[str, object]:
    """Where the rows of each part are: in one source, in several, or in the arrays of one .npz file."""
    sources = {"train": source, **{part: where for part, where in others.items() if where is not None}}
    inside = parts_in(source) if isinstance(source, str) else []
    for part in inside[1:]:
        if part in sources:
            raise InputError(f"{source} has an array {part!r} of its own: leave out {part}=, or name one array, as in {source}:train")
    sources |= {part: f"{source}:{part}" for part in inside}
    return {part: sources[part] for part in PARTS if part in sources}


def _called(source: object) -> str:
    return f"the {type(source).__module__.partition('.')[0]} frame" if is_frame(source) else shown(text_path(source))


def _cells(source: object) -> Table:
    return read_frame(source, _called(source)) if is_frame(source) else read_cells(text_path(source))


def _like(table: Table, first: Table, name: str, whose: str, labels: str | None, classes: dict[str, Table]) -> Table:
    """The table with the columns of the training rows, in their order."""
    names = first.names
    if labels is not None and names is not None:
        own = classes["train"].names or ("",)
        names = (*own, *names) if labels == "first" else (*names, *own)
    if table.numbers.ndim != 2 or first.numbers.ndim != 2:
        if table.numbers.shape[1:] != first.numbers.shape[1:]:
            raise InputError(f"{name} has shape {table.numbers.shape}, but {whose} {first.numbers.shape}: give them the same columns")
        return table
    table, left_out = matched(table, names, name, whose, first.numbers.shape[1] + (labels is not None))
    if left_out:
        raise InputError(f"{left_out[0].replace(' left out', ' is there')}: give both the same columns, or leave it out with drop")
    return table


def _labelled(table: Table, labels: str, name: str) -> tuple[Table, Table]:
    """A table without its label column, and that column."""
    width = table.numbers.shape[1]
    if table.numbers.ndim != 2 or width < 2:
        raise InputError(f"{name} has shape {table.numbers.shape}: there is no column to take for labels")
    places = list(range(width))
    place = places.pop(0 if labels == "first" else -1)
    own = table.of_columns([place])
    column = own.numbers[:, 0]
    if not (np.isfinite(column) & (np.abs(column) < 2.0**53) & (column == np.floor(column))).all():
        raise InputError(f"the {labels} column of {name} does not hold whole numbers or words: it cannot be labels")
    return table.of_columns(places), own


def _classes(columns: list[Table]) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Labels as whole numbers; words are numbered alike in all parts."""
    if not any(table.words for table in columns):
        return [table.numbers[:, 0].astype(np.int64) for table in columns], ()
    if not all(table.words for table in columns):
        raise InputError("labels are words in some of train, valid and test, and numbers in others: write the same in all")
    cells = [table.words[0] for table in columns]
    known = sorted(set(np.concatenate(cells)))
    return [np.searchsorted(known, column.astype(str)).astype(np.int64) for column in cells], tuple(known)


def _split(
    rows: dict[str, np.ndarray], classes: dict[str, np.ndarray], split: tuple[float, float, float], seed: int, name: str
) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """The three parts: those that have rows of their own, and shares of the training rows for the others."""
    n = len(rows["train"])
    shares = np.asarray([0.0 if part != "train" and part in rows else share for part, share in zip(PARTS, split, strict=True)])
    order = np.random.default_rng(seed).permutation(n)
    bounds = np.round(np.cumsum(shares / shares.sum())[:2] * n).astype(int)
    places = dict(zip(PARTS, np.split(order, bounds), strict=True))
    if len(places["train"]) == 0:
        raise InputError(f"split={split} leaves none of the {n} rows of {name} for training: raise its first share")

    def of(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [columns[part] if part != "train" and part in rows else columns["train"][places[part]] for part in PARTS]

    return of(rows), of(classes) if classes else None


def _image_shape(table: Table) -> tuple[int, int] | None:
    """The shape of images. Columns with names are not pixels, unless the names are numbered."""
    if table.numbers.ndim == 3:
        return (table.numbers.shape[1], table.numbers.shape[2])
    width = int(np.prod(table.numbers.shape[1:]))
    side = int(np.sqrt(width))
    named_otherwise = bool(table.words) or (table.names is not None and not are_numbered(table.names))
    return (side, side) if side * side == width and not named_otherwise else None


def _title(place: int, names: Names | None) -> str:
    return (names[place] if names else "") or f"column {place}"


def _mapping(words: tuple[str, ...]) -> str:
    return ", ".join(f"{word} = {place}" for place, word in enumerate(words))


def _is_answer(words: tuple[str, ...]) -> bool:
    return tuple(map(str.casefold, words)) in PAIRS


def _rows(
    table: np.ndarray,
    name: str,
    columns: Names | None,
    words: Words | None,
    threshold: float | None,
    real: bool,
    whole: bool,
    signs: bool,
) -> np.ndarray:
    """The table as bits, signs, whole or real numbers. A value that is not a number never becomes one."""
    is_word = np.asarray([bool(known) for known in words or [()] * table.shape[1]])
    if real and threshold is None:
        with np.errstate(over="ignore"):
            rows = table.astype(np.float32)
        why = ", which single precision does not hold: drop that row, or scale the column"
        refuse_first(~np.isfinite(rows), table, name, why, columns)
        return rows
    if table.dtype.kind == "f":
        refuse_first(~np.isfinite(table), table, name, ", which is not a finite number: drop that row", columns)
    if threshold is not None:
        if len(table) >= INDEX_ROWS and (counting := counts_up(table) & ~is_word).any():
            raise InputError(f"{name}: {index_column(table, int(np.argmax(counting)), columns)}")
        if several := [place for place, known in enumerate(words or ()) if len(known) > 2]:
            raise InputError(
                f"{name}: {_title(several[0], columns)} has several words, which no threshold makes bits: leave out threshold, or drop it"
            )
        return np.where(is_word, table, table > threshold).astype(np.float32 if real else np.uint8)
    if whole:
        why = f", expected whole numbers from 0 to {MOST}: number the values of each column from 0"
        refuse_first((table < 0) | (table > MOST) | (table != np.floor(table)), table, name, why, columns)
        return table.astype(np.uint8)
    if signs:
        if is_word.any():
            raise InputError(f"{name}: {_title(int(np.argmax(is_word)), columns)} holds words, not -1 and 1: leave out signs")
        refuse_first((table != -1) & (table != 1), table, name, ", expected -1 or 1", columns)
        return table.astype(np.int8)
    wrong = (table != 0) & (table != 1) & ~is_word
    if wrong.any():
        raise InputError(f"{name} is not binary: {why_not_binary(table, wrong, columns)}")
    return table.astype(np.uint8)
