"""What a report shows and training did not record: computed once from a run's best model, kept in its folder."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import pictures
from ..data import Dataset
from ..errors import InputError
from ..files import write_atomically
from ..likelihood import Estimate, from_log_partition, log_partition
from ..likelihood.base import Progress
from ..likelihood.judge import free_energies
from ..models import RBM, GaussianRBM
from . import mixing
from .folder import RunFolder
from .monitor import ROWS
from .open import open_data, open_model

EVALUATION, DIAGNOSTICS = "evaluation.json", "diagnostics.npz"
FORMAT_VERSION = 1
MAX_SECONDS = 60.0  # of AIS
CHAINS = 32  # from data, and as many from noise
PICTURED = 12  # of each
FILTERS = 60
BINS = 40
BURN_IN = 1000  # steps before the autocorrelation is taken


def diagnose(place: str | os.PathLike[str], progress: Progress | None = None) -> None:
    """Write `evaluation.json` and `diagnostics.npz` of a run folder, but for what is there and belongs to its best model."""
    folder = RunFolder(place)
    folder.read_config()
    digest = hashlib.sha256(folder.best.read_bytes()).hexdigest() if folder.best.is_file() else ""
    model = open_model(str(place))  # after the digest: if training replaces it in between, the next call computes anew
    if not isinstance(model, RBM | GaussianRBM):
        raise InputError(f"{place} holds a {type(model).__name__}: reports are about RBMs, use minprobflow evaluate")
    missing = [
        (file, content)
        for file, read, content in ((EVALUATION, read_evaluation, _evaluation), (DIAGNOSTICS, read_diagnostics, _diagnostics))
        if not _is_current(folder, folder.path / file, read, digest)
    ]
    if not missing:
        return
    data = open_data(str(place))
    for file, content in missing:
        written = content(model, data, digest, progress)
        try:
            write_atomically(folder.path / file, written)
        except OSError as problem:
            raise InputError(f"{folder.path / file} cannot be written ({problem.strerror}): make the run folder writable") from problem


def read_evaluation(place: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The judgement on test data; None if it is not there or damaged."""
    try:
        record = json.loads((Path(place) / EVALUATION).read_text())
        return record if record["format_version"] == FORMAT_VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_diagnostics(place: str | os.PathLike[str]) -> dict[str, np.ndarray] | None:
    """The arrays of the diagnostics; None if they are not there or damaged."""
    try:
        with np.load(Path(place) / DIAGNOSTICS, allow_pickle=False) as file:
            arrays = dict(file)
        return arrays if int(arrays["format_version"]) == FORMAT_VERSION else None
    except (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
        return None


def _is_current(folder: RunFolder, file: Path, read: Callable[[Path], Any], digest: str) -> bool:
    """Whether a file is whole and newer than the best model. The digest tells of a model that changed meanwhile."""
    record = read(folder.path)
    return record is not None and str(record.get("model_sha256")) == digest and file.stat().st_mtime >= folder.best.stat().st_mtime


def _evaluation(model: RBM | GaussianRBM, data: Dataset, digest: str, progress: Progress | None) -> bytes:
    part = next(part for part in ("test", "valid", "train") if len(getattr(data, part)))
    log_z = log_partition(model, base_data=data.train, progress=progress, max_seconds=MAX_SECONDS)
    return _evaluation_file(digest, part, log_z, from_log_partition(model, getattr(data, part), log_z))


def keep_evaluation(place: str | os.PathLike[str], log_z: Estimate, result: Estimate) -> None:
    """Keep a judgement of a run's best model on its test data, for its report."""
    folder = RunFolder(place)
    digest = hashlib.sha256(folder.best.read_bytes()).hexdigest()
    write_atomically(folder.path / EVALUATION, _evaluation_file(digest, "test", log_z, result))


def _evaluation_file(digest: str, part: str, log_z: Estimate, result: Estimate) -> bytes:
    record = {
        "format_version": FORMAT_VERSION,
        "model_sha256": digest,
        "part": part,
        **result.record(),
        "n": result.settings["n"],
        "method": result.method,
        "verdict": result.verdict,
        "warnings": list(result.warnings),
        "settings": {name: value for name, value in result.settings.items() if name != "n"},
        "log_partition": log_z.record(),
    }
    return (json.dumps(_finite(record), indent=1, default=str) + "\n").encode()


def _finite(value: Any) -> Any:
    """JSON has no infinity: an open bound is null."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _diagnostics(model: RBM | GaussianRBM, data: Dataset, digest: str, progress: Progress | None) -> bytes:
    arrays = {
        "format_version": np.asarray(FORMAT_VERSION),
        "model_sha256": np.asarray(digest),
        "image_shape": np.asarray(data.image_shape or (), int),
        **_filters(model),
        **_activations(model, data.valid if len(data.valid) else data.train),
        **_free_energies(model, data),
        **_mixing(model, data, progress),
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _filters(model: RBM | GaussianRBM) -> dict[str, np.ndarray]:
    """Of each hidden unit, the strongest first."""
    return {"filters": pictures.strongest(np.asarray(model.weights).T, FILTERS)}


def _activations(model: RBM | GaussianRBM, rows: np.ndarray) -> dict[str, np.ndarray]:
    """p(h_j = 1 | v): its mean for each unit, and how often each value occurs over units and examples."""
    active = np.asarray(model.hidden_mean(rows[:ROWS]), np.float64)
    counts, edges = np.histogram(active, BINS, (0.0, 1.0))
    return {"unit_activations": active.mean(0), "activation_counts": counts, "activation_edges": edges}


def _free_energies(model: RBM | GaussianRBM, data: Dataset) -> dict[str, np.ndarray]:
    """Means over the rows that training looks at too; NaN for an empty part."""
    parts = {"train": data.train, "valid": data.valid, "test": data.test}
    return {
        f"free_energy_{part}": np.asarray(free_energies(model, rows[:ROWS]).mean() if len(rows) else np.nan) for part, rows in parts.items()
    }


def _pictured(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some chains' states between 0 and 1: real numbers by their place in the range of the data."""
    if rows.dtype == np.uint8:
        return states[:, :PICTURED].astype(np.uint8)
    low, high = float(rows.min()), float(rows.max())
    return np.clip((states[:, :PICTURED] - low) / ((high - low) or 1.0), 0, 1).astype(np.float32)


def _mixing(model: RBM | GaussianRBM, data: Dataset, progress: Progress | None) -> dict[str, np.ndarray]:
    """Chains from data and from noise: some of their states, their free energy, and how long both together remember it."""
    keys = jax.random.split(jax.random.key(0), 3)
    rows = data.train[np.random.default_rng(0).choice(len(data.train), CHAINS, replace=len(data.train) < CHAINS)]
    noise = model.space.noise(keys[0], CHAINS)
    from_data = mixing.run_chains(keys[1], model, jnp.asarray(rows).astype(float), progress, "chains from data")
    from_noise = mixing.run_chains(keys[2], model, noise, progress, "chains from noise")
    memory = mixing.memory(np.concatenate([from_data.free_energy, from_noise.free_energy], 1)[BURN_IN + 1 :])
    return {
        "steps": np.asarray(mixing.SHOWN),
        "states_from_data": _pictured(from_data.states, data.train),
        "states_from_noise": _pictured(from_noise.states, data.train),
        "trace_from_data": from_data.free_energy.mean(1),
        "trace_from_noise": from_noise.free_energy.mean(1),
        "autocorrelation": memory.autocorrelation,
        "autocorrelation_time": np.asarray(memory.time),
        "autocorrelation_window": np.asarray(memory.window),
        "autocorrelation_resolved": np.asarray(memory.resolved),
        "chains": np.asarray(2 * CHAINS),
        "burn_in": np.asarray(BURN_IN),
        "length": np.asarray(mixing.STEPS),
    }
