"""Does replica exchange along a ladder know when it is wrong? 300 small RBMs made to mislead it, against enumeration. About ten minutes.

Two deep modes of unequal mass, far apart; a wide flat mode far from the data; stored patterns; parities. The ladder is made by scaling
the weights.
"""

import collections
from functools import partial

import numpy as np

import minprobflow as mpf
from benchmarks.parts import in_parts

N_VISIBLE, N_HIDDEN = 20, 10
MODELS = 300
ROUNDS = 4000


def two_modes(rng: np.random.Generator) -> tuple[mpf.RBM, np.ndarray | None]:
    """A pattern and its opposite, between which a chain has to cross a barrier; the hidden biases favour one of them."""
    strength, tilt = rng.uniform(0.03, 0.25), rng.uniform(0.0, 2.0)
    visible, hidden = (rng.choice([-1.0, 1.0], size=n) for n in (N_VISIBLE, N_HIDDEN))
    noise = rng.normal(scale=0.02, size=(N_VISIBLE, N_HIDDEN))
    return _of_spins(strength * np.outer(visible, hidden) + noise, np.zeros(N_VISIBLE), tilt / N_HIDDEN * hidden), None


def wide_and_flat(rng: np.random.Generator) -> tuple[mpf.RBM, np.ndarray | None]:
    """A narrow mode, where the data are, and a flat one of all states, which outweighs it or not."""
    depth, excess = rng.uniform(1.0, 4.0), rng.uniform(-4.0, 4.0)
    pattern = rng.integers(0, 2, size=N_VISIBLE)
    weights = rng.normal(scale=0.1, size=(N_VISIBLE, N_HIDDEN))
    weights[:, 0] = depth * (2 * pattern - 1)
    narrow = np.logaddexp(0, weights[:, 0]).sum()
    hidden = rng.normal(scale=0.1, size=N_HIDDEN)
    hidden[0] = N_VISIBLE * np.log(2) - narrow + excess
    data = np.where(rng.random((200, N_VISIBLE)) < 1 / (1 + np.exp(-depth)), pattern, 1 - pattern)
    return mpf.BernoulliRBM(weights, np.zeros(N_VISIBLE), hidden), data


def stored_patterns(rng: np.random.Generator) -> tuple[mpf.RBM, np.ndarray | None]:
    """A few patterns, each held by hidden units of its own; the data are near them."""
    patterns = rng.choice([-1.0, 1.0], size=(int(rng.integers(2, 6)), N_VISIBLE))
    weights = rng.uniform(0.05, 0.5) * patterns[np.arange(N_HIDDEN) % len(patterns)].T
    rows = patterns[rng.integers(len(patterns), size=200)] * np.where(rng.random((200, N_VISIBLE)) < 0.1, -1, 1)
    return _of_spins(weights, np.zeros(N_VISIBLE), rng.normal(scale=0.3, size=N_HIDDEN)), (rows > 0).astype(np.uint8)


def parities(rng: np.random.Generator) -> tuple[mpf.RBM, np.ndarray | None]:
    """An even number of the units of each of two triples is set, more or less strictly: four hidden units find one case each."""
    sharp, reward = rng.uniform(2.0, 8.0), rng.uniform(1.0, 8.0)
    weights, hidden = 0.1 * rng.normal(size=(N_VISIBLE, N_HIDDEN)), np.zeros(N_HIDDEN)
    places = rng.permutation(N_VISIBLE)[:6].reshape(2, 3)
    even = np.asarray([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    for unit, (triple, case) in enumerate((triple, case) for triple in places for case in even):
        weights[triple, unit] = sharp * (2 * case - 1)
        hidden[unit] = reward - sharp * case.sum()
    return mpf.BernoulliRBM(weights, np.zeros(N_VISIBLE), hidden), None


KINDS = (two_modes, wide_and_flat, stored_patterns, parities)


def _of_spins(weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> mpf.RBM:
    """The same distribution with bits, by s = 2v - 1."""
    return mpf.BernoulliRBM(4 * weights, 2 * (visible - weights.sum(1)), 2 * (hidden - weights.sum(0)))


def record(number: int) -> dict[str, object]:
    """One model and its estimate."""
    make = KINDS[number % len(KINDS)]
    model, rows = make(np.random.default_rng([7, number]))
    exact = mpf.log_partition(model, "exact").value
    e = mpf.log_partition(model, "trajectory", seed=number, base_data=rows, max_rounds=ROUNDS)
    return {
        "number": number,
        "kind": make.__name__,
        "exact": exact,
        "value": e.value,
        "stderr": e.stderr,
        "lower": e.lower,
        "upper": e.upper,
        "verdict": e.verdict,
        "warnings": list(e.warnings),
        "rungs": e.settings["rungs"],
        "rounds": e.settings["rounds"],
        "seconds": e.settings["seconds"],
    }


def summary(rows: list[dict[str, object]]) -> dict[str, object]:
    """What the records say together."""

    def error(row: dict) -> float:
        return abs(row["value"] - row["exact"])

    def covered(row: dict) -> bool:
        return row["lower"] - 1e-4 <= row["exact"] <= row["upper"] + 1e-4

    trusted = [row for row in rows if row["verdict"] == "trusted"]
    by_kind = {kind.__name__: collections.Counter(r["verdict"] for r in rows if r["kind"] == kind.__name__) for kind in KINDS}
    return {
        "models": len(rows),
        "verdicts": dict(collections.Counter(row["verdict"] for row in rows)),
        "verdicts_by_kind": {kind: dict(found) for kind, found in by_kind.items()},
        "trusted_share": len(trusted) / max(len(rows), 1),
        "trusted_off_by_more_than_1_nat": sum(error(row) > 1 for row in trusted),
        "largest_error_of_trusted": max(map(error, trusted), default=0.0),
        "largest_error_of_others": max((error(row) for row in rows if row["verdict"] != "trusted"), default=0.0),
        "coverage": float(np.mean([covered(row) for row in rows])),
        "coverage_of_trusted": float(np.mean([covered(row) for row in trusted])) if trusted else None,
        "coverage_of_trusted_by_value_and_stderr": float(np.mean([error(row) <= 1.96 * row["stderr"] for row in trusted]))
        if trusted
        else None,
        "median_seconds": float(np.median([row["seconds"] for row in rows])),
    }


def main() -> dict[str, object]:
    result = summary(list(in_parts("adversarial", {f"{n}, {ROUNDS} rounds": partial(record, n) for n in range(MODELS)}).values()))
    for name, value in result.items():
        print(f"{name}: {value}", flush=True)
    return result
