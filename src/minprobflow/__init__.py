# ruff: noqa: F401, PLE0604 (imports for type checkers only, names from a table)
"""minprobflow: train and evaluate restricted Boltzmann machines and other energy-based models.

Names are imported on first use, so that `import minprobflow` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_NAMES = {
    "models": "RBM BernoulliRBM SpinRBM CategoricalRBM GaussianRBM MixedRBM Ising Potts EnergyModel Trajectory",
    "units": "Bernoulli Spin Categorical Gaussian ReLU Mixed Binary Signs Categories Real NonNegative Columns",
    "rules": "CD PCD PTT MPF1Flip FMPF PMPF FPMPF FlowPTT PseudoLikelihood Exact rule",
    "train": "fit fit_convex TrainState Config save_state load_state",
    "runs": "train_run",
    "samplers": "sample impute parallel_tempering moments",
    "likelihood": "log_likelihood log_partition Estimate compare",
    "models.files": "save load",
    "data": "load_dataset",
    "errors": "InputError ModelFileError TrainingDiverged",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}
_MODULES = "data enumeration flow likelihood models numerics rules runs samplers sklearn testing train units"

__all__ = ["__version__", *_HOME, *_MODULES.split()]

if TYPE_CHECKING:
    __version__: str
    from . import data, enumeration, flow, likelihood, models, numerics, rules, runs, samplers, sklearn, testing, train, units
    from .data import load_dataset
    from .errors import InputError, ModelFileError, TrainingDiverged
    from .likelihood import Estimate, compare, log_likelihood, log_partition
    from .models import RBM, BernoulliRBM, CategoricalRBM, EnergyModel, GaussianRBM, Ising, MixedRBM, Potts, SpinRBM, Trajectory
    from .models.files import load, save
    from .rules import CD, FMPF, FPMPF, PCD, PMPF, PTT, Exact, FlowPTT, MPF1Flip, PseudoLikelihood, rule
    from .runs import train_run
    from .samplers import impute, moments, parallel_tempering, sample
    from .train import Config, TrainState, fit, fit_convex, load_state, save_state
    from .units import Bernoulli, Binary, Categorical, Categories, Columns, Gaussian, Mixed, NonNegative, Real, ReLU, Signs, Spin


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES.split():
        return import_module(f".{name}", __name__)
    if name == "__version__":
        return import_module(".versions", __name__).version()
    raise AttributeError(f"module 'minprobflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
