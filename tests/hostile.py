"""Calls of every public function with wrong types and extreme values.

`api_cases(rng)` never ends: each case replaces one or two arguments of a call that works. `outcome(call)` says whether the library kept
its rule: an `InputError` that says how to fix it, or a right result; never another exception, and no NaN. The scikit-learn
estimator may also leave a refusal to scikit-learn's own checks.

    python tests/hostile.py SEED CALLS      prints the calls that broke the rule, and exits with 1 if there are any
"""

from __future__ import annotations

import collections
import faulthandler
import functools
import inspect
import itertools
import os
import pickle
import sys
import tempfile
import traceback
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import sklearn
import sklearn.base

import minprobflow as mpf
from minprobflow import data, enumeration, flow, likelihood, models, numerics, runs, samplers, testing, train, units

ROWS = (np.arange(60).reshape(12, 5) * 7 % 3 == 0).astype(np.uint8)
LETTERS = np.arange(60).reshape(12, 5) * 7 % 3
REALS = np.sin(np.arange(60.0)).reshape(12, 5)
W = np.sin(np.arange(15.0)).reshape(5, 3)
RBM = mpf.BernoulliRBM(W, np.zeros(5), np.zeros(3))
ISING = mpf.Ising.init(5)
BASE = RBM.base(jnp.full(5, 0.5, jnp.float32))
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
THINGS += (np.ma.masked_array(np.zeros((2, 5)), np.eye(2, 5)), np.full((2, 3), 1e308), np.full((12, 5), 0.5), mpf.Binary(5))
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
MODELS += tuple(
    mpf.BernoulliRBM(np.full((5, 3), value, np.float32), np.zeros(5), np.zeros(3)) for value in (np.nan, np.inf, 1e38, -3e38, 1e20)
)
PATHS = (None, 3, b"x", "", "\0", "a\0b", [], {}, object(), 1.5, lambda: None, mpf.RBM, ".", "nowhere/at/all", "a" * 300, "\udcff")


def works(folder: str) -> dict[str, tuple]:
    """By label: a function and arguments with which it works."""
    file = os.path.join(folder, "model.safetensors")
    mpf.save(RBM, file)
    state = mpf.fit(RBM, ROWS, "cd", **SPEED).state
    kept = os.path.join(folder, "state.safetensors")
    mpf.save_state(state, kept)
    log_z, rungs = mpf.log_partition(RBM), os.path.join(folder, "trajectory.safetensors")
    mpf.Trajectory.scaled(RBM, n=3).save(rungs)
    J, fields, letters = np.zeros((5, 5)), np.zeros(5), np.zeros((5, 3))
    ais = {"chains": 10, "betas": 10, "schedule": "linear", "samples": "gibbs", "sample_steps": 5, "target_stderr": 0.1, "target_gap": 0.5}
    table, fasta = os.path.join(folder, "table.csv"), os.path.join(folder, "family.fasta")
    with open(table, "w") as text:
        text.write("a,b,c,d,e\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS))
    with open(fasta, "w") as text:
        text.write(data.fasta_text(LETTERS))
    file_options = {"split": (0.8, 0.1, 0.1), "seed": 0, "real": False, "whole": False, "signs": False, "drop": ("a",)}
    file_options |= dict.fromkeys(("threshold", "labels", "alphabet", "missing", "valid", "test"))
    named = data.ColumnNames(tuple("abcde"), None)
    config = {"data": table, "hidden": 3, "epochs": 1, "batch_size": 4}
    runs_config = {"data": table, "model": "rbm", "epochs": 1, "batch_size": 4, "score": "auto", "looks": 1, "evaluate_every": 1, "seed": 0}
    runs_config |= {"likelihood_chains": 0, "trajectory": False, "stop_when": None, "patience": 2}
    runs_config |= {"data_options": {}, "model_settings": {"hidden": 3}, "rule_settings": {}, "optimizer": "sgd", "schedule": "linear"}
    digits, RBM64 = mpf.load_dataset("digits"), mpf.BernoulliRBM.init(0, 64, 3)
    common = {**SPEED, "optimizer": "sgd", "learning_rate": 0.1, "seed": 0, "centred": None, "l1": 0.0, "l2": 0.0, "average": None}
    common |= {"callbacks": (), "resume": False, "state": None, "seeds": None, "likelihood_chains": 0, "trajectory": False}
    particle = {"k": 1, "refresh": 1, "n_particles": 4, "min_ess": 0.5, "kernel": "auto"}
    tempering = {"seed": 0, "model": RBM, "states": np.zeros((2, 3, 5)), "betas": [0.0, 1.0], "steps": 2, "base": None}
    cases = {
        "RBM": (mpf.RBM, {"visible": mpf.Bernoulli(fields), "hidden": mpf.Gaussian(np.zeros(3)), "weights": W, "tau": 1.0}),
        "RBM.init": (mpf.RBM.init, {"seed": 0, "visible": mpf.Binary(5), "hidden": mpf.Real(3), "data": ROWS, "tau": 1.0}),
        "BernoulliRBM": (mpf.BernoulliRBM, {"weights": W, "visible_bias": fields, "hidden_bias": np.zeros(3), "tau": 1.0}),
        "BernoulliRBM.init": (mpf.BernoulliRBM.init, {"seed": 0, "n_visible": 5, "n_hidden": 3, "data": ROWS, "tau": 1.0}),
        "SpinRBM.init": (mpf.SpinRBM.init, {"seed": 0, "n_visible": 5, "n_hidden": 3, "data": 2.0 * ROWS - 1, "tau": 1.0}),
        "MixedRBM.init": (mpf.MixedRBM.init, {"seed": 0, "columns": (mpf.Binary(5),), "n_hidden": 3, "data": ROWS, "tau": 1.0}),
        "Bernoulli": (mpf.Bernoulli, {"bias": fields}),
        "Categorical": (mpf.Categorical, {"bias": letters}),
        "Spin": (mpf.Spin, {"bias": fields}),
        "SpinRBM": (mpf.SpinRBM, {"weights": W, "visible_bias": fields, "hidden_bias": np.zeros(3), "tau": 1.0}),
        "Mixed": (
            lambda first, second, columns: mpf.Mixed(first, second, columns=columns),
            {"first": mpf.Bernoulli(fields), "second": mpf.Gaussian(np.zeros(2)), "columns": ()},
        ),
        "Gaussian": (mpf.Gaussian, {"bias": fields, "log_variance": fields, "min_variance": 0.1}),
        "ReLU": (mpf.ReLU, {"bias": fields, "log_variance": fields, "min_variance": 0.1}),
        "Ising": (mpf.Ising, {"couplings": J, "fields": fields, "tau": 1.0}),
        "Ising.init": (mpf.Ising.init, {"n_visible": 5, "data": ROWS, "tau": 1.0}),
        "Ising.from_spins": (mpf.Ising.from_spins, {"couplings": J, "fields": fields, "tau": 1.0}),
        "Potts": (mpf.Potts, {"couplings": np.zeros((5, 3, 5, 3)), "fields": letters, "tau": 1.0}),
        "Potts.init": (mpf.Potts.init, {"n_visible": 5, "n_values": 3, "data": LETTERS, "tau": 1.0}),
        "Potts.contact_scores": (mpf.Potts.init(5, 3).contact_scores, {"leave_out": 1}),
        "CategoricalRBM": (
            mpf.CategoricalRBM,
            {"weights": np.zeros((5, 3, 2)), "visible_bias": letters, "hidden_bias": np.zeros(2), "tau": 1.0},
        ),
        "CategoricalRBM.init": (
            mpf.CategoricalRBM.init,
            {"seed": 0, "n_visible": 5, "n_values": 3, "n_hidden": 2, "data": LETTERS, "tau": 1.0},
        ),
        "GaussianRBM": (
            mpf.GaussianRBM,
            {"weights": W, "visible_bias": fields, "hidden_bias": np.zeros(3), "log_variance": fields, "min_variance": 0.1},
        ),
        "GaussianRBM.init": (
            mpf.GaussianRBM.init,
            {"seed": 0, "n_visible": 5, "n_hidden": 3, "data": REALS, "min_variance": None, "tau": 1.0},
        ),
        "EnergyModel": (mpf.EnergyModel, {"energy": lambda p, v: v @ p, "params": np.zeros(5, np.float32), "space": 5}),
        "Binary": (mpf.Binary, {"size": 5}),
        "Categories": (mpf.Categories, {"size": 5, "n_values": 3}),
        "Real": (mpf.Real, {"size": 5}),
        "Signs": (mpf.Signs, {"size": 5}),
        "NonNegative": (mpf.NonNegative, {"size": 5}),
        "Columns": (mpf.Columns, {"parts": (mpf.Binary(2), mpf.Real(3)), "columns": ()}),
        "Signs.check": (mpf.Signs(5).check, {"data": 2.0 * ROWS - 1}),
        "NonNegative.check": (mpf.NonNegative(5).check, {"data": np.abs(REALS)}),
        "Columns.check": (mpf.Columns((mpf.Binary(2), mpf.Real(3))).check, {"data": ROWS}),
        "Binary.layer": (mpf.Binary(5).layer, {"data": ROWS}),
        "Real.layer": (mpf.Real(5).layer, {"data": REALS, "min_variance": None}),
        "NonNegative.layer": (mpf.NonNegative(5).layer, {"data": np.abs(REALS), "min_variance": None}),
        "binary_rows": (units.binary_rows, {"data": ROWS}),
        "kinds_of_columns": (units.kinds_of_columns, {"data": ROWS}),
        "Binary.check": (mpf.Binary(5).check, {"data": ROWS}),
        "Categories.check": (mpf.Categories(5, 3).check, {"data": LETTERS}),
        "Real.check": (mpf.Real(5).check, {"data": REALS}),
        **{f"{rule.__name__}": (rule, particle) for rule in (mpf.CD, mpf.PCD, mpf.FMPF, mpf.PMPF, mpf.FPMPF)},
        **{f"{rule.__name__}": (rule, {name: particle[name] for name in particle if name != "kernel"}) for rule in (mpf.PTT, mpf.FlowPTT)},
        "MPF1Flip": (mpf.MPF1Flip, {"o": "zero", "log": True}),
        "PseudoLikelihood": (mpf.rule, {"name": "pseudo-likelihood"}),
        "Exact": (mpf.rule, {"name": "exact"}),
        "rule": (mpf.rule, {"name": "cd", "k": 1}),
        "rule of a spec": (lambda **settings: mpf.rule(mpf.CD(), **settings), {"k": 1, "refresh": 2}),
        "fit": (mpf.fit, {"model": RBM, "data": ROWS, "rule": "cd", "k": 1, **common}),
        "fit Ising": (mpf.fit, {"model": ISING, "data": ROWS, "rule": "mpf-1flip", **common}),
        "fit_convex": (
            mpf.fit_convex,
            {"model": ISING, "data": ROWS, "rule": "mpf-1flip", "counts": None, "l1": 0.0, "l2": 0.1, "tolerance": 1e-2}
            | {"max_iterations": 5, "progress": False},
        ),
        "Trajectory.of": (mpf.Trajectory.of, {"models": [BASE, RBM], "steps": [0, 5]}),
        "Trajectory.scaled": (mpf.Trajectory.scaled, {"model": RBM, "base_data": ROWS, "n": 3}),
        "Trajectory.load": (mpf.Trajectory.load, {"path": rungs}),
        "Trajectory.save": (mpf.Trajectory.scaled(RBM, n=3).save, {"path": rungs}),
        "Trajectory.draw_first": (mpf.Trajectory.scaled(RBM, n=3).draw_first, {"key": 0, "n": 3}),
        "Trajectory.ending_at": (mpf.Trajectory.scaled(RBM, n=3).ending_at, {"model": RBM}),
        "Trajectory.with_midpoints": (mpf.Trajectory.scaled(RBM, n=3).with_midpoints, {"links": [0]}),
        "sample": (
            mpf.sample,
            {"model": RBM, "n": 12, "steps": 2, "seed": 0, "start": ROWS, "held": np.ones(5), "kernel": "auto"},
        ),
        "sample along a trajectory": (mpf.sample, {"model": RBM, "n": 12, "steps": 2, "along": mpf.Trajectory.scaled(RBM, n=3)}),
        "sample from noise": (mpf.sample, {"model": RBM, "n": 12, "steps": 2, "seed": 0}),
        "impute": (mpf.impute, {"model": RBM, "incomplete": ROWS, "steps": 3, "burn_in": 1, "seed": 0}),
        "as_kernel": (samplers.as_kernel, {"chosen": "auto", "model": RBM}),
        "default_kernel": (samplers.default_kernel, {"model": RBM}),
        "kernel": (samplers.kernel, {"step": lambda key, model, state, held=None: (state, None)}),
        "tempering": (samplers.tempering, {"betas": [0.0, 1.0], "base": None}),
        "exchange": (samplers.exchange, {"trajectory": mpf.Trajectory.scaled(RBM, n=3), "steps": 1}),
        "Tempering": (samplers.Tempering, {"rungs": 3, "hottest": 0.0}),
        "kernel_spec": (samplers.kernel_spec, {"name": "tempering", "rungs": 3}),
        "tempered PCD": (mpf.rule, {"name": "pcd", "k": 1, "kernel": "tempering", "rungs": 3, "hottest": 0.1}),
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
        "AlongTrajectory": (
            likelihood.AlongTrajectory,
            {"trajectory": None, "chains": 10, "steps": 1, "target_stderr": 0.1, "target_gap": 0.5, "max_rungs": 4, "max_rounds": 20}
            | {"max_seconds": 1.0},
        ),
        "log_partition along a trajectory": (
            mpf.log_partition,
            {"model": RBM, "method": "trajectory", "seed": 0, "base_data": ROWS, "trajectory": mpf.Trajectory.scaled(RBM, n=3)}
            | {"chains": 10, "max_rounds": 20},
        ),
        "CSL": (likelihood.CSL, {"chains": 10, "samples": 2, "burn_in": 1, "thinning": 1, "start": "noise"}),
        "Estimate": (
            mpf.Estimate,
            {"value": 1.0, "stderr": 0.1, "lower": 0.0, "upper": 2.0, "ess": 3.0, "method": "ais", "verdict": "trusted"},
        ),
        "compare": (mpf.compare, {"models": [RBM, RBM], "data": ROWS, "method": "auto", "base_data": None, "progress": False, "seed": 0}),
        "free_energies": (likelihood.free_energies, {"model": RBM, "rows": ROWS}),
        "independent_units": (likelihood.independent_units, {"space": mpf.Binary(5), "train": ROWS, "rows": ROWS}),
        "from_log_partition": (likelihood.from_log_partition, {"model": RBM, "data": ROWS, "log_z": log_z}),
        "exact_log_partition": (likelihood.exact_log_partition, {"model": RBM}),
        "exact_log_partition_and_gradient": (likelihood.exact_log_partition_and_gradient, {"model": RBM}),
        "pseudo_log_likelihoods": (likelihood.pseudo_log_likelihoods, {"model": RBM, "rows": ROWS}),
        "enumeration.log_partition": (enumeration.log_partition, {"model": RBM}),
        "is_enumerable": (enumeration.is_enumerable, {"model": RBM, "max_units": 20}),
        "check_enumerable": (enumeration.check_enumerable, {"model": RBM, "max_units": 20}),
        "smaller_layer": (enumeration.smaller_layer, {"model": RBM}),
        "n_slabs": (enumeration.n_slabs, {"model": RBM}),
        "odd_function": (flow.odd_function, {"o": "zero"}),
        "particles": (flow.particles, {"start": "data", "batch_size": 4, "n_particles": 4, **particle}),
        "check_odd": (flow.rates.check_odd, {"o": "zero"}),
        "as_key": (numerics.as_key, {"key": 0}),
        "free_energy": (RBM.free_energy, {"v": ROWS}),
        "energy": (RBM.energy, {"v": ROWS, "h": np.zeros((12, 3))}),
        "hidden_logits": (RBM.hidden_logits, {"v": ROWS}),
        "sample_hidden": (RBM.sample_hidden, {"key": 0, "v": ROWS}),
        "EnergyModel.free_energy": (mpf.EnergyModel(lambda p, v: v @ p, np.zeros(5, np.float32), 5).free_energy, {"v": ROWS}),
        "save": (mpf.save, {"model": RBM, "path": file, "provenance": None, "columns": named}),
        "load": (mpf.load, {"path": file}),
        "save_state": (mpf.save_state, {"state": state, "path": kept, "settings": None}),
        "load_state": (mpf.load_state, {"path": kept, "like": state, "settings": None}),
        "state_to_bytes": (train.state_to_bytes, {"state": state, "settings": None}),
        "state_from_bytes": (train.state_from_bytes, {"content": train.state_to_bytes(state), "like": state}),
        "load_dataset": (mpf.load_dataset, {"name": "digits"}),
        "load_dataset of a file": (mpf.load_dataset, {"name": table, **file_options}),
        "load_dataset of a frame": (mpf.load_dataset, {"name": pandas.DataFrame(ROWS, columns=[*"abcde"]), **file_options}),
        "options": (data.options, {"name": "digits"}),
        "read_rows": (data.read_rows, {"path": table, "alphabet": None, "columns": named}, {"path": "name"}),
        "csv_text": (data.csv_text, {"rows": ROWS, "columns": named}),
        "describe": (data.describe, {"data": digits, "several_kinds": False}),
        "read_fasta": (data.read_fasta, {"path": fasta, "alphabet": data.AMINO_ACIDS}),
        "as_text": (data.as_text, {"rows": LETTERS, "alphabet": "-ACDEF"}),
        "fasta_text": (data.fasta_text, {"rows": LETTERS, "alphabet": "-ACDEF"}),
        "sequence_weights": (data.sequence_weights, {"rows": LETTERS, "identity": 0.8}),
        "repeated": (data.repeated, {"rows": LETTERS, "weights": np.ones(12), "n": 7, "seed": 0}),
        "examples_of": (testing.examples_of, {"family": mpf.Ising}),
        "Config.of": (mpf.Config.of, {**config, "rule": "cd", "k": 1, "seed": 0, "score": "auto", "looks": 1, "evaluate_every": 1}),
        "Config.read": (mpf.Config.read, {"path": None, "changes": None}, {"path": "file"}),
        "train_run": (
            mpf.train_run,
            {
                "config": mpf.Config.of(config),
                "dataset": None,
                "start": None,
                "show": None,
                "begun": None,
                "overwrite": True,
                "resume": False,
            }
            | {"path": os.path.join(folder, "run")},
            {"path": "out"},
        ),
        "train_run of settings": (lambda **settings: mpf.train_run(mpf.Config(**settings)), {**runs_config, "rule": "cd"}),
        "evaluate": (
            runs.evaluate,
            {"model": RBM, "parts": {"test": ROWS}, "method": "exact", "train": ROWS, "seed": 0, "progress": False},
        ),
        "RunFolder": (runs.RunFolder, {"path": os.path.join(folder, "new")}),
        "Validation": (lambda score: runs.Validation(RBM64, digits, score)(RBM64, 0), {"score": "auto"}),
        "begin": (train.begin, {"model": RBM, "data": ROWS, "config": mpf.Config(rule="cd", batch_size=4)}),
        "constant_rate": (train.constant_rate, {"rate": 0.1}),
        **estimator_cases(),
    }
    return cases


ESTIMATOR = {"n_components": 3, "n_iter": 1, "batch_size": 4, "random_state": 0}


def estimator_cases() -> dict[str, tuple]:
    """The scikit-learn estimator: its methods, and its parameters, which `fit` checks."""
    fitted = mpf.sklearn.RBM(**ESTIMATOR).fit(ROWS)
    hidden = fitted.transform(ROWS)

    def trained(X, y=None, **parameters):
        return _parts_of(mpf.sklearn.RBM(**{**ESTIMATOR, **parameters}).fit(X, y))

    def trained_in_parts(X, y=None, **parameters):
        return _parts_of(mpf.sklearn.RBM(**{**ESTIMATOR, **parameters}).partial_fit(X, y))

    def changed_between(X, **parameters):
        return _parts_of(copied(**parameters).partial_fit(X))

    def changed_after(method, X, **parameters):
        return getattr(copied(**parameters), method)(X)

    def copied(**parameters):
        return pickle.loads(pickle.dumps(fitted)).set_params(**parameters)

    def cloned(**parameters):
        return sorted(sklearn.base.clone(mpf.sklearn.RBM(**parameters)).get_params())

    every = {name: ESTIMATOR.get(name, default) for name, default in mpf.sklearn.RBM().get_params().items()}
    by_rule = {"rule": "fpmpf", "k": 2, "refresh": 2, "n_particles": 4, "min_ess": 0.5, "kernel": "tempering", "rungs": 3, "hottest": 0.1}
    after = {"binarize": "sample", "random_state": 0}
    methods = ("transform", "reconstruct", "gibbs", "score_samples", "score", "inverse_transform")
    return {
        "sklearn.RBM": (cloned, every),
        "sklearn.RBM.set_params": (lambda **more: sorted(mpf.sklearn.RBM().set_params(**more).get_params()), every),
        "sklearn.RBM.fit": (trained, {"X": ROWS, "y": None, **every}),
        "sklearn.RBM.fit by a rule": (trained, {"X": ROWS, **by_rule}),
        "sklearn.RBM.fit_transform": (lambda X, y, **more: mpf.sklearn.RBM(**ESTIMATOR).fit_transform(X, y), {"X": ROWS, "y": None}),
        "sklearn.RBM.partial_fit": (trained_in_parts, {"X": ROWS, "y": None, **every}),
        "sklearn.RBM.partial_fit with changes": (changed_between, {"X": ROWS, **every}),
        **{f"sklearn.RBM.{method}": (getattr(fitted, method), {"X": ROWS}) for method in methods[:-1] if method != "gibbs"},
        "sklearn.RBM.gibbs": (fitted.gibbs, {"v": ROWS}),
        "sklearn.RBM.inverse_transform": (fitted.inverse_transform, {"X": hidden}),
        "sklearn.RBM.sample": (fitted.sample, {"n_samples": 3, "n_steps": 2}),
        "sklearn.RBM.get_feature_names_out": (fitted.get_feature_names_out, {"input_features": None}),
        "sklearn.RBM.set_output": (lambda transform: copied().set_output(transform=transform).transform(ROWS), {"transform": None}),
        **{
            f"sklearn.RBM.{method} with changes": (functools.partial(changed_after, method), {"X": ROWS, **after})
            for method in ("transform", "gibbs", "score_samples")
        },
    }


def _parts_of(estimator):
    return [estimator.components_, estimator.intercept_hidden_, estimator.intercept_visible_]


UNCALLED = {
    "errors": {"InputError", "ModelFileError", "TrainingDiverged"},
    "results and records": {
        "Alignment",
        "ColumnNames",
        "Compared",
        "ConvexFit",
        "Dataset",
        "Diagnostics",
        "Epoch",
        "Fit",
        "Labels",
        "Look",
        "Metrics",
        "Moments",
    }
    | {"Option", "Run", "Tempered", "TrainState"},
    "constants": {"AMINO_ACIDS", "RELATIVE_FLOOR", "Temperature", "block_gibbs", "heat_bath"},
    "functions without arguments": {"all_examples", "datasets", "double_precision", "estimators", "fit_settings", "kernel_names", "methods"}
    | {"names", "run_settings", "spec_settings", "environment"},
    "what plug-ins are made of": {"Auto", "BlockGibbs", "Centrable", "ChainState", "Chains", "Connectivity", "DatasetSpec", "Discrete"}
    | {
        "DiscreteLayer",
        "FastAnnealing",
        "FastFlips",
        "FastHeatBath",
        "FlipRule",
        "Flow",
        "HeatBath",
        "Kernel",
        "KernelSpec",
        "Latent",
        "Layer",
    }
    | {"LikelihoodEstimator", "LogLinear", "LogPartitionEstimator", "Model", "NeighbourFlow", "Objective", "ParticleFlow", "ParticleRule"}
    | {"TrajectoryRule"}
    | {"Particles", "RowMean", "Rule", "RuleSpec", "SourceFile", "Space", "TrainingProgress", "centred_gradient", "discrete", "examples"}
    | {"join", "one_flip", "penalties", "register"},
    "parts of compiled functions": {"affine", "along", "as_float64", "as_states", "check_batches", "contrast"}
    | {"effective_share", "flip_differences", "floating", "log_mean_exp", "log_rate", "log_sums", "plain_flow", "probability_flow"}
    | {"pseudo_likelihood", "squared_norm", "sum_softplus_difference"},
}
"""public names that need no case, by reason"""


def public_names() -> set[str]:
    """Of the package and its public modules."""
    found = {name for name in mpf.__all__ if not name.startswith("__")}
    modules = [getattr(mpf, name) for name in found if inspect.ismodule(getattr(mpf, name))]
    for module in modules:
        own = (name for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__)
        found |= set(getattr(module, "__all__", ())) or {name for name in own if not name.startswith("_")}
    return found - {module.__name__.rpartition(".")[2] for module in modules}


def api_cases(rng):
    """Endlessly (label, function without arguments), in random order; `rng` is a generator of NumPy's."""
    with tempfile.TemporaryDirectory() as folder:
        cases = works(folder)
        labels = list(cases)
        while True:
            for label in rng.permutation(labels):
                function, right, *renamed = cases[label]
                names = list(right)
                chosen = rng.permutation(names)[: 1 if rng.random() < 0.8 else 2]
                wrong = {name: _hostile(rng, name, folder) for name in chosen}
                said = ", ".join(f"{name}={_text(value)}" for name, value in wrong.items())
                called = {(renamed[0] if renamed else {}).get(name, name): value for name, value in {**right, **wrong}.items()}
                yield f"{label}({said})", lambda f=function, a=called: f(**a)


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
        return None if _is_of_sklearn(problem) else f"{type(problem).__name__}: {str(problem)[:200]}"
    if isinstance(result, mpf.Estimate):
        return None if np.isfinite(result.value) or result.verdict == "do not trust" else f"{result.value} is {result.verdict}"
    if isinstance(result, models.Model | mpf.units.Layer):
        return None  # one with such parameters is refused where it is used
    given = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array | np.ndarray | float)]
    floats = [np.asarray(leaf) for leaf in given if jnp.issubdtype(getattr(leaf, "dtype", float), np.floating)]
    return "NaN" if any(np.isnan(leaf).any() for leaf in floats) else None


def _is_of_sklearn(problem: Exception) -> bool:
    """Whether it is a refusal by scikit-learn's own checks."""
    files = [frame.filename for frame in traceback.extract_tb(problem.__traceback__)]
    expected = isinstance(problem, ValueError | TypeError) or str(problem) == "no repr"  # its messages show the value
    return expected and any(file.startswith(os.path.dirname(sklearn.__file__)) for file in files)


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
