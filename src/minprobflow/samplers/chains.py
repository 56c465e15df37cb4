"""What users run chains for: `sample` and `impute`."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Num
from numpy.typing import ArrayLike

from ..arguments import room, shown, whole
from ..errors import InputError
from ..models import Trajectory
from ..models.base import Model, as_model
from ..random_bits import as_key
from ..tables import numbers
from .auto import as_kernel
from .base import Held, KernelLike
from .engine import observe, run, total
from .exchange import UNBORN, exchange


def sample(
    model: Model,
    n: int = 64,
    steps: int = 1000,
    seed: int | Key[Array, ""] = 0,
    start: ArrayLike | None = None,
    held: ArrayLike | None = None,
    kernel: KernelLike = "auto",
    along: Trajectory | None = None,
) -> Num[np.ndarray, "n D"]:
    """Draw `n` states by running `n` independent chains for `steps` steps.

    Chains do not cross between regions that are far apart. Along a trajectory they do: each is a column of states at all rungs, which
    exchange, and new ones come up from the first rung, where they are drawn exactly.

    Args:
        model: what to sample.
        n: how many chains.
        steps: of each chain.
        seed: a seed or a JAX key.
        start: rows to start from (then `n` is their number); by default uniformly random states.
        held: which units keep the values of `start` (a mask of shape (D,) or (n, D)): inpainting.
        kernel: a name ("auto", "block-gibbs", "heat-bath", "tempering"), its settings such as `mpf.samplers.Tempering(rungs=8)`, or a
            kernel of your own.
        along: a trajectory that ends at the model; `steps` are then rounds of exchange between its rungs, with one step of each rung's
            sampler in a round. There is a warning if some samples have not come from the first rung.

    Returns:
        The chains' last states, as rows of data.

    >>> import minprobflow as mpf
    >>> mpf.sample(mpf.BernoulliRBM.init(0, 6, 4), n=3, steps=10).shape
    (3, 6)
    >>> rbm = mpf.BernoulliRBM.init(0, 6, 4)
    >>> mpf.sample(rbm, n=3, steps=100, along=mpf.Trajectory.scaled(rbm, n=4)).shape
    (3, 6)
    """
    space = as_model(model, finite=True).space
    n, steps = whole("n", n, 1), whole("steps", steps)
    key_start, key_run = jax.random.split(as_key(seed, "seed"))
    if held is not None and start is None:
        raise InputError("held units need values: pass the rows that hold them as start=")
    if start is None:
        room("the samples", n, space.size)
        v = space.noise(key_start, n)
    else:
        v = jnp.asarray(space.check(start, "start")).astype(float)
    mask = None if held is None else _mask(held, v.shape)
    if along is not None:
        return _along(along, model, kernel, key_run, v, steps, mask).astype(space.dtype)
    chosen = as_kernel(kernel, model)
    return np.asarray(run(key_run, model, chosen.init(key_start, model, v), steps, chosen, mask).v).astype(space.dtype)


def _along(
    along: object, model: Model, kernel: KernelLike, key: Key[Array, ""], v: Float[Array, "n D"], steps: int, held: Held
) -> Float[np.ndarray, "n D"]:
    """The states at the last rung after rounds of exchange."""
    if not isinstance(along, Trajectory):
        raise InputError(f"along is {shown(along)}: pass an mpf.Trajectory, such as mpf.Trajectory.load(file)")
    if kernel != "auto":
        raise InputError("along= exchanges states between rungs that have their own samplers: leave out kernel=")
    chosen = exchange(along.ending_at(model))
    end = run(key, model, chosen.init(key, model, v), steps, chosen, held)
    if unborn := float(np.mean(np.asarray(end.born[:, -1]) == UNBORN)):
        warnings.warn(
            f"{unborn:.0%} of the samples have not come from the trajectory's first rung in {steps:,} rounds: raise steps", stacklevel=3
        )
    return np.asarray(end.v)


def impute(
    model: Model,
    incomplete: ArrayLike,
    steps: int = 1000,
    burn_in: int = 100,
    seed: int | Key[Array, ""] = 0,
    kernel: KernelLike = "auto",
) -> Float[np.ndarray, "n D"]:
    """Fill in missing values (NaN, or masked in a masked array) with their probability of being 1 given the row's observed values.

    Where units have more than two values, with the most probable one; real ones with their mean.

    Args:
        model: what the rows are drawn from.
        incomplete: rows with missing values. One chain runs per row, with the observed units held.
        steps: over which a chain's states are averaged.
        burn_in: steps before those.
        seed: a seed or a JAX key.
        kernel: as in `sample`.

    Returns:
        The rows, completed.

    >>> import minprobflow as mpf
    >>> mpf.impute(mpf.Ising.init(2), [[1, float("nan")]], steps=2000).round(1).tolist()
    [[1.0, 0.5]]
    """
    space = as_model(model, finite=True).space
    rows = numbers(incomplete, "incomplete", masked_as_nan=True).astype(np.float64)
    missing = np.isnan(rows)
    v = jnp.asarray(space.check(np.where(missing, 0, rows), "incomplete")).astype(float)
    steps, burn_in = whole("steps", steps, 1), whole("burn_in", burn_in)
    key, chosen = as_key(seed, "seed"), as_kernel(kernel, model)
    held = jnp.asarray(~missing)
    _, sums = observe(key, model, chosen.init(key, model, v), steps, chosen, FEATURES, burn_in=burn_in, held=held)
    return np.where(missing, space.best_guess(np.asarray(sums / steps)), rows)


FEATURES = total(lambda model, state, info: model.space.features(state.v))


def _mask(held: ArrayLike, shape: tuple[int, ...]) -> Bool[Array, "n D"]:
    mask = numbers(held, "held").astype(bool)
    if mask.shape not in (shape, shape[1:]):
        raise InputError(f"held has shape {mask.shape}: pass one flag per unit {shape[1:]} or one per row and unit {shape}")
    return jnp.broadcast_to(mask, shape)
