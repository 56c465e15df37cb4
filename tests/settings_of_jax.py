"""One of everything that draws or learns, printed as a digest: the same bits whatever JAX is set to. Run by test_settings_of_jax.py."""

from __future__ import annotations

import hashlib
import traceback

import jax
import numpy as np

import minprobflow as mpf

ROWS = (np.arange(60).reshape(12, 5) * 7 % 3 == 0).astype(np.uint8)
RBM, ISING = mpf.BernoulliRBM.init(3, 5, 3, data=ROWS), mpf.Ising.init(5, data=ROWS)
LETTERS, NUMBERS = (np.arange(48).reshape(12, 4) * 7 % 3).astype(np.uint8), np.sin(np.arange(48).reshape(12, 4)).astype(np.float32)
OTHERS = (
    ("Potts", mpf.Potts.init(4, 3, LETTERS), LETTERS),
    ("CategoricalRBM", mpf.CategoricalRBM.init(0, 4, 3, 2, LETTERS), LETTERS),
    ("GaussianRBM", mpf.GaussianRBM.init(0, 4, 2, NUMBERS), NUMBERS),
)
AIS = {"chains": 10, "betas": 10, "sample_steps": 4}


def calls():
    """By label: what to run."""
    for rule in ("fpmpf", "mpf-1flip", "exact"):
        yield f"fit by {rule}", lambda r=rule: mpf.fit(RBM, ROWS, r, epochs=1, batch_size=4).state
    yield "fit Ising", lambda: mpf.fit(ISING, ROWS, "pcd", epochs=1, batch_size=4).state
    for label, model, rows in OTHERS:
        yield f"fit {label}", lambda m=model, r=rows: mpf.fit(m, r, "pcd", epochs=1, batch_size=4).state
        yield f"likelihood of {label}", lambda m=model, r=rows: mpf.log_likelihood(m, r, "ais", **AIS).value
    yield "replicas", lambda: mpf.fit(lambda key: mpf.BernoulliRBM.init(key, 5, 3), ROWS, "cd", epochs=1, batch_size=4, seeds=2).state
    yield "sample", lambda: mpf.sample(RBM, n=4, steps=2)
    yield "AIS", lambda: mpf.log_partition(RBM, "ais", base_data=ROWS, **AIS).value
    yield "exact", lambda: mpf.log_partition(RBM).value
    yield "tempering", lambda: mpf.parallel_tempering(RBM, np.zeros((2, 4, 5)), [0.0, 1.0], 3, seed=5)
    yield "a key", lambda: mpf.BernoulliRBM.init(jax.random.key(3, impl="rbg"), 5, 3).weights


def digest(result) -> str:
    """Of all bits of all leaves."""
    whole = hashlib.sha256()
    for leaf in jax.tree.leaves(result):
        key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        whole.update(np.asarray(jax.random.key_data(leaf) if key else leaf).tobytes())
    return whole.hexdigest()[:16]


def lines():
    """A line for each call: its digest, or how it failed."""
    for label, call in calls():
        try:
            yield f"{label}: {digest(call())}"
        except Exception as problem:
            own = [frame for frame in traceback.extract_tb(problem.__traceback__) if "minprobflow" in frame.filename]
            yield f"{label}: {type(problem).__name__}: {str(problem)[:300]} at {own[-1].filename}:{own[-1].lineno}"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
