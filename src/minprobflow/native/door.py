"""Whether the compiled kernels are used: asked in one place, when a program is traced.

`using("xla")` is a context that compiled programs depend on: under another choice they are traced again. The default is "auto", or what
the environment variable MINPROBFLOW_KERNELS says.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import jax

from .. import arguments
from ..errors import InputError

Choice = Literal["auto", "native", "xla"]
CHOICES: tuple[Choice, ...] = ("auto", "native", "xla")
LIBRARY = Path(__file__).with_name("libmpf.so")
TARGETS = ("product", "outer", "contrast", "gibbs", "anneal", "sweeps", "expectations")

_wanted = jax.make_user_context("")  # empty: what the environment says


class Status(NamedTuple):
    """What programs are built with, and why."""

    path: Literal["native", "xla"]
    reason: str

    def __str__(self) -> str:
        return f"{self.path} ({self.reason})"


@contextmanager
def using(choice: str) -> Iterator[None]:
    """Use the compiled kernels or not, within the context.

    Args:
        choice: "native", "xla", or "auto": native where that is possible.

    >>> with using("xla"):
    ...     on()
    False
    """
    path(choice)
    with _wanted(choice):
        yield


def path(choice: str) -> Literal["native", "xla"]:
    """Where a choice leads; raises if it is none, or asks for kernels that are not there."""
    wanted = arguments.choice("kernels", choice, CHOICES)
    found = status(None if wanted == "auto" else wanted)
    if wanted == "native" and found.path != "native":
        raise InputError(f"kernels='native', but {found.reason}: use kernels='auto'")
    return found.path


def chosen() -> Choice:
    """What was asked for."""
    wanted = _wanted.value or os.environ.get("MINPROBFLOW_KERNELS", "") or "auto"
    return arguments.choice("MINPROBFLOW_KERNELS", wanted, CHOICES)  # type: ignore[return-value]


def on() -> bool:
    """Whether programs that are traced now are to use the compiled kernels."""
    return status(chosen()).path == "native"


def status(choice: str | None = None) -> Status:
    """Which path programs take.

    Args:
        choice: as in `using`; by default the present one.
    """
    if (choice or chosen()) == "xla":
        return Status("xla", "as asked for")
    if (backend := jax.default_backend()) != "cpu":
        return Status("xla", f"the compiled kernels are for the CPU, and JAX runs on {backend}")
    return _loaded()


@functools.cache
def _loaded() -> Status:
    """Load the library and tell XLA of its functions: once."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.mpf_instructions.restype = ctypes.c_char_p
        for name in TARGETS:
            jax.ffi.register_ffi_target(f"mpf_{name}", jax.ffi.pycapsule(getattr(library, f"mpf_{name}")), platform="cpu")
        return Status("native", library.mpf_instructions().decode())
    except Exception as problem:  # a library of another platform or version: whatever is wrong with it, XLA can do the work
        reason = "no compiled kernels were installed" if not LIBRARY.exists() else f"the compiled kernels do not load: {problem}"
        logging.getLogger("minprobflow").warning(
            "minprobflow runs without its compiled kernels, and binary RBMs train 1.1 to 2.8 times as long: %s. "
            "Install a C++ compiler and reinstall minprobflow; or set MINPROBFLOW_KERNELS=xla to silence this",
            reason,
        )
        return Status("xla", reason)
