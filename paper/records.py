"""Where results are kept: one JSON-lines file per table and profile, one checked record per line."""

from __future__ import annotations

import fcntl
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from minprobflow.errors import DamagedFileError
from minprobflow.records import append_line, plain, read_lines

from .plan import Row

Record = dict[str, Any]


def values(records: list[Record], method: str, part: str = "test") -> list[float]:
    """Log-likelihoods of some records."""
    return [record["likelihood"][method][part]["log_likelihood"]["value"] for record in records]


def seconds(records: list[Record]) -> float:
    """Mean processor seconds of training."""
    return float(np.mean([record["summary"]["cpu_seconds"] for record in records]))


def spread(values: list[float], digits: int = 2) -> str:
    """Mean and standard deviation over seeds."""
    told = f"{np.mean(values):.{digits}f}"
    return f"{told} ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else told


def standard_error(values: Any) -> float:
    """Of the mean; not a number for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def title(method: str) -> str:
    """An estimator's name as it is shown."""
    return method if method == "exact" else method.upper()


def doubt(records: list[Record]) -> str:
    """A question mark if AIS says of any of these figures not to trust it."""
    verdicts = [record["likelihood"]["ais"]["test"]["verdict"] for record in records if "ais" in record["likelihood"]]
    return " ?" if "do not trust" in verdicts else ""


class Results:
    """A folder of records, and next to it the trained models, which are not published.

    One JSON-lines file holds what is on record of a table under a profile: a line per finished run and a line per trial of a search.
    Lines are only added, each under a lock and flushed to the disk, so that processes can share a file and a kill loses at most the
    line that was being written. What a later plan no longer asks for stays on record.
    """

    def __init__(self, place: str | os.PathLike[str], models: str | os.PathLike[str] | None = None):
        self.place = Path(place)
        self.models = Path(models) if models is not None else None

    def file(self, table: str, profile: str) -> Path:
        """The records of a table under a profile."""
        return self.place / f"{table}-{profile}.jsonl"

    def read(self, table: str, profile: str, kind: str) -> list[Record]:
        """The records of a kind ("run", "trial" or "seconds") in the order in which they were made."""
        file = self.file(table, profile)
        stat = file.stat() if file.is_file() else None
        records = [] if stat is None else _lines(file.absolute(), stat.st_mtime_ns, stat.st_size)
        return [record for record in records if record["kind"] == kind]

    def add(self, table: str, profile: str, kind: str, record: Record) -> None:
        """Add a record, whatever other processes add at the same time."""
        file = self.file(table, profile)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            append_line(file, plain({"kind": kind, **record}))

    def model_file(self, row: Row, seed: int) -> Path | None:
        """Of the trained model, if models are kept."""
        return None if self.models is None else self.models / row.table / row.profile / f"{row.name}-seed{seed}.safetensors"

    def kept_model(self, row: Row, seed: int) -> Path | None:
        """The same if it is there."""
        file = self.model_file(row, seed)
        return file if file is not None and file.is_file() else None


@lru_cache(maxsize=16)
def _lines(file: Path, changed: int, size: int) -> list[Record]:
    """What a file held when it was changed last: a page asks for the same file a hundred times."""
    records, damaged = read_lines(file)
    if damaged:
        raise DamagedFileError(
            f"{file} has {damaged} damaged line{'s' if damaged > 1 else ''}: restore it from version control, "
            "or delete them, and what they recorded is run again"
        )
    return records
