"""A Gibbs step with fused Threefry bits, with jax.random's, and the matrix products alone. Ratios within one run, a minute."""

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.timing import interleaved
from minprobflow.random_bits import bernoulli

STEPS = 200
SHAPES = ((100, 784, 500), (100, 784, 200), (100, 784, 20))


def by_jax(key, logits):
    return (jax.random.uniform(key, logits.shape) < jax.nn.sigmoid(logits)).astype(logits.dtype)


def chain(draw):
    @jax.jit
    def run(key, weights, v):
        def step(i, v):
            keys = jax.random.split(jax.random.fold_in(key, i))
            return draw(keys[1], draw(keys[0], v @ weights) @ weights.T)

        return jax.lax.fori_loop(0, STEPS, step, v)

    return run


@jax.jit
def products(key, weights, v):
    return jax.lax.fori_loop(0, STEPS, lambda i, v: (v @ weights) @ weights.T * 1e-3, v)


def timed(function, arguments):
    function(*arguments).block_until_ready()


def main() -> dict[str, object]:
    rows = []
    for chains, n_visible, n_hidden in SHAPES:
        key = jax.random.key(0)
        weights = 0.05 * jax.random.normal(key, (n_visible, n_hidden))
        v = jnp.ones((chains, n_visible))
        functions = {"products": products, "fused": chain(bernoulli), "jax_random": chain(by_jax)}
        arguments = (key, weights, v)
        times = interleaved({name: partial(timed, f, arguments) for name, f in functions.items()})
        best = {name: min(seconds) / STEPS * 1e3 for name, seconds in times.items()}
        worst = {name: max(seconds) / STEPS * 1e3 for name, seconds in times.items()}
        rows.append({"shape": [chains, n_visible, n_hidden], "best_ms": best, "worst_ms": worst})
        print(rows[-1], flush=True)
    return {"rows": rows}
