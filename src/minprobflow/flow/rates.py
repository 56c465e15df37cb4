"""Probability flow rates (Theorem 1 of the paper), in the log domain.

    Gamma_ij = g_ij exp( (o(F_i - F_j) + 1)/2 * (F_j - F_i) )      rate from state j to state i

With any odd function o and symmetric g these satisfy detailed balance. The *objective* built on them is stationary
at the true parameters only for o = 0: with others, detailed balance holds but the minimum is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..arguments import choice
from ..errors import InputError

OddFunction = Callable[[Array], Array]

ODD_FUNCTIONS: dict[str, OddFunction] = {"zero": jnp.zeros_like, "sign": jnp.sign, "tanh": jnp.tanh}


def odd_function(o: str | OddFunction) -> OddFunction:
    """An odd function by name; a callable is taken as it is (see `check_odd`)."""
    if isinstance(o, str) or not callable(o) or isinstance(o, type):
        return ODD_FUNCTIONS[choice("odd function o", o, ODD_FUNCTIONS, hint=", or a callable")]
    return o


def check_odd(o: str | OddFunction) -> None:
    """Raise if `o` names no odd function, or is a callable that is not odd."""
    f = odd_function(o)
    with jax.ensure_compile_time_eval():  # also where a rule is made inside a compiled function
        x = jnp.asarray([0.0, 0.1, 0.7, 1.5, 4.0, 20.0])
        try:
            odd = hash(f) is not None and np.allclose(f(-x), -f(x), rtol=1e-5, atol=1e-6)
        except (TypeError, ValueError) as problem:
            raise InputError(f"o failed on an array of differences: {problem}. Pass a plain function of one array") from problem
    if not odd:
        raise InputError("o is not odd: o(-x) must equal -o(x), or the rates lose detailed balance")


def log_rate(difference: Float[Array, "*shape"], o: OddFunction = jnp.zeros_like) -> Float[Array, "*shape"]:
    """log of the rate from state j to state i for g = 1, given F_j - F_i.

    >>> float(log_rate(jnp.asarray(3.0)))
    1.5
    """
    return (o(-difference) + 1) / 2 * difference
