"""Tables of numbers in text files: separated by commas, semicolons or white space, or bits without separators; a header is skipped."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..tables import MISSING_ROWS, named

COMMENT = "#"
QUOTE = '"'
MISSING = frozenset(("na", "n/a", "nil", "none", "null"))  # a first line of these is an example without values, not a header


def parse_text(content: bytes, name: str) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """One example per line, and the names of the columns if the first line is a header: names, quoted or with a letter, and no number.

    A line that starts with # is a comment; a # anywhere else in an example is refused, since it would hide values.

    >>> rows, columns = parse_text(b"# two rows\\nage,owner\\n0,1\\n1,1\\n", "rows.csv")
    >>> rows.tolist(), columns
    ([[0.0, 1.0], [1.0, 1.0]], ('age', 'owner'))
    """
    lines = _lines(content)
    if not lines:
        raise InputError(f"{name} is empty: it must hold one example per line")
    first, *others = lines
    delimiter = _delimiter([lines[number] for number in others or [first]])
    columns = _header(lines[first], delimiter, lines[others[0]] if others else "")
    if columns is None:
        return _parsed(lines, _delimiter(list(lines.values())), None, name), None
    if not others:
        raise InputError(f"{name} has a header (line {first}) and no examples: each line below it must hold one")
    rows = _parsed({number: lines[number] for number in others}, delimiter, columns, name)
    if rows.shape[1] != len(columns):
        one_missing = len(columns) + 1 == rows.shape[1]
        hint = "; R leaves out the name above row names: write without them (row.names = FALSE)" if one_missing else ""
        raise InputError(
            f"{name}: the header (line {first}) has {_counted(len(columns), 'name')}, but line {others[0]} has "
            f"{_counted(rows.shape[1], 'value')}: name each column once, or delete the header{hint}"
        )
    return rows, columns


def _parsed(lines: dict[int, str], delimiter: str | None, columns: tuple[str, ...] | None, name: str) -> np.ndarray:
    """The rows of the lines that hold examples."""
    for number, line in lines.items():
        if COMMENT in line:
            raise InputError(
                f"{name}, line {number} has a {COMMENT} after its first character: values after it would be lost, "
                f"so remove it, or put the comment on a line of its own that starts with {COMMENT}"
            )
    if all(set(line) <= {"0", "1"} for line in lines.values()) and len(next(iter(lines.values()))) > 1:
        if columns is not None:
            raise InputError(f"{name} has a header above bits without separators: delete it, or put commas between the bits")
        if len({len(line) for line in lines.values()}) > 1:
            raise InputError(f"{name} has lines of different lengths: each must hold one example")
        return np.asarray([[int(bit) for bit in line] for line in lines.values()], np.uint8)
    try:
        return np.loadtxt(list(lines.values()), delimiter=delimiter, comments=None, ndmin=2)
    except ValueError as problem:
        reason = _reason(lines, delimiter, columns) or str(problem).splitlines()[0].rstrip(".")
        raise InputError(f"{name} is not a table of numbers: {reason}") from problem


def _lines(content: bytes) -> dict[int, str]:
    """The lines that are neither empty nor comments, by their number in the file."""
    text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    lines = {number: line.strip(" ") for number, line in enumerate(text.split("\n"), 1)}
    return {number: line for number, line in lines.items() if line.strip() and not line.lstrip().startswith(COMMENT)}


def _delimiter(lines: list[str]) -> str | None:
    """A semicolon, a comma, or any white space (None); a tab where two in a row leave a cell empty, which white space would not show.

    The semicolon comes first: where it separates, a comma is a decimal comma, and refused as such.
    """
    for mark in ";,":
        if any(mark in line for line in lines):
            return mark
    return "\t" if any("\t\t" in line or line.startswith("\t") for line in lines) else None


def _header(line: str, delimiter: str | None, below: str) -> tuple[str, ...] | None:
    """The names in a line, empty ones included; None if there is no name in it, or anything else."""
    if delimiter is None and "\t" in line:
        delimiter = "\t"  # names may hold spaces
    one_column = delimiter is None and below and len(below.split()) == 1
    cells = [line] if one_column else _cells(line, delimiter)
    names = tuple(_unquoted(cell) for cell in cells)
    if any(names) and all(not text or _is_name(cell) for text, cell in zip(names, cells, strict=True)):
        return names
    return None


def _cells(line: str, delimiter: str | None) -> list[str]:
    """The cells of a line, with their quotes; what separates them may stand inside quotes."""
    if QUOTE not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    cells, inside = [""], False
    for letter in line:
        inside ^= letter == QUOTE
        if not inside and (letter == delimiter or (delimiter is None and letter.isspace())):
            cells.append("")
        else:
            cells[-1] += letter
    return [cell.strip() for cell in cells if delimiter is not None or cell]


def _unquoted(cell: str) -> str:
    quoted = len(cell) > 1 and cell[0] == cell[-1] == QUOTE
    return cell[1:-1].replace(2 * QUOTE, QUOTE).strip() if quoted else cell


def _is_name(cell: str) -> bool:
    """Whether no number is meant: in quotes anything is a name, otherwise it has a letter."""
    return _unquoted(cell) != cell or (any(map(str.isalpha, cell)) and cell.lower() not in MISSING and not _is_number(cell))


def _reason(lines: dict[int, str], delimiter: str | None, columns: tuple[str, ...] | None) -> str | None:
    """What is wrong with the lines: missing cells, a cell that is not a number, lines of different lengths."""
    cells = {number: [cell.strip() for cell in line.split(delimiter)] for number, line in lines.items()}
    first = next(iter(cells))
    empty = [(number, column) for number, row in cells.items() for column, cell in enumerate(row) if not cell]
    if empty:
        number, column = empty[0]
        count = _counted(len(empty), "missing value")
        return f"{count} (empty cells), the first on line {number}, {_cell(column, columns)}: {MISSING_ROWS}"
    for number, row in cells.items():
        for column, cell in enumerate(row):
            if not _is_number(cell):
                header = "; if the line is a header, put all its names in quotes" if number == first and columns is None else ""
                return f"line {number}, {_cell(column, columns)} is {cell[:40]!r}: {_remedy(cell, delimiter)}{header}"
        if len(row) != len(cells[first]):
            return f"line {number} has {len(row)} values, but line {first} has {len(cells[first])}: each line must hold one example"
    return None


def _remedy(cell: str, delimiter: str | None) -> str:
    if cell.lower() in MISSING:
        return MISSING_ROWS
    if delimiter == ";" and _is_number(cell.replace(",", ".")):
        return "write decimal points, not commas"
    return f"write numbers only{', without quotes' if QUOTE in cell else ''}, separated by commas, semicolons or spaces"


def _cell(column: int, columns: tuple[str, ...] | None) -> str:
    return f"cell {column + 1}{named(column, columns)}"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
