"""Tables of numbers in text files: separated by commas or spaces, or bits without separators."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..tables import MISSING_ROWS

COMMENT = "#"


def parse_text(content: bytes, name: str) -> np.ndarray:
    """One example per line. A line that starts with # is a comment; a # anywhere else is refused, since it would hide values.

    >>> parse_text(b"# two rows\\n0,1\\n1,1\\n", "rows.csv").tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    lines = _lines(content, name)
    if not lines:
        raise InputError(f"{name} is empty: it must hold one example per line")
    if all(set(line) <= {"0", "1"} for line in lines.values()) and len(next(iter(lines.values()))) > 1:
        if len({len(line) for line in lines.values()}) > 1:
            raise InputError(f"{name} has lines of different lengths: each must hold one example")
        return np.asarray([[int(bit) for bit in line] for line in lines.values()], np.uint8)
    delimiter = _delimiter(lines)
    try:
        return np.loadtxt(list(lines.values()), delimiter=delimiter, comments=None, ndmin=2)
    except ValueError as problem:
        reason = _reason(lines, delimiter) or str(problem).splitlines()[0].rstrip(".")
        raise InputError(f"{name} is not a table of numbers: {reason}") from problem


def _lines(content: bytes, name: str) -> dict[int, str]:
    """The lines that hold examples, by their number in the file."""
    text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    lines = {number: line.strip(" ") for number, line in enumerate(text.split("\n"), 1)}
    kept = {number: line for number, line in lines.items() if line.strip() and not line.lstrip().startswith(COMMENT)}
    for number, line in kept.items():
        if COMMENT in line:
            raise InputError(
                f"{name}, line {number} has a {COMMENT} after its first character: values after it would be lost, "
                f"so remove it, or put the comment on a line of its own that starts with {COMMENT}"
            )
    return kept


def _delimiter(lines: dict[int, str]) -> str | None:
    """A comma, or any white space (None); a tab where two in a row leave a cell empty, which white space would not show."""
    if any("," in line for line in lines.values()):
        return ","
    return "\t" if any("\t\t" in line or line.startswith("\t") for line in lines.values()) else None


def _reason(lines: dict[int, str], delimiter: str | None) -> str | None:
    """What is wrong with the lines: a header, missing cells, a cell that is not a number, lines of different lengths."""
    cells = {number: [cell.strip() for cell in line.split(delimiter)] for number, line in lines.items()}
    first, *rest = cells
    words = [cell for cell in cells[first] if cell and not _is_number(cell)]
    if words and (not rest or sum(not _is_number(cell) for cell in cells[rest[0]]) < len(words)):
        names = ", ".join(repr(word[:20]) for word in words[:3])
        return f"line {first} looks like a header ({names}): delete it, since every line must hold one example"
    empty = [(number, column) for number, row in cells.items() for column, cell in enumerate(row, 1) if not cell]
    if empty:
        number, column = empty[0]
        count = f"{len(empty):,} missing value{'s' if len(empty) > 1 else ''}"
        return f"{count} (empty cells), the first on line {number}, cell {column}: {MISSING_ROWS}"
    for number, row in cells.items():
        for column, cell in enumerate(row, 1):
            if not _is_number(cell):
                return f"line {number}, cell {column} is {cell[:40]!r}: write numbers only, separated by commas or spaces"
        if len(row) != len(cells[first]):
            return f"line {number} has {len(row)} values, but line {first} has {len(cells[first])}: each line must hold one example"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
