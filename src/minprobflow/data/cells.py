"""From the cells of a file or a frame to numbers: the index left out, columns matched by name, missing values refused, words numbered."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..columns import PAIRS, Names, Table, Words, codes, named, vocabulary
from ..errors import InputError
from .loader_options import both_spellings, dropping

INDEX = re.compile(r"(Unnamed: \d+|__index_level_\d+__|)")  # how pandas names the index when it reads or writes one
NUMBERED = re.compile(r"(.*?)(\d+)(.*)")
SHOWN = 6  # columns or words that messages list


def without_index(table: Table, name: str) -> tuple[Table, list[str]]:
    """The table without a column that pandas or R wrote to number or name the rows, and a note if there was one."""
    names = table.names
    if names is None or len(names) < 2:
        return table, []
    place = next((c for c, text in enumerate(names) if text.startswith("__index_level_")), 0)
    others = [text for c, text in enumerate(names) if c != place]
    if not INDEX.fullmatch(names[place]) or not all(others):
        return table, []
    if place in table.words:
        values = [word for word in table.words[place] if word is not None]
        is_index = len(set(values)) == len(table.numbers)
    else:
        column = table.numbers[:, place]
        is_index = bool((column == np.floor(column)).all()) and len(np.unique(column)) == len(column)
        if not is_index and ((column == 0) | (column == 1)).all():
            return table, []
    if not is_index:
        raise InputError(
            f"{name}: column {place} has no name: if it numbers or names the rows, leave it out with {dropping(place, names)}; "
            "else give it a name"
        )
    kept = [column for column in range(len(names)) if column != place]
    return table.of_columns(kept), [f"column {place} has no name and numbers or names the rows: left out"]


def without(table: Table, drop: Sequence[str], name: str) -> Table:
    """The table without these columns, given by name or by number from 0."""
    names, left_out = table.names or (), set()
    for column in drop:
        if names.count(column) > 1:
            raise InputError(f"{name} has {names.count(column)} columns named {column!r}: say which to drop by number, counted from 0")
        if column in names:
            left_out.add(names.index(column))
        elif column.isdecimal() and int(column) < table.numbers.shape[1]:
            left_out.add(int(column))
        else:
            known = f"it has {listed(names)}" if names else f"it has columns 0 to {table.numbers.shape[1] - 1} and no header"
            raise InputError(f"{name} has no column {column[:40]!r} to drop: {known}")
    if len(left_out) == table.numbers.shape[1]:
        raise InputError(f"drop={list(drop)} leaves no column of {name}: keep at least one")
    return table.of_columns([column for column in range(table.numbers.shape[1]) if column not in left_out]) if left_out else table


def matched(table: Table, names: Names | None, name: str, whose: str, width: int) -> tuple[Table, list[str]]:
    """The columns of these names, in this order, and a note of those that are left out; names that are not there are an error."""
    if names is None or table.names is None or table.names == names:
        if table.numbers.shape[1] != width:
            raise InputError(f"{name} has {table.numbers.shape[1]} columns, but {whose} has {width}: give them the same columns")
        return table, []
    lacking, extra = [n for n in names if n not in table.names], [n for n in table.names if n not in names]
    if lacking:
        unknown = f", and has {listed(extra)}, which {whose} does not have" if extra else ""
        raise InputError(
            f"the columns of {name} are not those of {whose}: it lacks {listed(lacking)}{unknown}. Give each column the same name"
        )
    if len(set(names)) < len(names) or len(set(table.names)) < len(table.names):
        raise InputError(f"{name} and {whose} have columns in another order, and some of one name: give each column a name of its own")
    notes = [f"{name}: {listed(extra)} left out, which {whose} does not have"] if extra else []
    return table.of_columns([table.names.index(text) for text in names]), notes


def complete(table: Table, name: str, drop: bool, droppable: bool = True) -> tuple[Table, list[str]]:
    """The table if no value is missing, or without the rows that lack one, and a note of how many those are."""
    missing = table.missing().reshape(len(table.numbers), -1)
    if not missing.any():
        return table, []
    if droppable and len(table.numbers) > 1 and table.numbers.ndim == 2 and missing.all(0).any():
        empty = int(np.argmax(missing.all(0)))
        raise InputError(
            f"{name}: column {empty}{named(empty, table.names)} has no value in any row: leave it out with {dropping(empty, table.names)}"
        )
    rows, count = np.asarray(missing.any(1)), int(missing.sum())
    where = f"{int(rows.sum()):,} of {len(rows):,} rows"
    amount = f"{count:,} missing value{'' if count == 1 else 's'} ({_share(count / missing.size)})"
    if drop and not rows.all():
        return table.taken(~rows), [f"{name} has {amount}: {where} left out"]
    place = table.place(*map(int, np.argwhere(missing)[0]))
    by_column = missing.sum(0)
    worst = np.argsort(-by_column, kind="stable")[: min(3, int((by_column > 0).sum()))]
    columns = ", ".join(f"{c}{named(int(c), table.names)} {by_column[c]:,}" for c in worst)
    more = int((by_column > 0).sum()) - len(worst)
    spread = f", by column: {columns}{f' and {more} more' if more else ''}" if (by_column > 0).sum() > 1 else ""
    way = "" if rows.all() or not droppable else f" with {both_spellings('missing', 'drop')}"
    raise InputError(
        f"{name} has {amount} in {where}{spread}; the first {place}: drop those rows{way}, or fill them in, "
        "for example by a model of the complete rows with mpf.impute"
    )


def encoded(tables: Sequence[tuple[str, Table]]) -> tuple[list[np.ndarray], Words | None]:
    """The numbers of tables with the same columns, words numbered alike in all of them; and the words."""
    places = sorted({place for _, table in tables for place in table.words})
    if not places:
        return [table.numbers for _, table in tables], None
    names, width = tables[0][1].names, tables[0][1].numbers.shape[1]
    words: list[tuple[str, ...]] = [()] * width
    rows = [table.numbers.astype(np.float64) for _, table in tables]
    for place in places:
        column = f"column {place}{named(place, names)}"
        for name, table in tables:
            if place not in table.words and len(table.numbers):
                other = next(name for name, table in tables if place in table.words)
                raise InputError(f"{column} holds numbers in {name}, but words in {other}: write the same values in both")
        cells = [table.words[place] for _, table in tables if place in table.words]
        words[place] = vocabulary(np.concatenate(cells), f"{tables[0][0]}: {column}", f"leave it out with {dropping(place, names)}")
        for numbers, (_, table) in zip(rows, tables, strict=True):
            numbers[:, place] = codes(table.words[place], words[place])
    return rows, tuple(words)


def coded_like(table: Table, words: Words | None, name: str, whose: str) -> np.ndarray:
    """The numbers of a table, its words numbered as these are."""
    rows = table.numbers.astype(np.float64) if table.words or words else table.numbers
    for place in range(rows.shape[1] if rows.ndim == 2 else 0):
        known, column = words[place] if words else (), f"{name}: column {place}{named(place, table.names)}"
        pair = tuple(word.casefold() for word in known) in PAIRS
        if place in table.words:
            if not known:
                answers = next((p for p in PAIRS if {word.casefold() for word in table.words[place]} <= set(p)), None)
                if answers is None:
                    raise InputError(f"{column} holds words, but numbers in {whose}: write the same values")
                known = answers
            found = codes(table.words[place], known)
            if isinstance(found, str):
                raise InputError(f"{column} has {found[:40]!r}, but {whose} knows only {listed(known)}: use these words")
            rows[:, place] = found
        elif known and table.names is not None and not (pair and np.isin(rows[:, place], (0, 1)).all()):
            raise InputError(f"{column} holds numbers, but the words {listed(known)} in {whose}: write the same values")
    return rows


def are_numbered(names: Names) -> bool:
    """Whether names are one text with a counting number, such as pixel0, pixel1, ...: the columns of an image.

    >>> are_numbered(("pixel0", "pixel1")), are_numbered(("age", "sex"))
    (True, False)
    """
    parts = [NUMBERED.fullmatch(text) for text in names]
    numbers = [int(part[2]) for part in parts if part]
    return len(numbers) == len(names) and len({(part[1], part[3]) for part in parts if part}) == 1 and bool((np.diff(numbers) == 1).all())


def listed(names: Sequence[str]) -> str:
    """Names for a message, no more than a few.

    >>> listed(["age", "sex"])
    "'age', 'sex'"
    """
    return ", ".join(repr(text[:40]) for text in names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _share(part: float) -> str:
    return f"{part:.0%}" if part >= 0.1 else f"{100 * part:.2g}%"
