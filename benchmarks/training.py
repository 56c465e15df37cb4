"""Seconds per 50,000 examples of training, against the matrix products and the peers. Ratios within one run, ten minutes.

Rows of MNIST, and a model that has seen all 50,000 of them eight times: how many bits are set, and how many flip, decides the time of
the compiled kernels. 10,000 rows are timed and the seconds scaled to 50,000. All variants take turns.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import minprobflow as mpf
from benchmarks.floors import floors
from benchmarks.peers import PEERS
from benchmarks.timing import best, interleaved
from minprobflow import native
from minprobflow.samplers.base import Chains
from minprobflow.train import Config
from minprobflow.train.epoch import arrangement, run_epoch, start

ROWS, VISIBLE, PER = 10_000, 784, 50_000
EPOCHS = 8  # of training before anything is timed
CASES = [(k, hidden, 100) for k in (1, 10) for hidden in (20, 200, 500)]


def rows(n=ROWS):
    """Of MNIST."""
    return mpf.load_dataset("mnist").train[:n]


def synthetic(n=ROWS, n_visible=VISIBLE, share=0.15):
    """Independent bits, of which this share is set."""
    return (np.random.default_rng(0).random((n, n_visible)) < share).astype(np.uint8)


@functools.cache
def trained(n_hidden):
    """A model of MNIST, and the 100 particles it was trained with: PCD-1 with the library's defaults, on all rows."""
    data = mpf.load_dataset("mnist").train
    fit = mpf.fit(mpf.BernoulliRBM.init(0, VISIBLE, n_hidden, data=data), data, "pcd", epochs=EPOCHS, batch_size=100, progress=False)
    return fit.model, fit.state.rule.chains.v


def epoch_of(data, n_hidden, batch, rule, seeds=None, kernels="auto", begin=None, warm=2):
    """A function that does one epoch, compiled already, from the same state each time.

    `begin` is a model and particles to start with, and `warm` how many epochs are done before.
    """
    model, particles = begin or (mpf.BernoulliRBM.init(0, data.shape[1], n_hidden, data=data), None)
    settings = Config(rule=rule, epochs=10, batch_size=batch, learning_rate=0.1).checked(model, data)
    optimizer, device_data = settings.transformation(), jnp.asarray(data)
    states = [start(jax.random.key(i), model, device_data, rule, batch, optimizer, False) for i in range(seeds or 1)]
    if particles is not None:
        states = [state._replace(rule=state.rule._replace(chains=Chains(particles[:batch]))) for state in states]
    state = states[0] if seeds is None else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    rate = settings.rate(len(data))

    def epoch(state=state):
        with native.using(kernels):
            return jax.block_until_ready(run_epoch(state, device_data, rate, rule, optimizer, batch, None, arrangement(seeds)))[0]

    for _ in range(warm):
        state = epoch(state)
    return lambda: epoch(state)


def one(k, hidden, batch, peers, repeats, rule="pcd"):
    """One line: ours, the floors, the peers."""
    data = rows()
    updates = ROWS // batch
    chosen = mpf.rule(rule, k=k)
    variants = {
        "ours": epoch_of(data, hidden, batch, chosen, begin=trained(hidden), warm=1),
        "ours, xla": epoch_of(data, hidden, batch, chosen, kernels="xla", begin=trained(hidden), warm=1),
        **floors(VISIBLE, hidden, batch, k, updates),
    }
    for name in peers:
        if name != "scikit-learn" or k == 1:
            variants[name] = PEERS[name](data, hidden, batch, k).epoch
    seconds = {name: {part: PER / ROWS * s for part, s in found.items()} for name, found in best(interleaved(variants, repeats)).items()}
    floor = min(found["best"] for name, found in seconds.items() if name.startswith("floor"))
    fastest = min((name for name in seconds if name in PEERS), key=lambda name: seconds[name]["best"])
    line = {"k": k, "hidden": hidden, "batch": batch, "rule": rule, "seconds": seconds, "floor": floor, "fastest_peer": fastest}
    line |= {"ratio_to_floor": seconds["ours"]["best"] / floor, "times_faster": seconds[fastest]["best"] / seconds["ours"]["best"]}
    faster = seconds["ours, xla"]["best"] / seconds["ours"]["best"]
    print(f"k {k:2} hidden {hidden:3} batch {batch:3}: {seconds['ours']['best']:.2f} s, {line['ratio_to_floor']:.2f}x the floor, "
          f"{faster:.2f}x faster than by XLA, {line['times_faster']:.2f}x faster than {fastest}", flush=True)  # fmt: skip
    return line


def refreshes():
    """FPMPF-10 with particles kept for several updates."""
    data = rows()
    variants = {str(n): epoch_of(data, 200, 100, mpf.FPMPF(k=10, refresh=n, min_ess=0.0), begin=trained(200), warm=1) for n in (1, 5, 20)}
    return {name: PER / ROWS * found["best"] for name, found in best(interleaved(variants, 5)).items()}


def replicas():
    """Ten seeds in one program, against ten runs one after the other."""
    data, found = rows(), []
    for hidden, k in ((20, 1), (20, 10), (200, 1), (200, 10)):
        single = epoch_of(data[:2000], hidden, 100, mpf.PCD(k=k), begin=trained(hidden))
        variants = {
            "together": epoch_of(data[:2000], hidden, 100, mpf.PCD(k=k), seeds=10, begin=trained(hidden)),
            "one by one": lambda single=single: [single() for _ in range(10)],
        }
        seconds = best(interleaved(variants, 5))
        found.append({"hidden": hidden, "k": k, "seconds": seconds, "ratio": seconds["together"]["best"] / seconds["one by one"]["best"]})
        print(f"ten seeds, hidden {hidden}, k {k}: {found[-1]['ratio']:.2f}x ten runs", flush=True)
    return found


def main():
    lines = [one(*case, peers=PEERS, repeats=5) for case in CASES]
    return {"lines": lines, "refresh": refreshes(), "replicas": replicas()}
