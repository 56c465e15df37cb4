"""Model files: safetensors with the parameters, what kind of model they are, and where they came from."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jax
import numpy as np

from . import arguments, files, models
from .errors import InputError, ModelFileError
from .models.base import Model, as_model
from .plugins import discover
from .versions import version


def save(model: Model, path: str | os.PathLike[str], provenance: Mapping[str, Any] | None = None) -> None:
    """Write a model to a safetensors file, atomically. Refuses non-finite parameters.

    Args:
        provenance: anything worth knowing later (data, rule, seed, ...); stored as JSON in the metadata.
    """
    files.write_atomically(arguments.path("path", path), to_bytes(model, provenance))


def to_bytes(model: Model, provenance: Mapping[str, Any] | None = None) -> bytes:
    """What `save` writes."""
    kind = type(as_model(model)).kind
    if kind is None:
        raise InputError(
            f"{type(model).__name__} holds Python code, which no model file can: save its training state with "
            "mpf.save_state and load that with the same energy"
        )
    tensors, settings = {}, {}
    for field in (f.name for f in dataclasses.fields(model)):
        value = getattr(model, field)
        if isinstance(value, jax.Array):
            tensors[field] = np.asarray(value)
        else:
            settings[field] = json.dumps(value)
    expected = {field: len(shape) for field, shape in _axes(type(model)).items()}
    for field, tensor in tensors.items():
        if tensor.ndim != expected[field]:
            raise InputError(f"{field} has shape {tensor.shape}: these are stacked replicas, save them one by one (fit.replica(i))")
    if provenance is not None and not (isinstance(provenance, Mapping) and all(isinstance(key, str) for key in provenance)):
        raise InputError(f"provenance={arguments.shown(provenance)}: pass a dict with names as keys")
    created = {
        "minprobflow": version(),
        "jax": jax.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return files.pack(tensors, {"kind": kind, **settings, "provenance": files.as_json({**created, **(provenance or {})})})


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save` wrote."""
    arguments.path("path", path)
    return _model(*files.read(path), path)


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Where a model file came from, as `save` was told; raises if the file is damaged."""
    try:
        provenance = json.loads(files.read(path)[1].get("provenance", "{}"))
    except (ValueError, RecursionError):
        return {}
    return provenance if isinstance(provenance, dict) else {}


def from_bytes(content: bytes) -> Model:
    """Read a model that `to_bytes` wrote."""
    return _model(*files.unpack(content), "the pickle")


def _model(tensors: dict[str, np.ndarray], metadata: dict[str, str], path: str | os.PathLike[str]) -> Model:
    kinds = model_kinds()
    kind = metadata["kind"]
    if kind not in kinds:
        raise ModelFileError(f"{path} holds a {kind!r}, not a model this release knows ({', '.join(sorted(kinds))})")
    axes = _axes(kinds[kind])
    if missing := axes.keys() - tensors.keys():
        raise ModelFileError(f"{path} lacks the tensors {', '.join(sorted(missing))}: it is not a whole {kind} file")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ModelFileError(f"{path}: {name} has non-finite values: the model cannot be used, go back to an earlier file")
    settings = {f.name: metadata[f.name] for f in dataclasses.fields(kinds[kind]) if f.name in metadata}
    try:
        return kinds[kind](**{name: tensors[name] for name in axes}, **{f: json.loads(value) for f, value in settings.items()})
    except (ValueError, TypeError, RecursionError) as problem:
        raise ModelFileError(f"{path} does not hold a valid {kind}: {problem}") from problem


def model_kinds() -> dict[str, type[Model]]:
    """Every model family that has a file format, by its `kind`."""
    return {c.kind: c for c in model_families() if c.kind is not None and "kind" in c.__dict__}  # a subclass does not take over


def model_families() -> list[type[Model]]:
    """Every concrete model class, those of plug-in files included."""
    discover(models)
    found, waiting = [], [Model]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if not getattr(cls, "__abstractmethods__", None) and cls not in found:
            found.append(cls)
    return sorted(found, key=lambda cls: cls.__name__)


def _axes(cls: type[Model]) -> dict[str, tuple[Any, ...]]:
    """The parameters of a family and their axes, read off its first example."""
    example = cls.examples()[0]
    values = {f.name: getattr(example, f.name) for f in dataclasses.fields(example)}
    return {name: value.shape for name, value in values.items() if isinstance(value, jax.Array)}
