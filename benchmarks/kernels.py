"""The compiled kernels against XLA's programs: steps, shares of ones, worst case, sweeps, rounding. Ratios within one run, ten minutes.

Needs MNIST, the spikes and the WW domain. Every case runs both paths in turn. The worst case for the kernels is half of the bits set and
weights that were never trained, where half of the units flip at every step.
"""

import jax
import jax.numpy as jnp
import numpy as np

import minprobflow as mpf
from benchmarks.timing import best, interleaved
from benchmarks.training import epoch_of, rows, synthetic, trained
from minprobflow import native
from minprobflow.samplers import block_gibbs, heat_bath
from minprobflow.samplers.engine import observe, run, trace

KEY, CHAINS, STEPS = jax.random.key(0), 100, 10
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
DRIFT_STEPS = 100_000


def on_path(path, function):
    def call():
        with native.using(path):
            return jax.block_until_ready(function())

    return call


@jax.jit
def products(weights, v):
    return jax.lax.fori_loop(0, STEPS, lambda _, v: (v @ weights) @ weights.T * 1e-3, v)


def steps():
    """Milliseconds per step of 100 chains, and how many units are set and flip."""
    found = []
    for hidden in (20, 200, 500):
        model, v = trained(hidden)
        state = block_gibbs.init(KEY, model, v)
        drawn = {path: on_path(path, lambda m=model, s=state: run(KEY, m, s, STEPS, block_gibbs).v) for path in ("native", "xla")}
        times = best(interleaved({**drawn, "products": lambda m=model, v=v: products(m.weights, v).block_until_ready()}, 30))
        then = np.asarray(run(KEY, model, state, 1, block_gibbs).v)
        before, after = (np.asarray(model.sample_hidden(jax.random.key(1 + i), x)) for i, x in enumerate((v, then)))
        counts = {"visible_set": v.sum(1), "hidden_set": before.sum(1), "visible_flips": v != then, "hidden_flips": before != after}
        figures = {name: float(np.mean(np.asarray(x).reshape(CHAINS, -1).sum(1))) for name, x in counts.items()}
        figures |= {f"{name}_ms": 1000 * seconds["best"] / STEPS for name, seconds in times.items()}
        found.append({"hidden": hidden, **figures})
        print(found[-1], flush=True)
    return found


def shares():
    """An epoch of PCD-10, 784 x 200, on rows with this share of ones, from weights that were never trained: native / xla."""
    found = []
    for share in SHARES:
        variants = {
            path: epoch_of(synthetic(2000, share=share), 200, 100, mpf.PCD(k=10), kernels=path, warm=0)
            for path in ("native", "xla", "auto")
        }
        seconds = best(interleaved(variants, 7))
        found.append(
            {
                "share": share,
                "seconds": seconds,
                "ratio": seconds["native"]["best"] / seconds["xla"]["best"],
                "auto": seconds["auto"]["best"] / seconds["xla"]["best"],
            }
        )
        print(found[-1], flush=True)
    return found


def sweeps():
    """Seconds of 20 sweeps of 1,000 chains: an Ising model of 50 neurons, a Potts model of a protein domain."""
    spikes, proteins = mpf.load_dataset("spikes").train, mpf.load_dataset("ww-domain").train
    ising = mpf.fit_convex(mpf.Ising.init(spikes.shape[1], spikes), spikes, l2=1e-3).model
    potts = mpf.fit_convex(mpf.Potts.init(proteins.shape[1], 21, proteins), proteins, l2=1e-3).model
    found = {}
    for name, model, data in (("ising", ising, spikes), ("potts", potts, proteins)):
        state = heat_bath.init(jax.random.key(0), model, jnp.asarray(data[:1000]).astype(float))
        variants = {
            path: on_path(path, lambda m=model, s=state: run(jax.random.key(1), m, s, 20, heat_bath).v) for path in ("native", "xla")
        }
        seconds = best(interleaved(variants, 7))
        found[name] = {"seconds": seconds, "times_faster": seconds["xla"]["best"] / seconds["native"]["best"]}
        print(name, found[name], flush=True)
    return found


def drift():
    """How far float32 fields that are only ever corrected by flips end up from the true ones."""
    model, v = trained(200)
    weights, field = np.asarray(model.weights), np.asarray(v[0] @ model.weights)
    state, found = block_gibbs.init(jax.random.key(0), model, v[:1]), {}
    block, last = 1000, np.asarray(v[0]).astype(bool)
    seen = trace(lambda model, state, info: state.v[0].astype(jnp.uint8), block)
    for done in range(0, DRIFT_STEPS, block):
        state, states = observe(jax.random.key(done), model, state, block, block_gibbs, seen)
        for i, row in enumerate(np.asarray(states).astype(bool)):
            for unit in np.flatnonzero(row != last):
                field = field + weights[unit] if row[unit] else field - weights[unit]
            last = row
            if done + i + 1 in (128, 1000, 10_000, DRIFT_STEPS):
                exact = row.astype(np.float64) @ weights.astype(np.float64)
                found[str(done + i + 1)] = float(np.abs(field - exact).max())
    print("drift", found, flush=True)
    return found


def main():
    return {"steps": steps(), "shares": shares(), "sweeps": sweeps(), "drift": drift(), "path": native.status().reason, "rows": len(rows())}
