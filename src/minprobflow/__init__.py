# ruff: noqa: F401, PLE0604 (imports for type checkers only, names from a table)
"""minprobflow: train and evaluate restricted Boltzmann machines and other energy-based models.

Names are imported on first use, so that `import minprobflow` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "RBM": "models",
    "Ising": "models",
    "Potts": "models",
    "CategoricalRBM": "models",
    "GaussianRBM": "models",
    "EnergyModel": "models",
    "Binary": "spaces",
    "Categorical": "spaces",
    "Real": "spaces",
    "CD": "rules",
    "PCD": "rules",
    "MPF1Flip": "rules",
    "FMPF": "rules",
    "PMPF": "rules",
    "FPMPF": "rules",
    "Exact": "rules",
    "rule": "rules",
    "fit": "train",
    "fit_convex": "train",
    "TrainState": "train",
    "Config": "train",
    "train_run": "runs",
    "save_state": "train",
    "load_state": "train",
    "sample": "samplers",
    "impute": "samplers",
    "parallel_tempering": "samplers",
    "moments": "expectations",
    "log_likelihood": "likelihood",
    "log_partition": "likelihood",
    "Estimate": "likelihood",
    "compare": "likelihood",
    "save": "model_files",
    "load": "model_files",
    "load_dataset": "data",
    "InputError": "errors",
    "ModelFileError": "errors",
    "TrainingDiverged": "errors",
}
_MODULES = {
    "connectivity",
    "data",
    "enumeration",
    "likelihood",
    "models",
    "numerics",
    "objectives",
    "rates",
    "rules",
    "runs",
    "samplers",
    "sklearn",
    "spaces",
    "train",
}

__all__ = ["__version__", *_HOME, *_MODULES]

if TYPE_CHECKING:
    __version__: str
    from . import (
        connectivity,
        data,
        enumeration,
        likelihood,
        models,
        numerics,
        objectives,
        rates,
        rules,
        runs,
        samplers,
        sklearn,
        spaces,
        train,
    )
    from .data import load_dataset
    from .errors import InputError, ModelFileError, TrainingDiverged
    from .expectations import moments
    from .likelihood import Estimate, compare, log_likelihood, log_partition
    from .model_files import load, save
    from .models import RBM, CategoricalRBM, EnergyModel, GaussianRBM, Ising, Potts
    from .rules import CD, FMPF, FPMPF, PCD, PMPF, Exact, MPF1Flip, rule
    from .runs import train_run
    from .samplers import impute, parallel_tempering, sample
    from .spaces import Binary, Categorical, Real
    from .train import Config, TrainState, fit, fit_convex, load_state, save_state


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name == "__version__":
        return import_module(".versions", __name__).version()
    raise AttributeError(f"module 'minprobflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
