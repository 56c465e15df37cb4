"""Calls of every public function with wrong types and extreme values.

`api_cases(rng)` never ends: each case replaces one or two arguments of a call that works. `outcome(call)` says whether the library kept
its rule: an `InputError` that says how to fix it, or a right result; never another exception, and no NaN.

    python tests/hostile.py SEED CALLS      prints the calls that broke the rule, and exits with 1 if there are any
"""

from __future__ import annotations

import collections
import faulthandler
import itertools
import os
import sys
import tempfile
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import minprobflow as mpf
from minprobflow import connectivity, enumeration, likelihood, models, numerics, rates, samplers

ROWS = (np.arange(60).reshape(12, 5) * 7 % 3 == 0).astype(np.uint8)
LETTERS = np.arange(60).reshape(12, 5) * 7 % 3
REALS = np.sin(np.arange(60.0)).reshape(12, 5)
W = np.sin(np.arange(15.0)).reshape(5, 3)
RBM = mpf.RBM(W, np.zeros(5), np.zeros(3))
ISING = mpf.Ising.init(5)
SPEED = {"epochs": 1, "batch_size": 4, "progress": False}
SCALARS = (None, True, False, "1", "", "auto", b"1", 1j, float("nan"), float("inf"), -float("inf"), -1, 0, 1.5, 2.0, 1e300, 1e-320, -1e30)
SCALARS += (2**31, 2**32, 2**63, 2**64, 10**400, -(10**400), np.int8(-3), np.float32("nan"), np.array(2), np.array(2.5), np.bool_(True))
THINGS = (
    [],
    [None],
    (),
    {},
    {"a": 1},
    {1: 2, "b": 3},
    set(),
    object(),
    lambda: None,
    lambda *_: "x",
    lambda key: key,
    int,
    mpf.RBM,
    mpf,
    ...,
)
THINGS += (
    np.zeros(3),
    np.zeros((0, 5)),
    np.full((2, 5), np.nan),
    np.zeros((2, 2, 5)),
    np.array("text"),
    np.array([object()]),
    [[1, 2], [3]],
)
THINGS += (np.zeros((2, 4)), np.full((2, 5), 3e38), np.ones((2, 5)) * 1j, [["a"] * 5], jnp.zeros(()), jnp.zeros((2, 5), bool))
THINGS += (
    RBM,
    ISING,
    mpf.CD(),
    mpf.CD,
    jax.random.key(1),
    jax.random.split(jax.random.key(1)),
    memoryview(b"12345"),
    np.datetime64("2020"),
)


class Strange:
    """Nothing about it works."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise ValueError("no array")

    def __float__(self) -> float:
        raise ValueError("no float")

    def __index__(self) -> int:
        raise TypeError("no index")


MODELS = (None, "rbm", mpf.RBM, ROWS, {}, lambda key: RBM, mpf.Ising, jax.random.key(0), mpf.CD())
MODELS += tuple(mpf.RBM(np.full((5, 3), value, np.float32), np.zeros(5), np.zeros(3)) for value in (np.nan, np.inf, 1e38, -3e38, 1e20))
PATHS = (None, 3, b"x", "", "\0", "a\0b", [], {}, object(), 1.5, lambda: None, mpf.RBM, ".", "nowhere/at/all", "a" * 300, "\udcff")


def works(folder: str) -> dict[str, tuple]:
    """By label: a function and arguments with which it works."""
    file = os.path.join(folder, "model.safetensors")
    mpf.save(RBM, file)
    state = mpf.fit(RBM, ROWS, "cd", **SPEED).state
    kept = os.path.join(folder, "state.safetensors")
    mpf.save_state(state, kept)
    log_z = mpf.log_partition(RBM)
    J, fields, letters = np.zeros((5, 5)), np.zeros(5), np.zeros((5, 3))
    ais = {"chains": 10, "betas": 10, "schedule": "linear", "samples": "gibbs", "sample_steps": 5, "target_stderr": 0.1, "target_gap": 0.5}
    common = {**SPEED, "optimizer": "sgd", "learning_rate": 0.1, "seed": 0, "centred": None, "l1": 0.0, "l2": 0.0, "average": None}
    common |= {"callbacks": (), "resume": False, "state": None, "seeds": None}
    particle = {"k": 1, "refresh": 1, "n_particles": 4, "min_ess": 0.5}
    tempering = {"key": 0, "model": RBM, "states": np.zeros((2, 3, 5)), "betas": [0.0, 1.0], "steps": 2, "base": None}
    cases = {
        "RBM": (mpf.RBM, {"weights": W, "visible_bias": fields, "hidden_bias": np.zeros(3), "tau": 1.0}),
        "RBM.init": (mpf.RBM.init, {"key": 0, "n_visible": 5, "n_hidden": 3, "data": ROWS, "tau": 1.0}),
        "Ising": (mpf.Ising, {"pairs": J, "fields": fields, "tau": 1.0}),
        "Ising.init": (mpf.Ising.init, {"n_visible": 5, "data": ROWS, "tau": 1.0}),
        "Ising.from_spins": (mpf.Ising.from_spins, {"couplings": J, "fields": fields, "tau": 1.0}),
        "Potts": (mpf.Potts, {"fields": letters, "couplings": np.zeros((5, 3, 5, 3)), "tau": 1.0}),
        "Potts.init": (mpf.Potts.init, {"size": 5, "n_values": 3, "data": LETTERS, "tau": 1.0}),
        "Potts.contact_scores": (mpf.Potts.init(5, 3).contact_scores, {"leave_out": 1}),
        "CategoricalRBM": (
            mpf.CategoricalRBM,
            {"weights": np.zeros((5, 3, 2)), "visible_bias": letters, "hidden_bias": np.zeros(2), "tau": 1.0},
        ),
        "CategoricalRBM.init": (
            mpf.CategoricalRBM.init,
            {"key": 0, "n_visible": 5, "n_values": 3, "n_hidden": 2, "data": LETTERS, "tau": 1.0},
        ),
        "GaussianRBM": (
            mpf.GaussianRBM,
            {"weights": W, "visible_bias": fields, "hidden_bias": np.zeros(3), "log_variance": fields, "min_variance": 0.1},
        ),
        "GaussianRBM.init": (mpf.GaussianRBM.init, {"key": 0, "n_visible": 5, "n_hidden": 3, "data": REALS, "min_variance": None}),
        "EnergyModel": (mpf.EnergyModel, {"energy": lambda p, v: v @ p, "params": np.zeros(5, np.float32), "space": 5}),
        "Binary": (mpf.Binary, {"size": 5}),
        "Categorical": (mpf.Categorical, {"size": 5, "n_values": 3}),
        "Real": (mpf.Real, {"size": 5}),
        "Binary.check": (mpf.Binary(5).check, {"data": ROWS}),
        "Categorical.check": (mpf.Categorical(5, 3).check, {"data": LETTERS}),
        "Real.check": (mpf.Real(5).check, {"data": REALS}),
        **{f"{rule.__name__}": (rule, particle) for rule in (mpf.CD, mpf.PCD, mpf.FMPF, mpf.PMPF, mpf.FPMPF)},
        "MPF1Flip": (mpf.MPF1Flip, {"o": "zero", "log": True}),
        "rule": (mpf.rule, {"name": "cd", "k": 1}),
        "rule of a spec": (lambda **settings: mpf.rule(mpf.CD(), **settings), {"k": 1, "refresh": 2}),
        "fit": (mpf.fit, {"model": RBM, "data": ROWS, "rule": "cd", "k": 1, **common}),
        "fit Ising": (mpf.fit, {"model": ISING, "data": ROWS, "rule": "mpf-1flip", **common}),
        "fit_convex": (
            mpf.fit_convex,
            {"model": ISING, "data": ROWS, "objective": "mpf-1flip", "counts": None, "l1": 0.0, "l2": 0.1, "tolerance": 1e-2}
            | {"max_iterations": 5, "progress": False},
        ),
        "sample": (
            mpf.sample,
            {"model": RBM, "n": 12, "steps": 2, "seed": 0, "start": ROWS, "held": np.ones(5), "kernel": None},
        ),
        "sample from noise": (mpf.sample, {"model": RBM, "n": 12, "steps": 2, "seed": 0}),
        "impute": (mpf.impute, {"model": RBM, "incomplete": ROWS, "steps": 3, "burn_in": 1, "seed": 0}),
        "run": (samplers.run, {"key": 0, "model": RBM, "v": ROWS, "steps": 2, "kernel": samplers.block_gibbs, "held": None}),
        "block_gibbs": (samplers.block_gibbs, {"key": 0, "model": RBM, "v": ROWS}),
        "parallel_tempering": (mpf.parallel_tempering, tempering),
        "moments": (mpf.moments, {"model": RBM, "method": "auto", "chains": 10, "burn_in": 1, "steps": 2, "start": None, "seed": 0}),
        "moments by sampling": (mpf.moments, {"model": RBM, "method": "sampled", "chains": 10, "burn_in": 1, "steps": 2, "start": ROWS}),
        "log_partition": (mpf.log_partition, {"model": RBM, "method": "auto", "seed": 0, "base_data": None, "progress": None}),
        "log_partition by AIS": (mpf.log_partition, {"model": RBM, "method": "ais", "seed": 0, "base_data": ROWS, **ais}),
        "log_likelihood": (mpf.log_likelihood, {"model": RBM, "data": ROWS, "method": "exact", "seed": 0, "base_data": None}),
        "log_likelihood by CSL": (
            mpf.log_likelihood,
            {"model": RBM, "data": ROWS, "method": "csl", "chains": 10, "samples": 2, "burn_in": 1, "thinning": 1, "start": "noise"},
        ),
        "log_likelihood by pseudo": (mpf.log_likelihood, {"model": RBM, "data": ROWS, "method": "pseudo"}),
        "AIS": (likelihood.AIS, {**ais, "first_betas": 10, "max_betas": 20, "max_seconds": 1.0}),
        "CSL": (likelihood.CSL, {"chains": 10, "samples": 2, "burn_in": 1, "thinning": 1, "start": "noise"}),
        "Estimate": (
            mpf.Estimate,
            {"value": 1.0, "stderr": 0.1, "lower": 0.0, "upper": 2.0, "ess": 3.0, "method": "ais", "verdict": "trusted"},
        ),
        "from_log_partition": (likelihood.from_log_partition, {"model": RBM, "data": ROWS, "log_z": log_z}),
        "exact_log_partition": (likelihood.exact_log_partition, {"model": RBM}),
        "exact_log_partition_and_gradient": (likelihood.exact_log_partition_and_gradient, {"model": RBM}),
        "pseudo_log_likelihoods": (likelihood.pseudo_log_likelihoods, {"model": RBM, "rows": ROWS}),
        "enumeration.log_partition": (enumeration.log_partition, {"model": RBM}),
        "is_enumerable": (enumeration.is_enumerable, {"model": RBM, "max_units": 20}),
        "gibbs": (connectivity.gibbs, {"start": "data", "batch_size": 4, "n_particles": 4, **particle}),
        "check_odd": (rates.check_odd, {"o": "zero"}),
        "as_key": (numerics.as_key, {"key": 0}),
        "free_energy": (RBM.free_energy, {"v": ROWS}),
        "energy": (RBM.energy, {"v": ROWS, "h": np.zeros((12, 3))}),
        "hidden_logits": (RBM.hidden_logits, {"v": ROWS}),
        "sample_hidden": (RBM.sample_hidden, {"key": 0, "v": ROWS}),
        "EnergyModel.free_energy": (mpf.EnergyModel(lambda p, v: v @ p, np.zeros(5, np.float32), 5).free_energy, {"v": ROWS}),
        "save": (mpf.save, {"model": RBM, "path": file, "provenance": None}),
        "load": (mpf.load, {"path": file}),
        "save_state": (mpf.save_state, {"state": state, "path": kept, "settings": None}),
        "load_state": (mpf.load_state, {"path": kept, "like": state, "settings": None}),
        "load_dataset": (mpf.load_dataset, {"name": "digits"}),
    }
    return cases


def api_cases(rng):
    """Endlessly (label, function without arguments), in random order; `rng` is a generator of NumPy's."""
    with tempfile.TemporaryDirectory() as folder:
        cases = works(folder)
        labels = list(cases)
        while True:
            for label in rng.permutation(labels):
                function, right = cases[label]
                names = list(right)
                chosen = rng.permutation(names)[: 1 if rng.random() < 0.8 else 2]
                wrong = {name: _hostile(rng, name, folder) for name in chosen}
                said = ", ".join(f"{name}={_text(value)}" for name, value in wrong.items())
                yield f"{label}({said})", lambda f=function, a={**right, **wrong}: f(**a)


def _hostile(rng, name, folder):
    if name == "path":
        value = PATHS[rng.integers(len(PATHS))]
        return os.path.join(folder, value) if isinstance(value, str) and value.strip("\0") == value != "" else value
    if name == "model" and rng.random() < 0.5:
        return MODELS[rng.integers(len(MODELS))]
    values = (SCALARS, THINGS, (Strange(), mpf.load_dataset("digits")))[rng.choice(3, p=(0.6, 0.37, 0.03))]
    return values[rng.integers(len(values))]


def _text(value):
    try:
        return repr(value)[:60].replace("\n", " ")
    except Exception:
        return type(value).__name__


def outcome(call):
    """None where the rule was kept; else what went wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except mpf.TrainingDiverged:
        return None
    except mpf.InputError as problem:
        text = str(problem)
        return None if len(text) > 20 and " at 0x" not in text else f"says too little: {text!r}"
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:200]}"
    if isinstance(result, mpf.Estimate):
        return None if np.isfinite(result.value) or result.verdict == "do not trust" else f"{result.value} is {result.verdict}"
    if isinstance(result, models.Model):
        return None  # one with such parameters is refused where it is used
    given = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array | np.ndarray | float)]
    floats = [np.asarray(leaf) for leaf in given if jnp.issubdtype(getattr(leaf, "dtype", float), np.floating)]
    return "NaN" if any(np.isnan(leaf).any() for leaf in floats) else None


def main(seed: int, calls: int) -> int:
    """Print what broke the rule."""
    broken = collections.Counter()
    for label, call in itertools.islice(api_cases(np.random.default_rng(seed)), calls):
        faulthandler.dump_traceback_later(60, exit=True)  # a hang ends with where it was
        print(label, file=sys.stderr)
        if problem := outcome(call):
            print(f"{label}: {problem}", flush=True)
            broken[label.split("(")[0]] += 1
    faulthandler.cancel_dump_traceback_later()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
