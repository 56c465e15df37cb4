"""What a report shows and training did not record: computed once from a run's best model, kept in its folder."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from .. import pictures
from ..data import Dataset
from ..errors import DamagedFileError, ModelFileError
from ..files import pack, read, write_atomically
from ..likelihood import free_energies
from ..models import Trajectory
from ..models.base import Latent, Model
from ..progress import Report
from ..records import read_record, write_record
from ..samplers import exchange
from ..samplers.engine import run
from ..samplers.memory import memory
from . import mixing
from .evaluate import Evaluation, evaluate
from .folder import RunFolder
from .open import open_data, open_model, open_trajectory
from .validation import ROWS

KIND = "diagnostics"
EVALUATION, DIAGNOSTICS = "evaluation.json", "diagnostics.safetensors"
MAX_SECONDS = 60.0  # of AIS
CHAINS = 32  # from data, and as many from noise
PICTURED = 12  # of each
FILTERS = 60
BINS = 40
FRAMES = 8  # rungs whose samples are shown
EXCHANGES = 300  # rounds before these are taken
BURN_IN = 1000  # steps before the autocorrelation is taken
NEEDED = ("part", "log_likelihood", "method", "verdict", "warnings", "settings", "log_partition")


def diagnose(place: str | os.PathLike[str], progress: Report | None = None) -> tuple[Evaluation, dict[str, np.ndarray]]:
    """The evaluation and diagnostics of a run's best model: as kept in its folder, else computed and kept there.

    What is kept is used if it is whole and of the best model as it is. A folder that cannot be written to is a warning.
    """
    folder = RunFolder(place)
    folder.read_config()
    digest = _model_digest(folder)
    model = open_model(str(place))  # after the digest: if training replaces it in between, the next call computes again
    evaluation, arrays = read_evaluation(place, digest), read_diagnostics(place, digest)
    if evaluation is None or arrays is None:
        data, trajectory = open_data(str(place)), open_trajectory(str(place), model)
        if evaluation is None:
            evaluation = _evaluation(model, data, trajectory, digest, progress)
            _keep(folder.path / EVALUATION, lambda file: write_record(file, evaluation))
        if arrays is None:
            arrays = {**_diagnostics(model, data, progress), **_along(trajectory, data, progress)}
            _keep(folder.path / DIAGNOSTICS, lambda file: write_atomically(file, pack(arrays, {"kind": KIND, "model_sha256": digest})))
    return evaluation, arrays


def read_evaluation(place: str | os.PathLike[str], digest: str | None = None) -> Evaluation | None:
    """The evaluation of the best model (or that with this digest); None if it is not there or damaged."""
    try:
        record = cast(Evaluation, read_record(Path(place) / EVALUATION))
    except (OSError, DamagedFileError):
        return None
    wanted = _model_digest(RunFolder(place)) if digest is None else digest
    return record if record.get("model_sha256") == wanted and all(name in record for name in NEEDED) else None


def read_diagnostics(place: str | os.PathLike[str], digest: str | None = None) -> dict[str, np.ndarray] | None:
    """The arrays of the diagnostics of the best model (or that with this digest); None if they are not there or damaged."""
    try:
        arrays, metadata = read(Path(place) / DIAGNOSTICS)
    except ModelFileError:
        return None
    wanted = _model_digest(RunFolder(place)) if digest is None else digest
    return arrays if metadata["kind"] == KIND and metadata.get("model_sha256") == wanted else None


def keep_evaluation(place: str | os.PathLike[str], record: Evaluation) -> None:
    """Keep an evaluation of a run's best model on its test data, for its report. A folder that cannot be written to is a warning."""
    folder = RunFolder(place)
    _keep(folder.path / EVALUATION, lambda file: write_record(file, {"model_sha256": _model_digest(folder), **record}))


def _keep(file: Path, write: Callable[[Path], None]) -> None:
    try:
        write(file)
    except OSError as problem:
        warnings.warn(f"{file} cannot be written ({problem.strerror}), so this will be computed again next time", stacklevel=3)


def _model_digest(folder: RunFolder) -> str:
    return hashlib.sha256(folder.best.read_bytes()).hexdigest() if folder.best.is_file() else ""


def _evaluation(model: Model, data: Dataset, trajectory: Trajectory | None, digest: str, progress: Report | None) -> Evaluation:
    part = next(part for part in ("test", "valid", "train") if len(getattr(data, part)))
    rows = {part: getattr(data, part)}
    found = evaluate(model, rows, train=data.train, progress=progress or False, max_seconds=MAX_SECONDS, trajectory=trajectory)
    return {"model_sha256": digest, **found[part]}


def _diagnostics(model: Model, data: Dataset, progress: Report | None) -> dict[str, np.ndarray]:
    return {
        "image_shape": np.asarray(data.image_shape or (), int),
        "filters": pictures.strongest(filters(model), FILTERS),
        **_activations(model, data.valid if len(data.valid) else data.train),
        **_free_energies(model, data),
        **_mixing(model, data, progress),
    }


def _along(trajectory: Trajectory | None, data: Dataset, progress: Report | None) -> dict[str, np.ndarray]:
    """States at some rungs of the trajectory after rounds of exchange, and the updates that these rungs are of."""
    if trajectory is None:
        return {}
    if progress:
        progress("samples along the trajectory", 0.0)
    kernel, key = exchange(trajectory), jax.random.key(0)
    start = kernel.init(key, trajectory.last, trajectory.draw_first(1, PICTURED))
    states = np.asarray(run(key, trajectory.last, start, EXCHANGES, kernel).states)
    rungs = np.unique(np.linspace(0, len(trajectory) - 1, FRAMES).astype(int))
    return {"rung_states": _pictured(states[:, rungs].swapaxes(0, 1), data.train), "rung_steps": np.asarray(trajectory.steps)[rungs]}


def filters(model: Model) -> np.ndarray:
    """The weights of each hidden unit, where there is one per visible unit; else none."""
    weights = np.asarray(getattr(model, "weights", np.zeros((0, 0, 0))))
    one_each = isinstance(model, Latent) and weights.ndim == 2 and len(weights) == model.space.size
    return weights.T if one_each else np.zeros((0, model.space.size))


def _activations(model: Model, rows: np.ndarray) -> dict[str, np.ndarray]:
    """p(h_j = 1 | v): its mean for each unit, and how often each value occurs over units and examples."""
    if not isinstance(model, Latent):
        return {}
    active = np.asarray(model.hidden_mean(rows[:ROWS]), np.float64)
    counts, edges = np.histogram(active, BINS, (0.0, 1.0))
    return {"unit_activations": active.mean(0), "activation_counts": counts, "activation_edges": edges}


def _free_energies(model: Model, data: Dataset) -> dict[str, np.ndarray]:
    """Means over the rows that training looks at too; nothing for an empty part."""
    parts = {"train": data.train, "valid": data.valid, "test": data.test}
    return {f"free_energy_{part}": np.asarray(free_energies(model, rows[:ROWS]).mean()) for part, rows in parts.items() if len(rows)}


def _pictured(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some chains' states between 0 and 1: real numbers by their place in the range of the data."""
    if rows.dtype == np.uint8:
        return states[:, :PICTURED].astype(np.uint8)
    low, high = float(rows.min()), float(rows.max())
    return np.clip((states[:, :PICTURED] - low) / ((high - low) or 1.0), 0, 1).astype(np.float32)


def _mixing(model: Model, data: Dataset, progress: Report | None) -> dict[str, np.ndarray]:
    """Chains from data and from noise: some of their states, their free energy, and how long both together remember it."""
    keys = jax.random.split(jax.random.key(0), 3)
    rows = data.train[np.random.default_rng(0).choice(len(data.train), CHAINS, replace=len(data.train) < CHAINS)]
    noise = model.space.noise(keys[0], CHAINS)
    from_data = mixing.run_chains(keys[1], model, jnp.asarray(rows).astype(float), progress, "chains from data")
    from_noise = mixing.run_chains(keys[2], model, noise, progress, "chains from noise")
    remembered = memory(np.concatenate([from_data.free_energy, from_noise.free_energy], 1)[BURN_IN + 1 :])
    return {
        "steps": np.asarray(mixing.SHOWN),
        "states_from_data": _pictured(from_data.states, data.train),
        "states_from_noise": _pictured(from_noise.states, data.train),
        "trace_from_data": from_data.free_energy.mean(1),
        "trace_from_noise": from_noise.free_energy.mean(1),
        "autocorrelation": remembered.autocorrelation,
        "autocorrelation_time": np.asarray(remembered.time),
        "autocorrelation_window": np.asarray(remembered.window),
        "autocorrelation_resolved": np.asarray(remembered.resolved),
        "chains": np.asarray(2 * CHAINS),
        "burn_in": np.asarray(BURN_IN),
        "length": np.asarray(mixing.STEPS),
    }
