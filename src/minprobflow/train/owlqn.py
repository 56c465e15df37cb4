"""L-BFGS, and its orthant-wise form for L1 penalties (Andrew & Gao 2007), for convex functions.

With l1 = 0 it is plain L-BFGS. The caller decides when to stop: an iterate is handed over after each step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " n"]

MEMORY = 10
HALVINGS = 30
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must give (Armijo)


class Iterate(NamedTuple):
    """Where a step has led to."""

    x: Vector
    smooth: float  # without the L1 penalty
    gradient: Vector  # of the smooth part
    evaluations: int  # so far


def minimise(function: Callable[[Vector], tuple[float, Vector]], x: Vector, l1: Vector, scale: Vector) -> Iterator[Iterate]:
    """Steps towards the minimum of function(x) + sum(l1 * |x|); ends where rounding lets no step go further down.

    Args:
        function: the smooth convex part and its gradient.
        l1: penalty of each coordinate, zero for those that have none.
        scale: a guess of the inverse of the Hessian's diagonal; coordinates where it is zero stay.
    """
    (value, gradient), evaluations = function(x), 1
    yield Iterate(x, value, gradient, evaluations)
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=MEMORY)
    while True:
        slope = pseudo_gradient(x, gradient, l1)
        direction = _aligned(-_inverse_hessian(pairs, slope, scale), slope, l1)
        if direction @ slope >= 0:  # alignment has cut too much off: start anew
            pairs.clear()
            direction = -scale * slope
        orthant = np.where(x != 0, np.sign(x), -np.sign(slope))
        step, total = 1.0, value + l1 @ np.abs(x)
        for _ in range(HALVINGS):
            new = x + step * direction
            new = np.where((l1 > 0) & (new * orthant < 0), 0.0, new)  # no coordinate crosses zero in one step
            (new_value, new_gradient), evaluations = function(new), evaluations + 1
            rounding = 4 * np.finfo(float).eps * abs(total)
            if new_value + l1 @ np.abs(new) <= total + SUFFICIENT * (slope @ (new - x)) + rounding:
                break
            step /= 2
        else:
            return
        moved, turned = new - x, new_gradient - gradient
        if moved @ turned > 1e-12 * (moved @ moved):
            pairs.append((moved, turned))
        if not moved.any():
            return
        x, value, gradient = new, new_value, new_gradient
        yield Iterate(x, value, gradient, evaluations)


def pseudo_gradient(x: Vector, gradient: Vector, l1: Vector) -> Vector:
    """The subgradient of smallest norm of the penalised function: zero at the minimum and only there."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0)
    return np.where(x != 0, gradient + l1 * np.sign(x), at_zero)


def _inverse_hessian(pairs: deque[tuple[Vector, Vector]], vector: Vector, scale: Vector) -> Vector:
    """The two-loop recursion, from the diagonal `scale` stretched to fit the last step."""
    coefficients = []
    for moved, turned in reversed(pairs):
        a = (moved @ vector) / (moved @ turned)
        vector = vector - a * turned
        coefficients.append(a)
    stretch = 1.0
    if pairs:
        moved, turned = pairs[-1]
        stretch = (moved @ turned) / (turned @ (scale * turned))
    result = stretch * scale * vector
    for (moved, turned), a in zip(pairs, reversed(coefficients), strict=True):
        result = result + (a - (turned @ result) / (moved @ turned)) * moved
    return result


def _aligned(direction: Vector, slope: Vector, l1: Vector) -> Vector:
    """Drop penalised coordinates that would go up: their side of zero is not the one the slope is for."""
    return np.where((l1 > 0) & (direction * slope >= 0), 0.0, direction)
