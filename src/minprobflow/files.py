"""Writing safetensors atomically, and reading them back with errors that help."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from .errors import DamagedFileError, InputError, ModelFileError

FORMAT_VERSION = 1


def write(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file so that `path` is either the old file or the whole new one, whatever happens."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise InputError(f"{name} has non-finite values, so {path} was left as it was: go back to the last good model")
    whole = {name: np.asarray(t, order="C") for name, t in tensors.items()}
    write_atomically(path, save(whole, {**metadata, "format_version": str(FORMAT_VERSION), "sha256": _digest(whole)}))


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write to a temporary file beside `path`, flush it to the disk, then rename it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and metadata of a file this package wrote."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no file {path}: check the path")
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            metadata = file.metadata() or {}
    except (SafetensorError, OSError, ValueError, TypeError) as problem:
        raise DamagedFileError(f"{path} is truncated or not a safetensors file ({problem}): copy it again from its source") from problem
    version = metadata.get("format_version", "")
    if not version.isdigit() or "kind" not in metadata:
        raise ModelFileError(
            f"{path} was not written by minprobflow (no kind and format_version in its metadata): convert it with mpf.RBM(...) and mpf.save"
        )
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(f"{path} has format version {version}, this release reads up to {FORMAT_VERSION}: upgrade minprobflow")
    if metadata.get("sha256", _digest(tensors)) != _digest(tensors):  # files by other writers may come without
        raise DamagedFileError(f"{path} has been altered since it was written (its checksum is wrong): copy it again from its source")
    return tensors, metadata


def _digest(tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def as_json(value: object) -> str:
    """Compact JSON with sorted keys, so that equal settings give equal text."""
    return json.dumps(value, sort_keys=True, default=str)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
