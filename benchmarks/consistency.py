"""With data from a known model the error of MPF-1flip falls like 1/sqrt(n): an Ising model and an RBM. A minute.

Rows are drawn from the enumerated distribution as counts, so that a million cost no more than a thousand. The Ising model is compared by
its parameters; the RBM, whose parameters are only determined up to exchanging and turning over hidden units, by its log-probabilities.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.special import logsumexp
from scipy import optimize

import minprobflow as mpf
from minprobflow.flow.one_flip import flip_differences
from minprobflow.numerics import as_float64, double_precision

SIZES = (1_000, 10_000, 100_000, 1_000_000)
REPEATS = 20
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "consistency.png"


def ising() -> mpf.Ising:
    rng = np.random.default_rng(1)
    return mpf.Ising(np.triu(rng.normal(scale=0.5, size=(6, 6)), 1), rng.normal(scale=0.3, size=6), tau=2.0)


def rbm() -> mpf.RBM:
    rng = np.random.default_rng(2)
    return mpf.RBM(rng.normal(scale=2.0, size=(5, 2)), rng.normal(scale=0.5, size=5), rng.normal(scale=0.5, size=2), tau=2.0)


def all_states(model):
    return np.asarray(model.space.states(jnp.arange(model.space.n_states)), np.uint8)


def log_probabilities(model) -> np.ndarray:
    with double_precision():
        log_p = -np.asarray(as_float64(model).free_energy(all_states(model)))
    return log_p - np.logaddexp.reduce(log_p)


def ising_error(truth, counts) -> float:
    """Root mean square over the parameters, of a fit that starts from independent units."""
    fit = mpf.fit_convex(mpf.Ising.init(truth.space.size, tau=truth.tau), all_states(truth), counts=counts, tolerance=1e-8)
    assert fit.converged
    upper = np.triu_indices(truth.space.size, 1)
    difference = np.concatenate([fit.model.fields - truth.fields, (fit.model.couplings - truth.couplings)[upper]])
    return float(np.sqrt(np.mean(difference**2)))


@jax.jit
def _rbm_objective(x, start, share, states):
    def log_flow(x):
        return logsumexp(flip_differences(ravel_pytree(start)[1](x), states) / 2, b=share[:, None])

    return jax.value_and_grad(log_flow)(x)


def rbm_error(truth, counts) -> float:
    """Root mean square error of log p under the true p, at the minimum next to the truth (the objective is not convex)."""
    with double_precision():
        start = as_float64(truth)
        x, rebuild = ravel_pytree(start)
        share, states = jnp.asarray(counts / counts.sum()), jnp.asarray(all_states(truth), jnp.float64)
        found = optimize.minimize(
            lambda x: [np.asarray(y) for y in _rbm_objective(x, start, share, states)], np.asarray(x), jac=True, method="BFGS"
        )
        model = rebuild(jnp.asarray(found.x))
    log_p = log_probabilities(truth)
    return float(np.sqrt(np.exp(log_p) @ (log_probabilities(model) - log_p) ** 2))


def measure(truth, error, sizes=SIZES, repeats=REPEATS) -> dict[str, object]:
    """Errors at each size, and the slope of their means in a plot of logarithms."""
    rng, p = np.random.default_rng(0), np.exp(log_probabilities(truth))
    errors = [[error(truth, rng.multinomial(n, p / p.sum())) for _ in range(repeats)] for n in sizes]
    means = np.mean(errors, axis=1)
    slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
    return {"sizes": list(sizes), "mean_errors": means.tolist(), "slope": float(slope), "errors": errors}


def plot(results) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, result), colour in zip(results.items(), ("#1f5a99", "#c8553d"), strict=True):
        sizes, errors, means = np.asarray(result["sizes"]), np.asarray(result["errors"]), np.asarray(result["mean_errors"])
        axes.loglog(np.repeat(sizes, errors.shape[1]), errors.ravel(), ".", color=colour, alpha=0.25, markersize=5)
        axes.loglog(sizes, means, "o-", color=colour, label=f"{name}: slope {result['slope']:.3f}")
    axes.loglog(sizes, means[0] * 4 * np.sqrt(sizes[0] / sizes), "--", color="0.5", label="slope -1/2")
    axes.set(xlabel="samples", ylabel="error (root mean square)", title="MPF-1flip on data from a known model")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=130)


def main() -> dict[str, object]:
    results = {
        "Ising, 6 units (parameters)": measure(ising(), ising_error),
        "RBM, 5 x 2 (log-probabilities)": measure(rbm(), rbm_error),
    }
    for name, result in results.items():
        print(f"{name}: slope {result['slope']:.3f}, errors {result['mean_errors']}")
    plot(results)
    return {"repeats": REPEATS, "models": results}
