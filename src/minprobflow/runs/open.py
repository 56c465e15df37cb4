"""What a run is about: the data that its configuration names, and the models in its folder."""

from __future__ import annotations

from pathlib import Path

from ..columns import ColumnNames
from ..data import Dataset, load_dataset
from ..data.registry import is_file
from ..errors import InputError
from ..model_specs import model_spec
from ..models import Trajectory
from ..models.base import Model
from ..models.files import load, read_columns
from ..train import Config, TrainState, begin, load_state
from .folder import RunFolder

OF_VALUES = {
    "bits": {},
    "categories": {"whole": True},
    "signs": {"signs": True},
    "real": {"real": True},
}  # how a file is read for a model of such values


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


def open_columns(place: str, which: str = "best") -> ColumnNames | None:
    """What the columns of a model are called and the words for their values, as its file says."""
    folder = RunFolder(place)
    return read_columns((folder.best if which == "best" else folder.final) if Path(place).is_dir() else place)


def open_trajectory(place: str, model: Model) -> Trajectory | None:
    """The trajectory that a run has kept, with the model at its end; None for a model file, or a run that has kept none."""
    path = RunFolder(place).trajectory
    return Trajectory.load(path).ending_at(model) if Path(place).is_dir() and path.exists() else None


def open_data(place: str) -> Dataset:
    """The data set that a run was trained on."""
    return dataset_of(RunFolder(place).read_config())


def open_state(place: str) -> TrainState:
    """The training state of a run, as its checkpoint holds it."""
    folder = RunFolder(place)
    config, data = folder.read_config(), open_data(place)
    model = config.model_spec(data).build(config.seed, data)
    return load_state(folder.checkpoint, begin(model, data.train, config))


def dataset_of(config: Config) -> Dataset:
    """The data that a configuration names. A file is read as its model needs it, unless options say how."""
    options = dict(config.data_options)
    if config.model is not None and is_file(config.data) and not options.keys() & {"threshold", "whole", "signs", "real"}:
        options |= OF_VALUES[model_spec(config.model).values]
    return load_dataset(config.data, **options)
