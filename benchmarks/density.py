"""RBMs on nltcs, plants and dna, which density estimators are compared on: test log-likelihoods. About 25 minutes on one core.

Needs density_estimation/ in MINPROBFLOW_DATA. For each set, rule and number of hidden units, learning rate, l2 and epochs (early
stopping) are chosen by the lower end of the interval around the validation log-likelihood, with a seed that is not used again. The test
rows are then judged once for each of three other seeds. Finished parts are kept in results/density.partial.json: a run that was
interrupted goes on from there. dna is also fitted as what it is, 60 letters of an alphabet of four: each state of the letters is one of
the bits, so the log-likelihoods compare.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minprobflow as mpf
from benchmarks.chow_liu import log_likelihoods
from minprobflow.data import Dataset
from minprobflow.files import write_atomically
from minprobflow.likelihood import from_log_partition

PARTIAL = Path(__file__).parent / "results" / "density.partial.json"
TUNING, SEEDS = 1000, 3
UNIT_RATES = {"cd": 0.1, "pcd": 0.1, "fpmpf": 0.2}  # the gradient of log J is half as large
RULES = tuple(UNIT_RATES)
TUNING_BETAS, BETAS = 4000, 16_000


class Plan(NamedTuple):
    """What is tried on a set. Rates are multiples of UNIT_RATES."""

    hidden: tuple[int, ...]
    rates: tuple[float, ...]
    penalties: tuple[float, ...]
    epochs: tuple[int, ...]
    batch_size: int
    k: int

    def settings(self) -> list[dict[str, float]]:
        return [
            {"rate": rate, "l2": l2, "epochs": epochs} for rate, l2, epochs in itertools.product(self.rates, self.penalties, self.epochs)
        ]


PLANS = {
    "nltcs": Plan((20, 100), (3.0, 10.0), (0.0,), (100, 300), 100, 1),
    "plants": Plan((20, 100), (3.0,), (0.0, 1e-4), (150,), 100, 5),
    "dna": Plan((20, 100), (2.0,), (3e-3, 1e-2), (100, 300), 50, 5),
}
LETTERS = {
    "Potts": Plan((0,), (1.0,), (1e-2, 3e-2), (100,), 50, 1),
    "CategoricalRBM": Plan((20,), (2.0,), (3e-3, 1e-2, 3e-2), (50, 100), 50, 1),
}

PUBLISHED = {  # test log-likelihoods on the same files
    "nltcs": {"sum-product network nltcs.spn, in the tests of RPCircuits.jl": -19582.020235794218 / 3236},  # they give the sum
    "plants": {},
    "dna": {},
}


class Kept:
    """Records by name, written as they are made."""

    def __init__(self, file: Path):
        self.file = file
        self.records = json.loads(file.read_text()) if file.exists() else {}

    def get(self, name: str, make: Callable[[], dict]) -> dict:
        if name not in self.records:
            self.records[name] = make()
            print(f"{name}: {self.records[name]}", flush=True)
            self.file.parent.mkdir(exist_ok=True)
            write_atomically(self.file, (json.dumps(self.records, indent=1) + "\n").encode())
        return self.records[name]


def train(new: Callable, data: Dataset, rule: str, plan: Plan, setting: dict, seed: int):
    spec = mpf.rule(rule, k=plan.k)
    return mpf.fit(
        new(seed),
        data.train,
        spec,
        epochs=int(setting["epochs"]),
        batch_size=plan.batch_size,
        learning_rate=setting["rate"] * UNIT_RATES[rule],
        l2=setting["l2"],
        seed=seed,
        progress=False,
    ).model


def judged(new, data: Dataset, part: np.ndarray, rule: str, plan: Plan, setting: dict, seed: int, max_betas: int) -> dict:
    """The log-likelihood of `part` under a newly trained model; none at all if training diverged."""
    try:
        model = train(new, data, rule, plan, setting, seed)
    except mpf.TrainingDiverged:
        return {"lower": -1e9, "diverged": True}
    log_z = mpf.log_partition(model, seed=seed, base_data=data.train, max_betas=max_betas)
    found = from_log_partition(model, part, log_z)
    return {
        **found.record(),
        "stderr_over_examples": found.settings["stderr_over_examples"],
        "method": found.method,
        "verdict": found.verdict,
    }


def best(kept: Kept, title: str, new, data: Dataset, rule: str, plan: Plan) -> dict:
    """The setting chosen on validation rows, and the test figures of three models trained with it."""
    tried = []
    for setting in plan.settings():
        name = f"{title}, {setting}, valid"
        tried.append((kept.get(name, lambda s=setting: judged(new, data, data.valid, rule, plan, s, TUNING, TUNING_BETAS)), setting))
    valid, chosen = max(tried, key=lambda pair: pair[0]["lower"])
    runs = [
        kept.get(f"{title}, {chosen}, test, seed {seed}", lambda s=seed: judged(new, data, data.test, rule, plan, chosen, s, BETAS))
        for seed in range(SEEDS)
    ]
    return {"rule": rule, "k": plan.k, **chosen, "batch_size": plan.batch_size, "valid": valid, "tried": len(tried), "test": runs}


def rbms(kept: Kept, data: Dataset, plan: Plan) -> list[dict]:
    rows = []
    for hidden, rule in itertools.product(plan.hidden, RULES):
        new = lambda seed, hidden=hidden: mpf.RBM.init(seed, data.train.shape[1], hidden, data=data.train)  # noqa: E731
        rows.append({"model": "RBM", "hidden": hidden, **best(kept, f"{data.name}, {hidden} hidden, {rule}", new, data, rule, plan)})
    return rows


def as_letters(bits: np.ndarray) -> np.ndarray:
    """Three bits a letter, of which at most one is set."""
    triples = bits.reshape(len(bits), -1, 3)
    assert triples.sum(2).max() == 1
    return np.where(triples.any(2), 1 + triples.argmax(2), 0).astype(np.uint8)


def of_letters(kept: Kept, data: Dataset) -> list[dict]:
    letters = data._replace(train=as_letters(data.train), valid=as_letters(data.valid), test=as_letters(data.test))
    size, rows = letters.train.shape[1], []
    for name, plan in LETTERS.items():
        (hidden,) = plan.hidden

        def new(seed, name=name, hidden=hidden):
            if name == "Potts":
                return mpf.Potts.init(size, 4, letters.train)
            return mpf.CategoricalRBM.init(seed, size, 4, hidden, data=letters.train)

        rows.append({"model": f"{name} of letters", "hidden": hidden, **best(kept, f"dna, {name}", new, letters, "pcd", plan)})
    return rows


def simple(data: Dataset) -> dict[str, dict[str, float]]:
    """Independent units and the Chow-Liu tree."""
    found = {}
    for name, tree in (("independent units", False), ("Chow-Liu tree", True)):
        values = log_likelihoods(data.train, data.test, tree)
        found[name] = {"value": float(values.mean()), "stderr_over_examples": float(values.std(ddof=1) / np.sqrt(len(values)))}
    return found


def main() -> dict[str, object]:
    kept, sets = Kept(PARTIAL), {}
    for name, plan in PLANS.items():
        data = mpf.load_dataset(name)
        rows = rbms(kept, data, plan) + (of_letters(kept, data) if name == "dna" else [])
        sets[name] = {
            "sizes": [len(data.train), len(data.valid), len(data.test)],
            "simple": simple(data),
            "published": PUBLISHED[name],
            "rows": rows,
        }
    PARTIAL.unlink(missing_ok=True)
    return {"seeds": SEEDS, "max_betas": BETAS, "sets": sets}
