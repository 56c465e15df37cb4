# ruff: noqa: F401, PLE0604 (imports for type checkers only, names from a table)
"""minprobflow: train and evaluate restricted Boltzmann machines and other energy-based models.

Names are imported on first use, so that `import minprobflow` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "RBM": "models",
    "BernoulliRBM": "models",
    "SpinRBM": "models",
    "CategoricalRBM": "models",
    "GaussianRBM": "models",
    "MixedRBM": "models",
    "Ising": "models",
    "Potts": "models",
    "EnergyModel": "models",
    "Bernoulli": "units",
    "Spin": "units",
    "Categorical": "units",
    "Gaussian": "units",
    "ReLU": "units",
    "Mixed": "units",
    "Binary": "units",
    "Signs": "units",
    "Categories": "units",
    "Real": "units",
    "NonNegative": "units",
    "Columns": "units",
    "CD": "rules",
    "PCD": "rules",
    "MPF1Flip": "rules",
    "FMPF": "rules",
    "PMPF": "rules",
    "FPMPF": "rules",
    "PseudoLikelihood": "rules",
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
    "moments": "samplers",
    "log_likelihood": "likelihood",
    "log_partition": "likelihood",
    "Estimate": "likelihood",
    "compare": "likelihood",
    "save": "models.files",
    "load": "models.files",
    "load_dataset": "data",
    "InputError": "errors",
    "ModelFileError": "errors",
    "TrainingDiverged": "errors",
}
_MODULES = {
    "data",
    "enumeration",
    "flow",
    "likelihood",
    "models",
    "numerics",
    "rules",
    "runs",
    "samplers",
    "sklearn",
    "testing",
    "train",
    "units",
}

__all__ = ["__version__", *_HOME, *_MODULES]

if TYPE_CHECKING:
    __version__: str
    from . import data, enumeration, flow, likelihood, models, numerics, rules, runs, samplers, sklearn, testing, train, units
    from .data import load_dataset
    from .errors import InputError, ModelFileError, TrainingDiverged
    from .likelihood import Estimate, compare, log_likelihood, log_partition
    from .models import RBM, BernoulliRBM, CategoricalRBM, EnergyModel, GaussianRBM, Ising, MixedRBM, Potts, SpinRBM
    from .models.files import load, save
    from .rules import CD, FMPF, FPMPF, PCD, PMPF, Exact, MPF1Flip, PseudoLikelihood, rule
    from .runs import train_run
    from .samplers import impute, moments, parallel_tempering, sample
    from .train import Config, TrainState, fit, fit_convex, load_state, save_state
    from .units import Bernoulli, Binary, Categorical, Categories, Columns, Gaussian, Mixed, NonNegative, Real, ReLU, Signs, Spin


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
