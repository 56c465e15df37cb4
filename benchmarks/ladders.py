"""log Z by replica exchange on scaled ladders, beside two-path AIS: the published 500-unit RBM, and the CD-1 traps. Half an hour.

Needs MNIST and golden/ in MINPROBFLOW_DATA (see `golden` and `trap`).
"""

from functools import partial

import minprobflow as mpf
from benchmarks import golden, trap
from benchmarks.parts import in_parts

SECONDS = 120.0  # for each trap
GOLDEN = (("trajectory", 1), ("ais", 1), ("trajectory", 2), ("ais", 2))  # in turn, to compare times; the verdict was tuned on seed 0
SHOWN = ("seconds", "rungs", "rounds", "betas", "forward", "reverse", "gap", "climbs", "drift", "drift_stderr", "drift_steps")


def published(method: str, seed: int) -> dict[str, object]:
    model, train, _ = golden.load()
    return shown(mpf.log_partition(model, method, seed=seed, base_data=train))


def trapped(seed: int) -> dict[str, object]:
    mnist = mpf.load_dataset("mnist")
    model = trap.train(mnist, seed)
    estimate = mpf.log_partition(model, "trajectory", seed=seed, base_data=mnist.train, max_seconds=SECONDS)
    return {"exact": mpf.log_partition(model, "exact").value, **shown(estimate)}


def shown(estimate: mpf.Estimate) -> dict[str, object]:
    figures = {name: estimate.settings[name] for name in SHOWN if name in estimate.settings}
    return {**estimate.record(), "verdict": estimate.verdict, "warnings": list(estimate.warnings), **figures}


def main() -> dict[str, object]:
    parts = {f"golden, {method}, seed {seed}": partial(published, method, seed) for method, seed in GOLDEN}
    parts |= {f"trap, seed {seed}, {SECONDS:g} s": partial(trapped, seed) for seed in range(5)}
    return {"runs": in_parts("ladders", parts)}
