"""The kernel that suits a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..models.base import Latent, Model, as_model
from .base import AnyKernel, Chains, Kernel, KernelLike, KernelSpec, kernel_spec, pure
from .block_gibbs import block_gibbs
from .heat_bath import heat_bath


def default_kernel(model: Model) -> Kernel[Chains, None]:
    """Block Gibbs where there is a hidden layer, else the heat bath."""
    return block_gibbs if isinstance(as_model(model), Latent) else heat_bath


@dataclass(frozen=True)
class Auto(KernelSpec):
    """Block Gibbs where there is a hidden layer, else the heat bath."""

    name: ClassVar[str] = "auto"

    def build(self, model: Model) -> Kernel[Chains, None]:
        return default_kernel(model)


def as_kernel(chosen: KernelLike, model: Model) -> AnyKernel:
    """The kernel for this model that is named, described or given."""
    if not isinstance(chosen, Kernel):
        return kernel_spec(chosen).build(as_model(model))
    return Kernel(pure(chosen.init), pure(chosen.step), pure(chosen.many))
