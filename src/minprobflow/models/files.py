"""Model files: safetensors with the parameters, what kind of model they are, and where they came from.

A model's arrays are tensors under their names, those of an RBM's layers as `visible.bias`; all else it holds is JSON in the metadata.
"""

from __future__ import annotations

import dataclasses
import json
import os
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from .. import arguments, files
from ..columns import ColumnNames, checked_columns
from ..errors import InputError, ModelFileError
from ..plugins import discover
from ..units import Layer
from ..units.layer import Fields
from ..versions import version
from .base import Model, as_model

Tensors = dict[str, np.ndarray]
COLUMNS = "column_names"  # in the metadata
C = TypeVar("C", bound=eqx.Module)
STACK = "trajectory"  # the kind of a file with several models


def save(
    model: Model,
    path: str | os.PathLike[str],
    provenance: Mapping[str, object] | None = None,
    columns: ColumnNames | None = None,
) -> None:
    """Write a model to a safetensors file, atomically. Refuses non-finite parameters.

    Args:
        model: any model but an `EnergyModel`, which holds Python code.
        path: the file.
        provenance: anything worth knowing later (data, rule, seed, ...); stored as JSON in the metadata.
        columns: what the visible units are called and the words for their values: `dataset.column_names`. Samples that
            `minprobflow sample` writes as CSV have them, and `minprobflow evaluate` compares them with those of the data.

    Returns:
        Nothing.

    >>> import minprobflow as mpf, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mpf.save(mpf.Ising.init(5), f"{folder}/ising.safetensors", {"data": "made up"})
    ...     mpf.load(f"{folder}/ising.safetensors").fields.shape
    (5,)
    """
    files.write_atomically(arguments.path("path", path), to_bytes(model, provenance, columns))


def to_bytes(model: Model, provenance: Mapping[str, object] | None = None, columns: ColumnNames | None = None) -> bytes:
    """What `save` writes."""
    tensors, metadata = _as_file(model)
    if provenance is not None and not (isinstance(provenance, Mapping) and all(isinstance(key, str) for key in provenance)):
        raise InputError(f"provenance={arguments.shown(provenance)}: pass a dict with names as keys")
    created = {
        "minprobflow": version(),
        "jax": jax.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if columns is not None:
        metadata = {**metadata, COLUMNS: files.as_json(checked_columns(columns, model.space.size)._asdict())}
    return files.pack(tensors, {**metadata, "provenance": files.as_json({**created, **(provenance or {})})})


def save_stack(models: Sequence[Model], more: Tensors, path: str | os.PathLike[str]) -> None:
    """Write models of one family and shape to one file, each tensor stacked along a first axis; and `more` tensors."""
    apart = [_as_file(model) for model in models]
    tensors = {name: np.stack([tensors[name] for tensors, _ in apart]) for name in apart[0][0]}
    metadata = {**apart[0][1], "kind": STACK, "family": apart[0][1]["kind"]}
    files.write_atomically(arguments.path("path", path), files.pack({**tensors, **{f"{STACK}.{k}": v for k, v in more.items()}}, metadata))


def load_stack(path: str | os.PathLike[str]) -> tuple[list[Model], Tensors]:
    """What `save_stack` wrote."""
    tensors, metadata = files.read(arguments.path("path", path))
    if metadata["kind"] != STACK:
        raise ModelFileError(f"{path} holds a {metadata['kind']!r}, not a trajectory: read models with mpf.load")
    more = {name.removeprefix(f"{STACK}."): tensors.pop(name) for name in list(tensors) if name.startswith(f"{STACK}.")}
    lengths = {tensor.shape[:1] for tensor in tensors.values()}
    if len(lengths) != 1 or lengths == {()} or "family" not in metadata:
        raise ModelFileError(f"{path} is not a whole trajectory file: its tensors have different lengths, or none")
    one = {**metadata, "kind": metadata["family"]}
    return [_model({name: tensor[i] for name, tensor in tensors.items()}, one, path) for i in range(lengths.pop()[0])], more


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save` wrote, in this release or an earlier one.

    Args:
        path: the file.

    Returns:
        The model, in the precision it was saved in.

    >>> import minprobflow as mpf  # see `mpf.save` for an example
    """
    arguments.path("path", path)
    return _model(*files.read(path), path)


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Where a model file came from, as `save` was told; raises if the file is damaged."""
    try:
        provenance = json.loads(files.read(path)[1].get("provenance", "{}"))
    except (ValueError, RecursionError):
        return {}
    return provenance if isinstance(provenance, dict) else {}


def read_columns(path: str | os.PathLike[str]) -> ColumnNames | None:
    """What the columns are called that a model file is about, as `save` was told; None if it was not."""
    metadata = files.read(path)[1]
    if COLUMNS not in metadata:
        return None
    try:
        found = json.loads(metadata[COLUMNS])
        names, words = found["names"], found["words"]
        columns = ColumnNames(names and tuple(names), words and tuple(map(tuple, words)))
        return checked_columns(columns, len(names or words))
    except (ValueError, TypeError, KeyError, RecursionError, InputError) as problem:
        raise ModelFileError(f"{path}: the names of the columns are damaged ({problem}): write the file again") from problem


def from_bytes(content: bytes) -> Model:
    """Read a model that `to_bytes` wrote."""
    return _model(*files.unpack(content), "the pickle")


def _as_file(model: Model) -> tuple[Tensors, dict[str, str]]:
    """The tensors of a model, and its kind and settings."""
    kind = type(as_model(model)).kind
    if kind is None:
        raise InputError(
            f"{type(model).__name__} holds Python code, which no model file can: save its training state with "
            "mpf.save_state and load that with the same energy"
        )
    tensors: Tensors = {}
    settings = _taken_apart(model, "", tensors)
    return tensors, {"kind": kind, **{name: json.dumps(value) for name, value in settings.items()}}


def _taken_apart(module: eqx.Module, prefix: str, tensors: Tensors) -> dict[str, object]:
    """The settings of a model or layer as JSON takes them; its arrays are added to `tensors`."""
    settings: dict[str, object] = {}
    for field in dataclasses.fields(module):
        value, name = getattr(module, field.name), prefix + field.name
        if isinstance(value, jax.Array):
            rank = _rank(module, field.name)
            if rank is not None and value.ndim != rank:
                raise InputError(f"{name} has shape {value.shape}: these are stacked replicas, save them one by one (fit.replica(i))")
            tensors[name] = np.asarray(value)
        elif isinstance(value, tuple) and value and all(isinstance(part, Layer) for part in value):
            settings[field.name] = [_layer_apart(part, f"{name}.{i}.", tensors) for i, part in enumerate(value)]
        else:
            settings[field.name] = _layer_apart(value, f"{name}.", tensors) if isinstance(value, Layer) else value
    return settings


def _layer_apart(layer: Layer, prefix: str, tensors: Tensors) -> dict[str, object]:
    return {"units": layer.kind, **_taken_apart(layer, prefix, tensors)}


def _put_together(cls: type[eqx.Module], settings: dict[str, object], prefix: str, tensors: Tensors) -> Fields:
    """The fields of a model or layer."""
    found: Fields = {}
    for field in dataclasses.fields(cls):
        name = prefix + field.name
        value = settings.get(field.name)
        if name in tensors:
            found[field.name] = tensors[name]
        elif isinstance(value, dict) and "units" in value:
            found[field.name] = _layer_together(value, f"{name}.", tensors)
        elif isinstance(value, list) and value and all(isinstance(part, dict) and "units" in part for part in value):
            found[field.name] = tuple(_layer_together(part, f"{name}.{i}.", tensors) for i, part in enumerate(value))
        elif field.name in settings:
            found[field.name] = value
    return found


def _layer_together(settings: dict[str, object], prefix: str, tensors: Tensors) -> Layer:
    kind, kinds = settings["units"], _layer_kinds()
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"unknown units {kind!r} (known are {', '.join(sorted(kinds))})")
    cls = kinds[kind]
    return cls.from_fields(_put_together(cls, settings, prefix, tensors))


def _model(tensors: Tensors, metadata: dict[str, str], path: str | os.PathLike[str]) -> Model:
    kind, kinds = metadata["kind"], model_kinds()
    named = kind
    if kind == STACK:
        raise ModelFileError(f"{path} holds a trajectory, not a model: read it with mpf.Trajectory.load")
    if kind not in kinds and kind not in OLD_KINDS:
        raise ModelFileError(f"{path} holds a {kind!r}, not a model this release knows ({', '.join(sorted(kinds))})")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ModelFileError(f"{path}: {name} has non-finite values: the model cannot be used, go back to an earlier file")
    try:
        if kind in OLD_KINDS:
            tensors, metadata = OLD_KINDS[kind](tensors, metadata)
            kind = metadata["kind"]
        names = {field.name for field in dataclasses.fields(kinds[kind])}
        settings = {name: json.loads(value) for name, value in metadata.items() if name in names}
        expected = _names(kinds[kind], settings, "")
        if missing := expected - tensors.keys():
            raise ModelFileError(f"{path} lacks the tensors {', '.join(sorted(missing))}: it is not a whole {named} file")
        return kinds[kind].from_fields(_put_together(kinds[kind], settings, "", tensors))
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise ModelFileError(f"{path} does not hold a valid {named}: {problem}") from problem


def _from_old_rbm(units: dict[str, str]) -> Callable[[Tensors, dict[str, str]], tuple[Tensors, dict[str, str]]]:
    """Files of earlier releases, which had one RBM class per type of visible units, hidden bits, and no layers."""

    def translated(tensors: Tensors, metadata: dict[str, str]) -> tuple[Tensors, dict[str, str]]:
        settings = {name: json.loads(metadata[name]) for name in units if name in metadata}
        layers = {"visible": json.dumps({"units": units["units"], **settings}), "hidden": json.dumps({"units": "bernoulli"})}
        new = {"visible_bias": "visible.bias", "hidden_bias": "hidden.bias", "log_variance": "visible.log_variance"}
        renamed = {new.get(name, name): tensor for name, tensor in tensors.items()}
        return renamed, {"tau": "1.0", **metadata, **layers, "kind": "rbm"}

    return translated


OLD_KINDS = {
    "bernoulli_rbm": _from_old_rbm({"units": "bernoulli"}),
    "categorical_rbm": _from_old_rbm({"units": "categorical"}),
    "gaussian_rbm": _from_old_rbm({"units": "gaussian", "min_variance": ""}),
}


def model_kinds() -> dict[str, type[Model]]:
    """Every model family that has a file format, by its `kind`."""
    return {c.kind: c for c in model_families() if c.kind is not None and "kind" in c.__dict__}  # a subclass does not take over


def model_families() -> list[type[Model]]:
    """Every concrete model class, those of plug-in files included."""
    from .. import models

    discover(models)
    return sorted(_concrete(Model.__subclasses__()), key=lambda cls: cls.__name__)


def _layer_kinds() -> dict[str, type[Layer]]:
    return {cls.kind: cls for cls in _concrete(Layer.__subclasses__()) if "kind" in cls.__dict__}


def _concrete(roots: list[type[C]]) -> list[type[C]]:
    """The classes that can be made, of these and those below them."""
    found: list[type[C]] = []
    waiting = list(roots)
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if not getattr(cls, "__abstractmethods__", None) and cls not in found:
            found.append(cls)
    return found


def _arrays(cls: type[eqx.Module]) -> dict[str, int | None]:
    """The array fields of a model or layer class, with the number of axes that their annotation names, if it does."""
    hints = typing.get_type_hints(cls)
    shapes = {f.name: getattr(hints[f.name], "dim_str", None) for f in dataclasses.fields(cls) if not f.metadata.get("static")}
    return {
        name: None if "*" in shape.replace("*replicas", "") else len(shape.replace("*replicas", "").split())
        for name, shape in shapes.items()
        if shape is not None
    }


def _rank(module: eqx.Module, name: str) -> int | None:
    if name == "weights" and isinstance(getattr(module, "visible", None), Layer):
        return len(module.visible.feature_shape) + len(module.hidden.feature_shape)  # type: ignore[attr-defined]
    return _arrays(type(module)).get(name)


def _names(cls: type[eqx.Module], settings: dict[str, object], prefix: str) -> set[str]:
    """The tensors that a file with these settings must hold."""
    names = {prefix + name for name in _arrays(cls)}
    for field, value in settings.items():
        for part, at in ((value, ""), *((p, f".{i}") for i, p in enumerate(value if isinstance(value, list) else ()))):
            if isinstance(part, dict) and part.get("units") in _layer_kinds():
                names |= _names(_layer_kinds()[part["units"]], part, f"{prefix}{field}{at}.")
    return names
