"""Tables in text files: what separates the cells, which are quoted, whether there is a header, and where numbers and words stand."""

from __future__ import annotations

import codecs
import re
from collections.abc import Container

import numpy as np

from ..columns import ERRORS, MISSING_ROWS, PAIRS, Names, Table, is_missing, is_number, is_word, named
from ..errors import InputError

COMMENT = "#"
QUOTE = '"'
QUOTED = re.compile(r'"[^"]*"')
ANSWERS = frozenset(word for pair in PAIRS for word in pair)

Lines = dict[int, str]
Rows = dict[int, list[str]]


def parse_text(content: bytes, name: str) -> Table:
    """One example per line, and the names of the columns if the first line is a header: names, quoted or with a letter, and no number.

    A line that starts with # is a comment; a # anywhere else in an example is refused, since it would hide values.

    >>> table = parse_text(b"# two rows\\nage,owner\\n0,yes\\n1,no\\n", "rows.csv")
    >>> table.numbers.tolist(), table.names, table.words
    ([[0.0, 0.0], [1.0, 0.0]], ('age', 'owner'), {1: array(['yes', 'no'], dtype=object)})
    """
    lines = _lines(content, name)
    if not lines:
        raise InputError(f"{name} is empty: it must hold one example per line")
    first, *others = lines
    delimiter = _delimiter([lines[number] for number in others or [first]])
    names = _header(lines[first], delimiter, lines[others[0]] if others else "")
    if names is None:
        delimiter = _delimiter(list(lines.values()))
    elif not others:
        raise InputError(f"{name} has a header (line {first}) and no examples: each line below it must hold one")
    body = lines if names is None else {number: lines[number] for number in others}
    numbers = _bits(body, names, name)
    if numbers is None:
        numbers = _numbers(body, delimiter)
    if numbers is not None:
        _check_width(numbers.shape[1], names, lines, name)
        return Table(numbers, names, {}, list(body))
    return _with_words(lines, names, delimiter or _tab(list(body.values())), name)


def _bits(lines: Lines, names: Names | None, name: str) -> np.ndarray | None:
    """Bits without separators, if it is that."""
    if len(next(iter(lines.values()))) < 2 or not all(set(line) <= {"0", "1"} for line in lines.values()):
        return None
    if names is not None:
        raise InputError(f"{name} has a header above bits without separators: delete it, or put commas between the bits")
    if len({len(line) for line in lines.values()}) > 1:
        raise InputError(f"{name} has lines of different lengths: each must hold one example")
    return np.asarray([[int(bit) for bit in line] for line in lines.values()], np.uint8)


def _numbers(lines: Lines, delimiter: str | None) -> np.ndarray | None:
    """Lines of numbers, if they are no more than that: the quick way."""
    try:
        return np.loadtxt(list(lines.values()), delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None


def _with_words(lines: Lines, names: Names | None, delimiter: str | None, name: str) -> Table:
    """Lines whose cells may be quoted, missing, numbers or words."""
    for number, line in lines.items():
        if line.count(QUOTE) % 2:
            raise InputError(f"{name}, line {number} has a quote that does not end there: close it, and keep each example on one line")
    rows = {number: _cells(line, delimiter) for number, line in lines.items()}
    first = next(iter(rows))
    if names is not None:
        body = {number: row for number, row in rows.items() if number != first}
        if _is_example(rows[first], body, f"{name}, line {first}"):
            names, body = None, rows
    else:
        body = rows
        _refuse_half_a_header(rows, f"{name}, line {first}")
    _refuse_comments({number: row for number, row in body.items() if COMMENT in lines[number]}, name)
    plain = {number: [_unquoted(cell) for cell in row] if QUOTE in lines[number] else row for number, row in body.items()}
    width = len(plain[next(iter(plain))])
    for number, row in plain.items():
        if len(row) != width:
            raise InputError(
                f"{name} is not a table: line {number} has {len(row)} values, but line {next(iter(plain))} has {width}: "
                "each line must hold one example"
            )
    _check_width(width, names, lines, name)
    read = [
        _column([row[place] for row in plain.values()], list(plain), place, names, delimiter, width, f"{name} is not a table of numbers")
        for place in range(width)
    ]
    words = {place: column for place, column in enumerate(read) if column.dtype == object}
    numbers = np.stack([np.zeros(len(plain)) if place in words else column for place, column in enumerate(read)], 1)
    return Table(numbers, names, words, list(plain))


def _column(
    cells: list[str], lines: list[int], place: int, names: Names | None, delimiter: str | None, width: int, problem: str
) -> np.ndarray:
    """The numbers of a column, NaN where one is missing; or its words, None where one is missing."""
    distinct = set(cells)  # a few words or numbers, mostly
    numbers = {cell: float(cell) for cell in distinct if not is_missing(cell) and is_number(cell)}
    words = {cell for cell in distinct if not is_missing(cell) and cell not in numbers and is_word(cell)}

    def refuse(row: int, why: str) -> InputError:
        header = "; if the line is a header, put all its names in quotes" if row == 0 and names is None else ""
        return InputError(f"{problem}: line {lines[row]}, cell {place + 1}{named(place, names)} is {cells[row][:40]!r}: {why}{header}")

    def first(wanted: Container[str]) -> int:
        return next(row for row, cell in enumerate(cells) if cell in wanted)

    if other := {cell for cell in distinct if cell not in numbers and cell not in words and not is_missing(cell)}:
        row = first(other)
        raise refuse(row, _remedy(cells[row], delimiter))
    if words and numbers:
        few_numbers = sum(cell in numbers for cell in cells) < sum(cell in words for cell in cells)
        row = first(numbers if few_numbers else words)
        among_words = "most cells of its column are words: write one or the other"
        raise refuse(row, among_words if few_numbers else _remedy(cells[row], delimiter))
    if not words:
        return np.asarray([numbers.get(cell, np.nan) for cell in cells])
    if delimiter is None and width > 1 and (spaced := {cell for cell in words if cell.lower() not in ANSWERS}):
        raise refuse(first(spaced), "words may hold spaces, so separate the cells with commas, semicolons or tabs")
    return np.asarray([*(cell if cell in words else None for cell in cells), None], object)[:-1]


def _is_example(first: list[str], body: Rows, place: str) -> bool:
    """Whether a first line that could be a header is an example: its words are values below."""
    below = [{row[column] for row in body.values() if column < len(row)} for column in range(len(first))]
    values, sure_header, doubt = False, False, False
    for cell, column in zip(first, below, strict=True):
        text, texts = _unquoted(cell), {_unquoted(value) for value in column}
        folded = {value.casefold() for value in texts}
        as_quoted = _is_quoted(cell) == any(map(_is_quoted, column))
        if not text or is_missing(text):
            continue
        numbers_below = any(is_number(value) for value in texts)
        if is_number(text) and numbers_below and as_quoted:
            values, doubt = values or text in folded, True
        elif is_number(text) or numbers_below:
            sure_header = True
        else:
            values |= text.casefold() in folded or (text.casefold() in ANSWERS and folded <= ANSWERS)
    if doubt and not values:
        raise InputError(f"{place} holds numbers in quotes, as the lines below do: if it is a header, give each name a letter")
    if values and sure_header:
        raise InputError(f"{place} may be a header or an example: some of its words are values below it, others cannot be. Rename those")
    return values and not sure_header


def _refuse_half_a_header(rows: Rows, place: str) -> None:
    """A first line of words and numbers, whose words are not values below: names, or values that occur once?"""
    first, *others = rows.values()
    texts = [(column, _unquoted(cell)) for column, cell in enumerate(first)]
    words = [(column, text) for column, text in texts if is_word(text) and not is_missing(text) and not is_number(text)]
    again = [any(column < len(row) and _unquoted(row[column]).casefold() == text.casefold() for row in others) for column, text in words]
    below = [any(column < len(row) and is_number(_unquoted(row[column])) for row in others) for column, _ in words]
    if words and others and not any(again) and not any(below):
        raise InputError(
            f"{place} may be a header or an example: if it is a header, put all its names in quotes; else add a line of names above it"
        )


def _refuse_comments(rows: Rows, name: str) -> None:
    for number, row in rows.items():
        for cell in row:
            if COMMENT in QUOTED.sub("", cell) and cell.lower() not in ERRORS:
                raise InputError(
                    f"{name}, line {number} has a {COMMENT} after its first character: values after it would be lost, "
                    f"so remove it, or put the comment on a line of its own that starts with {COMMENT}"
                )


def _check_width(width: int, names: Names | None, lines: Lines, name: str) -> None:
    if names is None or width == len(names):
        return
    first, second, *_ = lines
    hint = "; R leaves out the name above row names: write without them (row.names = FALSE)" if len(names) + 1 == width else ""
    raise InputError(
        f"{name}: the header (line {first}) has {_counted(len(names), 'name')}, but line {second} has "
        f"{_counted(width, 'value')}: name each column once, or delete the header{hint}"
    )


def _lines(content: bytes, name: str) -> Lines:
    """The lines that are neither empty nor comments, by their number in the file."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not content.startswith(codecs.BOM_UTF32_LE)
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        raise InputError(f"{name} is not UTF-8 text ({problem.reason} at byte {problem.start}): save it as UTF-8") from problem
    lines = {number: line.strip(" ") for number, line in enumerate(text.split("\n"), 1)}
    return {number: line for number, line in lines.items() if line.strip() and not _is_comment(line)}


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENT) and not line.lstrip().lower().startswith(ERRORS)


def _delimiter(lines: list[str]) -> str | None:
    """A semicolon, a comma, or any white space (None); a tab where two in a row leave a cell empty, which white space would not show.

    The mark that every line has equally often; else the semicolon comes first: where it separates, a comma is a decimal comma, and
    refused as such.
    """
    outside = [QUOTED.sub("", line) if QUOTE in line else line for line in lines]
    marks = [mark for mark in ";," if any(mark in line for line in outside)]
    for mark in marks:
        if len({line.count(mark) for line in outside}) == 1:
            return mark
    if marks:
        return marks[0]
    return "\t" if any("\t\t" in line or line.startswith("\t") for line in outside) else None


def _tab(lines: list[str]) -> str | None:
    """A tab, if it separates the cells of every line: words may hold spaces."""
    counts = {QUOTED.sub("", line).count("\t") for line in lines}
    return "\t" if max(counts) > 0 and min(counts) > 0 else None


def _header(line: str, delimiter: str | None, below: str) -> Names | None:
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


def _is_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == QUOTE


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace(2 * QUOTE, QUOTE).strip() if _is_quoted(cell) else cell


def _is_name(cell: str) -> bool:
    """Whether no number is meant: in quotes anything is a name, otherwise it has a letter."""
    return _is_quoted(cell) or (any(map(str.isalpha, cell)) and not is_missing(cell) and not is_number(cell))


def _remedy(cell: str, delimiter: str | None) -> str:
    if is_missing(cell):
        return MISSING_ROWS
    if delimiter == ";" and is_number(cell.replace(",", ".")):
        return "write decimal points, not commas"
    return "write numbers only, separated by commas, semicolons or spaces"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
