"""What the commands that look at a finished or unfinished run need: its model, its data."""

from __future__ import annotations

from pathlib import Path

from ..data import Dataset, load_dataset
from ..errors import InputError
from ..models.base import Model
from ..models.files import load
from .folder import RunFolder


def open_model(place: str, which: str = "best") -> Model:
    """The model of a run folder ("best" on validation, or "last"), or of a model file."""
    if not Path(place).is_dir():
        if not Path(place).exists():
            raise InputError(f"there is no run folder or model file {place}: check the path")
        if Path(place).suffix != ".safetensors":
            raise InputError(f"{place} is not a model file: give a run folder, or a .safetensors file that mpf.save or a run wrote")
        return load(place)
    folder = RunFolder(place)
    folder.read_config()
    if which not in ("best", "last"):
        raise InputError(f"unknown model {which!r}: use best or last")
    path = folder.best if which == "best" else folder.final
    if not path.exists():
        raise InputError(f"{place} has no {path.name} yet: continue the run with minprobflow train --resume --out {place}")
    return load(path)


def open_data(place: str) -> Dataset:
    """The data set that a run was trained on."""
    config = RunFolder(place).read_config()
    return load_dataset(config.data, **config.data_options)
