"""Consistency: the error of MPF-1flip on a small Potts model with known parameters falls like 1/sqrt(n). A minute.

Errors are compared in the zero-sum gauge: all other parameters of the same distribution are equally right.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.special import logsumexp
from scipy import optimize

import minprobflow as mpf
from minprobflow.numerics import double_precision

SIZE, VALUES = 4, 3
NUMBERS = (10**3, 10**4, 10**5, 10**6)
REPEATS = 20


def truth() -> mpf.Potts:
    rng = np.random.default_rng(7)
    couplings = rng.normal(scale=0.5, size=(SIZE, VALUES, SIZE, VALUES))
    couplings = (couplings + couplings.transpose(2, 3, 0, 1)) * (1 - np.eye(SIZE))[:, None, :, None] / 2
    return mpf.Potts(rng.normal(scale=0.3, size=(SIZE, VALUES)), couplings, tau=0.5).zero_sum()


def fitter(model: mpf.Potts):
    """A function from the share of each state in the data to the model that minimises the flow out of them."""
    states = model.space.states(jnp.arange(model.space.n_states)).astype(float)
    start, rebuild = ravel_pytree(jax.tree.map(jnp.zeros_like, model))

    @jax.jit
    @jax.value_and_grad
    def objective(x, share):
        flow, _ = mpf.flow.one_flip().flow(rebuild(x), (), states)
        return logsumexp(flow.log_outflow(), b=share)  # `probability_flow` of a million rows, without listing them

    def fit(share):
        found = optimize.minimize(
            lambda x: [np.asarray(y) for y in objective(x, share)], np.asarray(start), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}
        )
        return rebuild(jnp.asarray(found.x))

    return fit


def errors(numbers=NUMBERS, repeats=REPEATS, seed=0) -> np.ndarray:
    """Root mean squared error of all parameters, (sizes, repeats)."""
    with double_precision():
        model = jax.tree.map(lambda leaf: leaf.astype(np.float64), truth())
        true, _ = ravel_pytree(model)
        log_p = -np.asarray(model.free_energy(model.space.states(jnp.arange(model.space.n_states))))
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        fit, rng = fitter(model), np.random.default_rng(seed)

        def one(n):
            found, _ = ravel_pytree(fit(jnp.asarray(rng.multinomial(n, p) / n)).zero_sum())
            return float(jnp.sqrt(jnp.mean((found - true) ** 2)))

        return np.asarray([[one(n) for _ in range(repeats)] for n in numbers])


def slope(numbers, found: np.ndarray) -> tuple[float, float]:
    """Of log error against log n, and its standard error by resampling repeats."""
    rng = np.random.default_rng(0)
    x = np.log(numbers)
    draws = [found[:, rng.integers(found.shape[1], size=found.shape[1])] for _ in range(200)]
    slopes = [np.polyfit(x, np.log(draw.mean(1)), 1)[0] for draw in (found, *draws)]
    return float(slopes[0]), float(np.std(slopes[1:]))


def main() -> dict[str, object]:
    found = errors()
    value, stderr = slope(NUMBERS, found)
    for n, row in zip(NUMBERS, found, strict=True):
        print(f"n = {n:>9,}: error {row.mean():.4f} +- {row.std(ddof=1) / np.sqrt(len(row)):.4f}")
    print(f"slope {value:.3f} +- {stderr:.3f}")
    rows = [{"n": n, "error": row.mean(), "stderr": row.std(ddof=1) / np.sqrt(len(row))} for n, row in zip(NUMBERS, found, strict=True)]
    settings = {"size": SIZE, "n_values": VALUES, "tau": truth().tau, "repeats": REPEATS}
    return {"settings": settings, "rows": rows, "slope": value, "slope_stderr": stderr}
