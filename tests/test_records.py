"""JSON records: what is damaged is noticed, what is whole is never lost."""

import errno
import json
import os

import pytest

from minprobflow.errors import DamagedFileError
from minprobflow.records import append_line, read_lines, read_record, write_record

RECORD = {"value": -18.25, "method": "exact", "warnings": ["none"], "settings": {"n": 3}}
LINES = [{"epoch": i, "valid": -20.5 + i, "method": "exact"} for i in range(1, 4)]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for record in LINES:
        append_line(path, record)
    return path


def flips(content):
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def test_no_flipped_bit_changes_a_record(tmp_path):
    path = tmp_path / "record.json"
    write_record(path, RECORD)
    assert read_record(path) == RECORD
    for damaged in flips(path.read_bytes()):
        path.write_bytes(damaged)
        try:
            assert read_record(path) == RECORD
        except DamagedFileError as problem:
            assert "record.json" in str(problem)


def test_a_number_that_is_not_finite_is_null(tmp_path):
    write_record(tmp_path / "record.json", {"upper": float("inf"), "all": [float("nan"), 1.0], "path": tmp_path})
    assert read_record(tmp_path / "record.json") == {"upper": None, "all": [None, 1.0], "path": str(tmp_path)}


def test_records_of_older_releases_are_read(tmp_path):
    (tmp_path / "record.json").write_text(json.dumps(RECORD))
    assert read_record(tmp_path / "record.json") == RECORD
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(record) + "\n" for record in LINES))
    append_line(tmp_path / "lines.jsonl", {"epoch": 4})
    assert read_lines(tmp_path / "lines.jsonl") == ([*LINES, {"epoch": 4}], 0)


@pytest.mark.parametrize("cut", [1, 2, 20, 57])
def test_a_torn_line_does_not_swallow_the_next(lines, cut):
    lines.write_bytes(lines.read_bytes()[:-cut])
    append_line(lines, {"epoch": 4})
    whole = LINES if cut == 1 else LINES[:-1]  # with one byte less the record is whole and only lacks its end
    assert read_lines(lines) == ([*whole, {"epoch": 4}], 0)
    assert lines.read_bytes().count(b"\n") == len(whole) + 1


def test_no_flipped_bit_changes_or_hides_a_line(lines):
    content = lines.read_bytes()
    for damaged in flips(content):
        lines.write_bytes(damaged)
        records, lost = read_lines(lines)
        assert all(record in LINES for record in records)
        assert len(records) == len(LINES) or lost > 0
        append_line(lines, {"epoch": 4})
        assert read_lines(lines)[0] == [*records, {"epoch": 4}]


def test_a_line_that_could_not_be_written_leaves_no_trace(lines, monkeypatch):
    before = lines.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match="space"):
        append_line(lines, {"epoch": 4})
    assert lines.read_bytes() == before
