"""The likelihood while training (trajectory AIS) against exact log Z: every rule on MNIST with 20 hidden units; and what it costs.

python -m benchmarks.trajectory_ais runs [RULE]   runs that are not on record yet (of one rule): half a minute to two each
python -m benchmarks.trajectory_ais cost          training with and without the chains, in turn, on an idle machine: 3 minutes
python -m benchmarks.trajectory_ais               what is on record
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np

import minprobflow as mpf
from minprobflow import records
from minprobflow.runs.validation import Validation
from minprobflow.train.tracking import TrackedPartition
from minprobflow.train.watching import NAMES

RESULTS = Path(__file__).parent / "results" / "trajectory_ais.jsonl"
HIDDEN, EPOCHS, SEEDS, CHAINS = 20, 20, 3, 200
RULES = {"cd": 10, "pcd": 10, "fmpf": 10, "pmpf": 10, "fpmpf": 10, "mpf-1flip": None, "pseudo-likelihood": None}  # with k
AVERAGES = (None, 0.999)
LOOKS = (1, 2, 5, 10, 20)


def measure(rule: str, seed: int, average: float | None) -> dict[str, object]:
    """One run: log Z by the chains and by a quick look with AIS, less the exact one, at some epochs."""
    data = mpf.load_dataset("mnist")
    settings = {} if RULES[rule] is None else {"k": RULES[rule]}
    model = mpf.BernoulliRBM.init(seed, data.train.shape[1], HIDDEN, data.train)
    look_at, looks = Validation(model, data, "ais"), []

    def look(epoch: mpf.train.Epoch) -> None:
        if epoch.number not in LOOKS:
            return
        exact = mpf.log_partition(epoch.model, "exact", progress=False).value
        found = TrackedPartition(*(float(epoch.metrics[name]) for name in NAMES))
        quick = look_at(epoch.model, seed + epoch.number)
        rows = -float(np.mean(np.asarray(epoch.model.free_energy(data.valid[:5000]), np.float64)))
        looks.append(
            {
                "epoch": epoch.number,
                "exact": exact,
                "error": found.value - exact,
                "stderr": found.stderr,
                "reverse_error": found.reverse - exact,
                "covered": found.lower <= exact <= found.upper,
                "quick_error": rows - quick.valid - exact,
                "quick_stderr": quick.stderr,
            }
        )

    mpf.fit(
        model,
        data.train,
        rule,
        epochs=EPOCHS,
        seed=seed,
        average=average,
        likelihood_chains=CHAINS,
        callbacks=[look],
        progress=False,
        **settings,
    )
    return {
        "kind": "run",
        "rule": rule,
        "k": RULES[rule],
        "seed": seed,
        "average": average,
        "epochs": EPOCHS,
        "chains": CHAINS,
        "looks": looks,
    }


def cost(hidden: int, k: int = 10, epochs: int = 25, rounds: int = 2) -> dict[str, object]:
    """Seconds per epoch of PCD with and without the chains, in turn; the first epoch, which holds compilation, is left out."""
    data = mpf.load_dataset("mnist")
    model = mpf.BernoulliRBM.init(0, data.train.shape[1], hidden, data.train)
    seconds: dict[int, list[list[float]]] = {0: [], CHAINS: []}
    for _ in range(rounds):
        for chains, taken in seconds.items():
            laps = [time.perf_counter()]
            mpf.fit(
                model,
                data.train,
                "pcd",
                k=k,
                epochs=epochs,
                likelihood_chains=chains,
                progress=False,
                callbacks=[lambda epoch, laps=laps: laps.append(time.perf_counter())],
            )
            taken.append(np.diff(laps)[1:].tolist())
    best = {chains: np.min(taken, 0) for chains, taken in seconds.items()}  # of each epoch
    return {
        "kind": "cost",
        "hidden": hidden,
        "k": k,
        "epochs": epochs,
        "seconds_per_epoch": float(best[0].mean()),
        "share": float(best[CHAINS].sum() / best[0].sum() - 1),
        "share_of_each_epoch": [float(x) for x in best[CHAINS] / best[0] - 1],
    }


def on_record() -> list[dict[str, object]]:
    return records.read_lines(RESULTS)[0]


def verdict(end: dict[str, object]) -> str:
    """That of the library as it is."""
    return TrackedPartition(end["error"], end["stderr"], end["reverse_error"]).verdict


def summary() -> dict[str, object]:
    """Of the ends of the runs."""
    found: dict[str, object] = {}
    runs = [record for record in on_record() if record["kind"] == "run"]
    for average in AVERAGES:
        ends = [(record["rule"], record["looks"][-1]) for record in runs if record["average"] == average]
        for rule in RULES:
            own = [end for name, end in ends if name == rule]
            if own:
                found[f"{rule}, average {average}"] = {
                    "runs": len(own),
                    "errors": [round(end["error"], 2) for end in own],
                    "stderrs": [round(end["stderr"], 2) for end in own],
                    "reverse_errors": [round(end["reverse_error"], 2) for end in own],
                    "verdicts": [verdict(end) for end in own],
                    "quick_errors": [round(end["quick_error"], 2) for end in own],
                }
        if ends:
            trusted = [end for _, end in ends if verdict(end) != "do not trust"]
            found[f"all, average {average}"] = {
                "runs": len(ends),
                "covered": sum(end["covered"] for _, end in ends),
                "covered_unless_do_not_trust": f"{sum(end['covered'] for end in trusted)} of {len(trusted)}",
                "median_abs_error": statistics.median(abs(end["error"]) for _, end in ends),
                "median_abs_error_of_quick_look": statistics.median(abs(end["quick_error"]) for _, end in ends),
            }
    costs = {
        f"cost, {record['hidden']} hidden, PCD-{record['k']}, {record['epochs']} epochs": record
        for record in on_record()
        if record["kind"] == "cost"
    }
    shown = ("share", "seconds_per_epoch")
    return found | {
        name: {field: round(record[field], 3) for field in shown}
        | {"last_epochs": round(statistics.mean(record["share_of_each_epoch"][-5:]), 3)}
        for name, record in costs.items()
    }


def main() -> dict[str, object]:
    what, *which = [*sys.argv[1:], ""]
    if what == "cost":
        for hidden in (20, 200):
            records.append_line(RESULTS, cost(hidden))
    if what == "runs":
        done = {(record["rule"], record["seed"], record["average"]) for record in on_record() if record["kind"] == "run"}
        for seed in range(SEEDS):
            for average in AVERAGES:
                for rule in RULES:
                    if which[0] in ("", rule) and (rule, seed, average) not in done:
                        records.append_line(RESULTS, measure(rule, seed, average))
                        print(on_record()[-1], flush=True)
    return summary()


if __name__ == "__main__":
    for name, value in main().items():
        print(name, value)
