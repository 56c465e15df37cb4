"""Unit types: the states of units (spaces), and the layers of an RBM that are made of them. One file per unit type."""

from .base import RELATIVE_FLOOR, Discrete, Space, discrete
from .bernoulli import Bernoulli, Binary, binary_rows
from .categorical import Categorical, Categories
from .columns import Columns, kinds_of_columns
from .gaussian import Gaussian, Real
from .layer import DiscreteLayer, Layer, Temperature
from .mixed import Mixed
from .relu import NonNegative, ReLU
from .spin import Signs, Spin

__all__ = [
    "RELATIVE_FLOOR",
    "Bernoulli",
    "Binary",
    "Categorical",
    "Categories",
    "Columns",
    "Discrete",
    "DiscreteLayer",
    "Gaussian",
    "Layer",
    "Mixed",
    "NonNegative",
    "ReLU",
    "Real",
    "Signs",
    "Space",
    "Spin",
    "Temperature",
    "binary_rows",
    "discrete",
    "kinds_of_columns",
]
