"""Where results are kept: one file a (row, seed), one file a row's search, all written atomically."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_atomically
from .experiments import Row


def values(records: list[dict[str, Any]], method: str, part: str = "test") -> list[float]:
    """Log-likelihoods of some records."""
    return [record["likelihood"][method][part]["value"] for record in records]


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


def doubt(records: list[dict[str, Any]]) -> str:
    """A question mark if AIS says of any of these figures not to trust it."""
    return " ?" if any(record["likelihood"].get("ais", {}).get("verdict") == "do not trust" for record in records) else ""


class Results:
    """A folder of records, and beside it the trained models, which are not kept for others."""

    def __init__(self, place: str | os.PathLike[str], models: str | os.PathLike[str] | None = None):
        self.place = Path(place)
        self.models = Path(models) if models is not None else None

    def record_file(self, row: Row, seed: int) -> Path:
        """Of one finished run."""
        return self.place / row.table / row.profile / f"{row.name}-seed{seed}.json"

    def trials_file(self, row: Row) -> Path:
        """Of a row's search."""
        return self.place / row.table / row.profile / f"{row.name}-search.json"

    def model_file(self, row: Row, seed: int) -> Path | None:
        """Of the trained model, if models are kept."""
        return None if self.models is None else self.models / row.table / row.profile / f"{row.name}-seed{seed}.safetensors"

    def kept_model(self, row: Row, seed: int) -> Path | None:
        """The same if it is there."""
        file = self.model_file(row, seed)
        return file if file is not None and file.is_file() else None

    def records(self, table: str, profile: str) -> list[dict[str, Any]]:
        """All finished runs of a table under a profile."""
        return [json.loads(file.read_text()) for file in sorted((self.place / table / profile).glob("*-seed*.json"))]

    def by_row(self, table: str, profile: str) -> dict[str, list[dict[str, Any]]]:
        """The same by row, in the order of seeds."""
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in sorted(self.records(table, profile), key=lambda record: record["seed"]):
            rows[record["row"]].append(record)
        return rows

    def read(self, file: Path) -> Any:
        """A record, None if it is not there."""
        return json.loads(file.read_text()) if file.is_file() else None

    def write(self, file: Path, record: Any) -> None:
        """Make the folder too."""
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, (json.dumps(record, indent=1) + "\n").encode())
