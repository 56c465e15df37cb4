"""Training runs in folders: settings, records, models, pictures."""

from .config import RunConfig, resolve
from .folder import RunFolder
from .train import train_run

__all__ = ["RunConfig", "RunFolder", "resolve", "train_run"]
