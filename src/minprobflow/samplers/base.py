"""What a kernel is, and how kernels are found by name.

A kernel is two pure functions over a batch of chains, with an explicit state and a report of each step:

    state = kernel.init(key, model, v)
    state, info = kernel.step(key, model, state)
    state.v                                         the chains' current states of the model

Its settings are one frozen dataclass, a `KernelSpec`, which a rule or a command takes by name.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from jax.tree_util import Partial, register_dataclass
from jaxtyping import Array, Bool, Float, Int, Key

from ..arguments import function
from ..models.base import Model
from ..specs import Spec


@runtime_checkable
class ChainState(Protocol):
    """A pytree of arrays that have the chains along their first axis, so that chains can be put together from several states."""

    @property
    def v(self) -> Float[Array, "*replicas chains D"]:
        """The states of the model that the chains are at."""
        ...


class Chains(NamedTuple):
    """The state of a kernel that needs to know no more than where its chains are."""

    v: Float[Array, "*replicas chains D"]


S = TypeVar("S", bound=ChainState)
S_co = TypeVar("S_co", bound=ChainState, covariant=True)
Function = TypeVar("Function")
I = TypeVar("I")  # noqa: E741
I_co = TypeVar("I_co", covariant=True)


@runtime_checkable
class Start(Protocol[S_co]):
    """How a kernel's chains begin."""

    def __call__(self, key: Key[Array, ""], model: Model, v: Float[Array, "chains D"], /) -> S_co:
        """The state of chains that are at `v`.

        Args:
            key: for kernels that draw more than `v`.
            model: what the chains sample.
            v: one state of the model per chain.
        """
        ...


@runtime_checkable
class Step(Protocol[S, I_co]):
    """A step that leaves the model's distribution unchanged."""

    def __call__(self, key: Key[Array, ""], model: Model, state: S, held: Bool[Array, "#chains D"] | None = None, /) -> tuple[S, I_co]:
        """The state after one step, and what there is to report of the step.

        Args:
            key: of this step.
            model: what the chains sample. It may differ from that of the step before, as in training.
            state: of the step before.
            held: units that keep their values: the chain then samples the others given those.
        """
        ...


Held = Bool[Array, "#chains D"] | None
"""units that keep their values"""


@runtime_checkable
class Many(Protocol[S]):
    """Many steps at once, where that is faster than one by one."""

    def __call__(
        self, key: Key[Array, ""], model: Model, state: S, first: int | Int[Array, ""], last: int | Int[Array, ""], held: Held, /
    ) -> S | None:
        """The state after steps first, ..., last - 1, or None where there is no faster way.

        Args:
            key: step i draws from subkey(key, i).
            model: what the chains sample.
            state: before the first step.
            first: number of the first step.
            last: one more than that of the last.
            held: units that keep their values.
        """
        ...


@register_dataclass
@dataclass(frozen=True)
class Kernel(Generic[S, I]):
    """A transition kernel. As a pytree it holds the arrays that its functions are given in advance (`jax.tree_util.Partial`)."""

    init: Start[S]
    step: Step[S, I]
    many: Many[S] | None = None


AnyKernel = Kernel[Any, Any]


def kernel(step: Step[Chains, I], many: Many[Chains] | None = None) -> Kernel[Chains, I]:
    """A kernel without a state of its own: `step` is all there is to it, and perhaps a faster way to make many."""
    return Kernel(pure(_at), pure(function("step", step, "key, model, state and held")), pure(many))


def pure(function: Function) -> Function:
    """A function that a compiled one can take: with no arrays in it, or with those that a `Partial` gives it."""
    return function if function is None or isinstance(function, Partial) else cast(Function, Partial(function))


def _at(key: Key[Array, ""], model: Model, v: Float[Array, "chains D"]) -> Chains:
    return Chains(v)


@dataclass(frozen=True)
class KernelSpec(Spec):
    """Settings of a kernel. Subclasses give it a `name` and say how to `build` it."""

    family: ClassVar[str] = "kernel"
    known: ClassVar[dict[str, type[KernelSpec]]] = {}

    @abstractmethod
    def build(self, model: Model) -> AnyKernel:
        """The kernel for this model; raises if there is none."""


KernelLike = str | KernelSpec | AnyKernel
"""what a kernel can be chosen by: its name, its settings, or itself"""


def kernel_names() -> list[str]:
    """All known kernels."""
    return KernelSpec.names()


def kernel_spec(name: str | KernelSpec, **settings: object) -> KernelSpec:
    """The kernel with this name and these settings.

    >>> kernel_spec("tempering", rungs=5)
    Tempering(rungs=5, hottest=0.0)
    """
    return KernelSpec.find(name, settings, "mpf.samplers.Tempering(rungs=8)")
