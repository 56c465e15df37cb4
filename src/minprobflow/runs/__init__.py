"""Training runs: settings, validation, records, models, pictures, evaluation."""

from .environment import environment
from .evaluate import evaluate
from .folder import RunFolder
from .train import Run, train_run
from .validation import Look, Validation

__all__ = ["Look", "Run", "RunFolder", "Validation", "environment", "evaluate", "train_run"]
