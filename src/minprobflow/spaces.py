"""State spaces: which vectors a model is defined over, their neighbours and their enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from .errors import InputError


@dataclass(frozen=True)
class Binary:
    """All 0/1 vectors of length `size`."""

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"a model needs at least one unit, got {self.size}: give it a positive number of units")

    @property
    def n_states(self) -> int:
        """2^size."""
        return 2**self.size

    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        """The states with these numbers in the enumeration (bit i of the number is unit i)."""
        bits = index[:, None] >> jnp.arange(self.size, dtype=index.dtype)
        return (bits & 1).astype(jnp.float32)

    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        """`v` with one unit set to each value it can take, along a new leading axis."""
        return jnp.stack([v.at[..., site].set(value) for value in (0.0, 1.0)])

    def flip(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "*batch size"]:
        """`v` with one unit changed."""
        return v.at[..., site].set(1 - v[..., site])

    def check(self, data: Any, name: str = "data") -> UInt8[np.ndarray, "n size"]:
        """Return `data` as uint8 rows of 0 and 1, or say what is wrong with it and how to mend it."""
        array = binary_rows(data, name)
        if array.shape[1] != self.size:
            raise InputError(
                f"{name} has {array.shape[1]} columns but the model has {self.size} visible units: "
                f"pass rows of width {self.size}, or build the model with n_visible={array.shape[1]}"
            )
        return array


def binary_rows(data: Any, name: str = "data") -> UInt8[np.ndarray, "n width"]:
    """Return any 0/1 table (bool, integer or float) as uint8 rows, or raise `InputError`."""
    array = np.asarray(data)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values: pass numbers 0 and 1, as bool, integer or float")
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}, expected a table (examples, units): "
            "reshape images with x.reshape(len(x), -1), a single example with x[None]"
        )
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): pass at least one example and one unit")
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = array[row, column]
        if np.isnan(value):
            raise InputError(
                f"{name} has a missing value (NaN) at row {row}, column {column}, {int(np.isnan(array).sum())} in all: "
                "drop those rows, or fill them in with mpf.impute"
            )
        remedy = (
            "turn -1/+1 into 0/1 with (x + 1) / 2"
            if set(np.unique(array)) <= {-1, 1}
            else "threshold it first, for example x > x.max() / 2"
        )
        raise InputError(f"{name} must be binary (0 or 1) but has {value} at row {row}, column {column}: {remedy}")
    return array.astype(np.uint8)
