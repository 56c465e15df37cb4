"""Training: the state, one compiled epoch, the loop around it."""

from .callbacks import Progress
from .centring import centred_gradient
from .checkpoint import load_state, save_state
from .loop import Epoch, Fit, fit
from .penalties import penalties
from .state import Metrics, TrainState

__all__ = ["Epoch", "Fit", "Metrics", "Progress", "TrainState", "centred_gradient", "fit", "load_state", "penalties", "save_state"]
