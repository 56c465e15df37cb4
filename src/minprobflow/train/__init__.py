"""Training: the state, one compiled epoch, the loop around it."""

from .callbacks import Progress
from .centring import centred_gradient
from .checkpoint import load_state, save_state, state_from_bytes, state_to_bytes
from .convex import ConvexFit, fit_convex
from .loop import Epoch, Fit, begin, fit
from .optimizer import constant_rate
from .penalties import penalties
from .state import Metrics, TrainState

__all__ = [
    "ConvexFit",
    "Epoch",
    "Fit",
    "Metrics",
    "Progress",
    "TrainState",
    "begin",
    "centred_gradient",
    "constant_rate",
    "fit",
    "fit_convex",
    "load_state",
    "penalties",
    "save_state",
    "state_from_bytes",
    "state_to_bytes",
]
