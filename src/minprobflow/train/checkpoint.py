"""Training states as safetensors files."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from .. import arguments, files
from ..arguments import shown
from ..errors import DamagedFileError, InputError, ModelFileError
from .state import TrainState

KIND = "train_state"
FORMAT = "2"  # of the state's parts; 1, without a number in the file, was that of release 0.1


def save_state(state: TrainState, path: str | os.PathLike[str], settings: Mapping[str, object] | None = None) -> None:
    """Write a training state, atomically.

    Args:
        state: of a fit (`fit.state`).
        path: the file.
        settings: what a resumed run must share; `load_state` compares it.

    Returns:
        Nothing.

    >>> import minprobflow as mpf, tempfile
    >>> digits = mpf.load_dataset("digits").train
    >>> rbm = mpf.BernoulliRBM.init(0, 64, 4, digits)
    >>> half = mpf.fit(rbm, digits, "cd", epochs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mpf.save_state(half.state, f"{folder}/state.safetensors")
    ...     state = mpf.load_state(f"{folder}/state.safetensors", like=half.state)
    >>> int(mpf.fit(rbm, digits, "cd", epochs=2, state=state).state.step)
    48
    """
    files.write_atomically(arguments.path("path", path), state_to_bytes(state, settings))


def state_to_bytes(state: TrainState, settings: Mapping[str, object] | None = None) -> bytes:
    """What `save_state` writes."""
    _check_settings(settings)
    tensors = {name: np.asarray(_plain(leaf)) for name, leaf in _named_leaves(state)}
    return files.pack(tensors, {"kind": KIND, "state_format": FORMAT, "settings": files.as_json(settings or {})})


def load_state(path: str | os.PathLike[str], like: TrainState, settings: Mapping[str, object] | None = None) -> TrainState:
    """Read a training state that `save_state` wrote.

    Args:
        path: the file.
        like: a state of a run with the same settings, whose structure the result gets.
        settings: those of the run; raises if the file was written under others, and names those that differ.

    Returns:
        The state.

    >>> import minprobflow as mpf  # see `mpf.save_state` for an example
    """
    _check_settings(settings)
    tensors, metadata = files.read(arguments.path("path", path))
    if metadata["kind"] != KIND:
        raise ModelFileError(f"{path} holds a {metadata['kind']!r}, not a training state: mpf.load reads models")
    _check_format(metadata, path)
    if settings is not None:
        written = _settings(metadata, path)
        given = json.loads(files.as_json(settings))
        differ = [
            f"{key} was {written.get(key)!r}, now {given.get(key)!r}"
            for key in sorted(written.keys() | given.keys())
            if written.get(key) != given.get(key)
        ]
        if differ:
            raise ModelFileError(
                f"{path} is of a run with other settings: {'; '.join(differ)}. Use those settings, or another checkpoint file"
            )
    return _state(tensors, like, path)


def _check_format(metadata: Mapping[str, str], path: str | os.PathLike[str]) -> None:
    if (found := metadata.get("state_format", "1")) != FORMAT:
        raise ModelFileError(
            f"{path} is a training state of format {found}, which this release cannot continue (it needs format {FORMAT}): finish the run "
            "with the release that wrote it, or train again, from the model that it saved (mpf.load) or from the start"
        )


def _settings(metadata: Mapping[str, str], path: str | os.PathLike[str]) -> dict[str, object]:
    try:
        settings = json.loads(metadata["settings"])
    except (ValueError, KeyError, RecursionError) as problem:
        raise DamagedFileError(f"{path} has no readable settings ({problem}): copy it again from its source") from problem
    if not isinstance(settings, dict):
        raise DamagedFileError(f"{path} has no readable settings: copy it again from its source")
    return settings


def state_from_bytes(content: bytes, like: TrainState) -> TrainState:
    """Read what `state_to_bytes` wrote into the structure of `like`."""
    tensors, metadata = files.unpack(content)
    _check_format(metadata, "the pickle")
    return _state(tensors, like, "the pickle")


def _state(tensors: Mapping[str, np.ndarray], like: TrainState, path: str | os.PathLike[str]) -> TrainState:
    leaves = []
    for name, leaf in _named_leaves(like):
        plain = _plain(leaf)
        if name not in tensors or tensors[name].shape != plain.shape or tensors[name].dtype != plain.dtype:
            raise ModelFileError(
                f"{path} does not fit this run: {name} should be {plain.dtype}{plain.shape}. Use the settings it was written with"
            )
        value = jnp.asarray(tensors[name])
        leaves.append(value if plain is leaf else jax.random.wrap_key_data(value, impl=jax.random.key_impl(leaf)))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def save_checkpoint(state: TrainState, path: str | os.PathLike[str], settings: Mapping[str, object]) -> None:
    """Write a training state and keep the one before, under the same name with `.previous`."""
    if Path(path).exists():
        os.replace(path, previous(path))
    save_state(state, path, settings)


def load_checkpoint(path: str | os.PathLike[str], like: TrainState, settings: Mapping[str, object]) -> TrainState | None:
    """The last state written by `save_checkpoint`, or the one before if that is missing or damaged; None if there is none."""
    found = [p for p in (Path(path), previous(path)) if p.exists()]
    for candidate in found:
        try:
            return load_state(candidate, like, settings)
        except DamagedFileError as problem:
            if candidate == found[-1]:
                raise
            warnings.warn(f"{problem}. Continuing from {found[-1]}", stacklevel=3)
    return None


def previous(path: str | os.PathLike[str]) -> Path:
    """Where the checkpoint before the last one is kept."""
    return Path(f"{os.fspath(path)}.previous")


def _check_settings(settings: object) -> None:
    if settings is not None and not (isinstance(settings, Mapping) and all(isinstance(key, str) for key in settings)):
        raise InputError(f"settings={shown(settings)}: pass a dict with names as keys")


def _named_leaves(state: TrainState) -> list[tuple[str, jax.Array]]:
    if not isinstance(state, TrainState) or not all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state)):
        raise InputError(f"the training state is {shown(state)}: pass the state of a fit (fit.state)")
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in jax.tree.leaves_with_path(state)]


def _plain(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
