"""Markov chains that leave a model's distribution unchanged: kernels, the engine that runs them, and what users run them for."""

from .auto import Auto, as_kernel, default_kernel
from .base import Chains, ChainState, Kernel, KernelSpec, kernel, kernel_names, kernel_spec
from .block_gibbs import BlockGibbs, block_gibbs
from .chains import impute, sample
from .exchange import exchange
from .expectations import Moments, moments
from .heat_bath import HeatBath, heat_bath
from .tempering import Tempered, Tempering, parallel_tempering, tempering

__all__ = [
    "Auto",
    "BlockGibbs",
    "ChainState",
    "Chains",
    "HeatBath",
    "Kernel",
    "KernelSpec",
    "Moments",
    "Tempered",
    "Tempering",
    "as_kernel",
    "block_gibbs",
    "default_kernel",
    "exchange",
    "heat_bath",
    "impute",
    "kernel",
    "kernel_names",
    "kernel_spec",
    "moments",
    "parallel_tempering",
    "sample",
    "tempering",
]
