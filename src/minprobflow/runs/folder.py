"""A run folder: everything about one training run, in files that are never half written."""

from __future__ import annotations

import fcntl
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, cast

from .. import arguments
from ..errors import DamagedFileError, InputError, ModelFileError
from ..files import make_folder, remove_temporaries
from ..records import Json, append_line, read_lines, read_record, write_record
from ..train import Config

FORMAT = 2  # of the record of settings; that of release 0.1 had no number
FILES = (
    "config.json",  # the last to go and the first to come: with it there is a run
    "environment.json",
    "metrics.jsonl",
    "checkpoint.safetensors",
    "checkpoint.safetensors.previous",
    "model.safetensors",
    "best.safetensors",
    "trajectory.safetensors",
    "summary.json",
    "evaluation.json",
    "diagnostics.safetensors",
    "samples.png",
    "filters.png",
)


class EpochRecord(TypedDict, total=False):
    """What a run keeps of an epoch; of the likelihood, where it was looked at."""

    epoch: int
    objective: float
    log_flow: float
    ess: float
    gradient_norm: float
    reconstruction_error: float
    train: float
    valid: float
    stderr: float
    method: str
    verdict: str
    log_partition: float
    log_partition_stderr: float
    log_partition_reverse: float
    rungs: float
    rejected: float
    rate_scale: float
    seconds: float
    cpu_seconds: float


class RunFolder:
    """Names and formats of a run's files."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(arguments.path("the run folder", path))
        self.config_file = self.path / "config.json"
        self.environment_file = self.path / "environment.json"
        self.metrics_file = self.path / "metrics.jsonl"
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.final = self.path / "model.safetensors"
        self.best = self.path / "best.safetensors"
        self.trajectory = self.path / "trajectory.safetensors"
        self.summary_file = self.path / "summary.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second process, and clear up after one that was killed; the lock is gone with the process, however it ends."""
        make_folder(self.path)
        with (self.path / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                raise InputError(f"another process is working on {self.path}: wait for it, or choose another --out") from problem
            remove_temporaries(self.path)
            yield

    def write_config(self, config: Config) -> None:
        """Record the settings: with this there is a run."""
        write_record(self.config_file, {"run_format": FORMAT, **config.flat()})

    def read_config(self) -> Config:
        """The settings the run was started with."""
        if not self.config_file.is_file():
            raise InputError(_not_a_run(self.path))
        try:
            values = read_record(self.config_file)
        except DamagedFileError as problem:
            raise DamagedFileError(f"{problem}, or start the run again with minprobflow train --overwrite --out {self.path}") from problem
        if (found := values.pop("run_format", 1)) != FORMAT:
            raise ModelFileError(
                f"{self.path} is a run of format {found}, which this release cannot read (it reads format {FORMAT}): train it again with "
                f"minprobflow train --overwrite --out {self.path}, or use its model alone, {self.best}, which can still be loaded"
            )
        return Config.of(values, str(self.config_file))

    def read_optional(self, file: Path) -> dict[str, Json]:
        """A record that its readers can do without: empty if it is not there, with a warning if it is damaged."""
        try:
            return read_record(file)
        except OSError:
            return {}
        except DamagedFileError as problem:
            warnings.warn(f"{problem}. It is left out", stacklevel=2)
            return {}

    def append_metrics(self, record: EpochRecord) -> None:
        """One line per epoch."""
        append_line(self.metrics_file, record)

    def read_metrics(self) -> list[EpochRecord]:
        """One record per epoch, in order. An epoch that was run again after an interruption counts once."""
        lines, damaged = read_lines(self.metrics_file)
        if damaged:
            warnings.warn(f"{self.metrics_file} has {damaged} damaged lines: the records in them are left out", stacklevel=2)
        records = {line["epoch"]: line for line in cast(list[EpochRecord], lines) if isinstance(line.get("epoch"), int)}
        return [records[epoch] for epoch in sorted(records)]

    def begun(self) -> bool:
        """Whether there is a run."""
        return self.config_file.exists()

    def clear(self) -> None:
        """Remove the run's files, and no others."""
        for name in reversed(FILES):
            (self.path / name).unlink(missing_ok=True)


def _not_a_run(path: Path) -> str:
    if path.is_file():
        return f"{path} is a file, not a run folder: give the folder that minprobflow train wrote"
    if path.is_dir():
        return f"{path} is not a run folder: it has no config.json. Give the folder that minprobflow train wrote"
    return f"there is no run folder {path}: check the path"
