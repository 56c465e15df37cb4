"""Compiled kernels for layers of bits on the CPU, and the one door that chooses between them and XLA.

A product of bits with a matrix is a sum of a few of its rows, and after a sampling step the next product is the last one corrected by
the rows of the units that flipped. The kernels (src/*.cc) do just that. They draw the random numbers that XLA's programs draw, so
both paths give the same states, except where rounding decides.
"""

from .door import CHOICES, Status, chosen, on, path, status, using
from .kernels import anneal, expectations, gibbs, product, products, suits, sweeps

__all__ = [
    "CHOICES",
    "Status",
    "anneal",
    "chosen",
    "expectations",
    "gibbs",
    "on",
    "path",
    "product",
    "products",
    "status",
    "suits",
    "sweeps",
    "using",
]
