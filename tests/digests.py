"""Digests of what training and estimators give on the Bernoulli path: a refactoring leaves them as they are, bit for bit.

    python tests/digests.py            compare with those on record for this machine
    python tests/digests.py --record   put them on record, after a change that is meant to change results

The tests compute those of the digits, and of MNIST only some: the same programs over larger arrays take most of the time.

Compiled programs differ between processors, so digests are kept per machine: processor, cores, jaxlib and compiler flags.
Beside each digest stands a figure that any machine must come close to: the mean free energy of the data.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jaxlib
import numpy as np

import minprobflow as mpf
from minprobflow import native

FILE = pathlib.Path(__file__).with_name("digests.json")
Result = tuple[list[Any], float]  # arrays whose bytes count, and the figure


def machine() -> str:
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor")
    return f"{name}, {os.cpu_count()} cores, jaxlib {jaxlib.__version__}, {os.environ.get('XLA_FLAGS', '') or 'no flags'}"


SOME_OF_MNIST = ("cd 0", "fpmpf 0", "pseudo-likelihood 0")


def cases() -> Iterator[tuple[str, Callable[[], Result]]]:
    for name, options, hidden in (("digits", {}, 12), ("mnist", {}, 10)):
        try:
            rows = mpf.load_dataset(name, **options).train[:600]
        except mpf.errors.DataMissingError:
            continue
        start = begin(rows, hidden)
        for rule in mpf.rules.names():
            for seed in (0, 1):
                yield f"{name} {rule} {seed}", lambda rows=rows, start=start, rule=rule, seed=seed: trained(start, rows, rule, seed)
        for rule in ("fmpf", "pmpf", "fpmpf"):
            yield f"{name} {rule} refresh 3", lambda rows=rows, start=start, rule=rule: trained(start, rows, rule, 0, refresh=3, l2=1e-3)
        yield f"{name} likelihoods", lambda rows=rows, start=start: likelihoods(start, rows)


def begin(rows: np.ndarray, hidden: int) -> Any:
    """Weights so large that particles remember where they started: with small ones all rules would draw the same."""
    weights = 0.5 * np.random.default_rng(3).normal(size=(rows.shape[1], hidden))
    mean = (rows.sum(0) + 0.5) / (len(rows) + 1)
    return mpf.BernoulliRBM(*(np.asarray(x, np.float32) for x in (weights, np.log(mean / (1 - mean)), np.zeros(hidden))))


def trained(start: Any, rows: np.ndarray, rule: str, seed: int, **settings: Any) -> Result:
    model = mpf.fit(start, rows, rule, epochs=1, batch_size=50, seed=seed, progress=False, **settings).model
    return parameters(model), mean_free_energy(model, rows)


def likelihoods(start: Any, rows: np.ndarray) -> Result:
    model = mpf.fit(start, rows, "pcd", epochs=1, batch_size=50, progress=False).model
    exact = mpf.log_partition(model, "exact")
    ais = mpf.log_partition(model, "ais", seed=0, chains=20, betas=100, base_data=rows)
    csl = mpf.log_likelihood(model, rows[:50], "csl", chains=10, samples=10, burn_in=10)
    figures = [(x.value, x.stderr, x.lower, x.upper) for x in (exact, ais, csl)]
    return [np.asarray(figures, np.float64), mpf.sample(model, n=10, steps=20, seed=1)], exact.value


def parameters(model: Any) -> list[Any]:
    return [model.weights, model.visible_bias, model.hidden_bias]


def mean_free_energy(model: Any, rows: np.ndarray) -> float:
    return float(np.mean(model.free_energy(rows)))


def digest(arrays: list[Any]) -> str:
    return hashlib.blake2b(b"".join(np.ascontiguousarray(x).tobytes() for x in arrays), digest_size=8).hexdigest()


def computed(all_of_mnist: bool = True) -> dict[str, tuple[str, float]]:
    found = {}
    with native.using("xla"):  # digests of the compiled kernels would depend on the instruction set
        for name, compute in cases():
            data, _, case = name.partition(" ")
            if all_of_mnist or data != "mnist" or case in SOME_OF_MNIST:
                arrays, figure = compute()
                found[name] = digest(arrays), figure
    return found


def main() -> None:
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {"digests": {}, "figures": {}}
    found = computed()
    if "--record" in sys.argv:
        recorded["digests"][machine()] = {name: digest for name, (digest, _) in found.items()}
        recorded["figures"] |= {name: figure for name, (_, figure) in found.items()}
        FILE.write_text(json.dumps(recorded, indent=1) + "\n")
    known = recorded["digests"].get(machine())
    if known is None:
        sys.exit("no digests on record for this machine: make them on the commit to compare with, by --record")
    changed = [name for name, (digest, _) in found.items() if known.get(name, digest) != digest]  # new rules are not on record
    print(f"{len(found)} computed, {len(changed)} differ", *changed, sep="\n  ")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
