"""Training: the state, one compiled epoch, the loop around it."""

from .centring import centred_gradient
from .checkpoint import load_state, save_state, state_from_bytes, state_to_bytes
from .config import Config, fit_settings, run_settings, spec_settings
from .convex import ConvexFit, fit_convex
from .loop import Epoch, Fit, begin, fit
from .optimizer import constant_rate
from .penalties import penalties
from .progress import TrainingProgress
from .state import Metrics, TrainState

__all__ = [
    "Config",
    "ConvexFit",
    "Epoch",
    "Fit",
    "Metrics",
    "TrainState",
    "TrainingProgress",
    "begin",
    "centred_gradient",
    "constant_rate",
    "fit",
    "fit_convex",
    "fit_settings",
    "load_state",
    "penalties",
    "run_settings",
    "save_state",
    "spec_settings",
    "state_from_bytes",
    "state_to_bytes",
]
