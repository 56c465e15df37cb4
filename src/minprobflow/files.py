"""Writing safetensors atomically, and reading them back with errors that help."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .errors import DamagedFileError, InputError, ModelFileError

FORMAT_VERSION = 1


def pack(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a safetensors file with our format version and a checksum. Refuses non-finite numbers."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise InputError(f"{name} has non-finite values, so nothing was written: go back to the last good model")
    whole = {name: np.asarray(t, order="C") for name, t in tensors.items()}
    return save(whole, {**metadata, "format_version": str(FORMAT_VERSION), "sha256": _digest(whole)})


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
        content = path.read_bytes()
    except OSError as problem:
        raise DamagedFileError(f"{path} cannot be read ({problem}): copy it again from its source") from problem
    return unpack(content, path)


def unpack(content: bytes, path: str | os.PathLike[str] = "the pickle") -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and metadata of what `pack` made; `path` says in errors where it came from."""
    try:
        tensors = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
    except (SafetensorError, ValueError, TypeError, KeyError) as problem:
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
