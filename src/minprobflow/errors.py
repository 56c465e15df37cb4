"""Errors that say what came, what was expected and how to fix it."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """The caller's data or settings cannot be used as they are."""


class DataMissingError(InputError):
    """A data file is not on this machine and could not be downloaded."""


class ModelFileError(InputError):
    """A file is not a model or a training state that this version can read."""


class DamagedFileError(ModelFileError):
    """A file is cut off, altered or of another format: an earlier copy may do."""


class TrainingDiverged(RuntimeError):
    """Parameters or objective became non-finite. `state` is the last good state."""

    def __init__(self, message: str, step: int, state: Any):
        super().__init__(message)
        self.step = step
        self.state = state

    def __reduce__(self) -> tuple[type, tuple[str, int, None]]:
        return type(self), (str(self), self.step, None)  # from process to process it goes without the state
