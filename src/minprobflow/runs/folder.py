"""A run folder: everything about one training run, in files that are never half written."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import write_atomically
from .config import RunConfig, from_mapping


class RunFolder:
    """Names and formats of a run's files."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.config_file = self.path / "config.json"
        self.environment_file = self.path / "environment.json"
        self.metrics_file = self.path / "metrics.jsonl"
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.final = self.path / "model.safetensors"
        self.best = self.path / "best.safetensors"
        self.summary_file = self.path / "summary.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second process; the lock is gone with the process, however it ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                raise InputError(f"another process is working on {self.path}: wait for it, or choose another --out") from problem
            yield

    def write_json(self, file: Path, value: Any) -> None:
        """Atomically."""
        write_atomically(file, (json.dumps(value, indent=1) + "\n").encode())

    def read_config(self) -> RunConfig:
        """The settings the run was started with."""
        if not self.config_file.is_file():
            raise InputError(f"{self.path} is not a run folder: it has no config.json (start one with minprobflow train --out {self.path})")
        try:
            values = json.loads(self.config_file.read_text())
        except ValueError as problem:
            raise InputError(f"{self.config_file} is damaged ({problem}): restore it, or start a new run") from problem
        if not isinstance(values, dict):
            raise InputError(f"{self.config_file} is damaged: it does not hold settings")
        return from_mapping(values, str(self.config_file))

    def append_metrics(self, record: dict[str, Any]) -> None:
        """One JSON line; flushed, so that a killed run keeps it."""
        with self.metrics_file.open("a") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read_metrics(self) -> list[dict[str, Any]]:
        """One record an epoch, in order. An epoch that was run again after an interruption counts once; a line cut off by it not at all."""
        records: dict[int, dict[str, Any]] = {}
        if self.metrics_file.is_file():
            for line in self.metrics_file.read_text(errors="replace").splitlines():
                try:
                    record = json.loads(line)
                    records[int(record["epoch"])] = record
                except (ValueError, KeyError, TypeError):
                    continue
        return [records[epoch] for epoch in sorted(records)]
