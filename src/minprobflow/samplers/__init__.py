"""Markov chains that leave a model's distribution unchanged.

A kernel is a function (key, model, v, held) -> v over a batch of chains; `run` repeats it.
"""

from .chains import impute, run, sample
from .kernels import Kernel, block_gibbs, default_kernel, heat_bath
from .tempering import Tempering, parallel_tempering

__all__ = ["Kernel", "Tempering", "block_gibbs", "default_kernel", "heat_bath", "impute", "parallel_tempering", "run", "sample"]
