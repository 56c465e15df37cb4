"""AIS and CSL against their matrix products alone; exact log Z against the plain log-sum-exp. Ratios within one run, a minute.

Each variant is run in turn; the best of each is compared, and the spread is given.
"""

import resource

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

import minprobflow as mpf
from benchmarks.timing import interleaved
from minprobflow.likelihood import exact_log_partition, exact_log_partition_and_gradient
from minprobflow.likelihood.annealing import anneal
from minprobflow.likelihood.csl import CSL
from minprobflow.likelihood.csl import csl as score
from minprobflow.numerics import as_float64, double_precision

CHAINS, BETAS, D, H = 100, 1000, 784, 500


@jax.jit
def products_jax(weights, v):
    """The two matrix products of each temperature, and nothing else."""
    return jax.lax.fori_loop(0, BETAS, lambda _, v: (v @ weights) @ weights.T * 1e-3, v)


def products_numpy(weights, v):
    for _ in range(BETAS):
        v = (v @ weights) @ weights.T * np.float32(1e-3)
    return v


def plain_log_partition(model):
    """The straightforward way: free energies of all hidden configurations, chunk by chunk, log-sum-exp."""
    other = model.transposed()
    chunk = 4096
    chunks = jnp.arange(other.space.n_states // chunk)
    return logsumexp(jax.lax.map(lambda i: logsumexp(-other.free_energy(other.space.states(i * chunk + jnp.arange(chunk)))), chunks))


def ais() -> dict[str, object]:
    keys = jax.random.split(jax.random.key(0), 3)
    model = mpf.BernoulliRBM(0.05 * jax.random.normal(keys[0], (D, H)), jax.random.normal(keys[1], (D,)) - 2, jnp.zeros(H))
    base = model.base(jnp.full(D, 0.1))
    v = np.asarray(jax.random.bernoulli(keys[2], 0.1, (CHAINS, D)), np.uint8)
    weights = np.asarray(model.weights)
    betas = np.linspace(0, 1, BETAS + 1)
    times = interleaved(
        {
            "ais": lambda: anneal(keys[2], model, base, v, betas),
            "products_jax": lambda: products_jax(model.weights, jnp.asarray(v, jnp.float32)).block_until_ready(),
            "products_numpy": lambda: products_numpy(weights, v.astype(np.float32)),
        }
    )
    floor = min(times["products_jax"] + times["products_numpy"])
    return {"times": times, "ratio_to_products": min(times["ais"]) / floor, "setting": f"{CHAINS} chains x {BETAS} temperatures, {D} x {H}"}


def exact() -> dict[str, object]:
    keys = jax.random.split(jax.random.key(1), 2)
    model = mpf.BernoulliRBM(0.3 * jax.random.normal(keys[0], (784, 20)), jax.random.normal(keys[1], (784,)) - 2, jnp.zeros(20))
    plain, ours = jax.jit(plain_log_partition), jax.jit(mpf.enumeration.log_partition)

    def plain_float64():
        with double_precision():
            return float(plain(as_float64(model)))

    variants = {
        "plain_float32": lambda: float(plain(model)),
        "ours_float32": lambda: float(ours(model)),
        "plain_float64": plain_float64,
        "ours_float64": lambda: exact_log_partition(model),
        "ours_float64_with_gradient": lambda: exact_log_partition_and_gradient(model)[0],
    }
    times = interleaved(variants)
    best = {name: min(seconds) for name, seconds in times.items()}
    return {
        "times": times,
        "values": {name: function() for name, function in variants.items()},
        "speedup_float32": best["plain_float32"] / best["ours_float32"],
        "speedup_float64": best["plain_float64"] / best["ours_float64"],
        "speedup_float64_over_plain_float32": best["plain_float32"] / best["ours_float64"],
    }


def csl() -> dict[str, object]:
    """10,000 hidden samples scored on 1,000 rows: the chains' products, and one of all samples with all rows."""
    model = mpf.BernoulliRBM.init(0, D, H)
    rows = np.asarray(jax.random.bernoulli(jax.random.key(1), 0.1, (1000, D)), np.uint8)
    settings = CSL(chains=100, samples=100, burn_in=0, thinning=1)
    floats = jnp.asarray(rows, jnp.float32)

    @jax.jit
    def products(weights, v, rows):
        def step(_, carry):
            v, total = carry
            h = v @ weights
            logits = h @ weights.T * 1e-3
            return logits, total + jnp.max(logits @ rows.T)  # the logits of a sample score it and draw the next

        return jax.lax.fori_loop(0, 100, step, (v, jnp.zeros(())))[1]

    times = interleaved(
        {
            "csl": lambda: score(model, rows, settings, 0),
            "products_jax": lambda: products(model.weights, floats[:100], floats).block_until_ready(),
        }
    )
    return {"times": times, "ratio_to_products": min(times["csl"]) / min(times["products_jax"])}


def memory() -> dict[str, float]:
    """Growth of the process's peak when 40 times as many chains are annealed: chains go in blocks."""
    model = mpf.BernoulliRBM.init(0, D, H)
    base = model.base(jnp.full(D, 0.5))
    peaks = []
    for chains in (500, 20_000):
        anneal(jax.random.key(0), model, base, np.zeros((chains, D), np.uint8), np.linspace(0, 1, 11))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {"peak_mib_500_chains": peaks[0], "peak_mib_20000_chains": peaks[1], "states_alone_mib_20000_chains": 20_000 * D / 2**20}


def main() -> dict[str, object]:
    result = {"memory": memory(), "ais": ais(), "exact": exact(), "csl": csl()}
    for part, figures in result.items():
        for name, value in figures.items():
            if name != "times":
                print(f"{part} {name}: {value}")
            else:
                for variant, seconds in value.items():
                    print(f"{part} {variant}: best {min(seconds):.4f} s, worst {max(seconds):.4f} s")
    return result
