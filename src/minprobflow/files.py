"""Writing files atomically, and safetensors with one digest over all they hold."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .errors import DamagedFileError, InputError, ModelFileError

FORMAT_VERSION = 2
"""1 had a checksum of the tensors only"""
TEMPORARY = ".minprobflow-", ".tmp"  # short, whatever the target's name: a name may have 255 bytes
_swept: set[str] = set()


def pack(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a safetensors file with our format version and a digest. Refuses non-finite numbers."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise InputError(f"{name} has non-finite values, so nothing was written: go back to the last good model")
    whole = {name: np.asarray(t, order="C") for name, t in tensors.items()}
    fields = {**metadata, "format_version": str(FORMAT_VERSION)}
    return save(whole, {**fields, "digest": _digest(whole, fields)})


def make_folder(path: Path) -> None:
    """Make a folder and those above it; raise if they are more than Python can make."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except RecursionError as problem:
        raise InputError(f"the path of the output has {len(path.parts):,} parts: choose a shorter one") from problem
    except (FileExistsError, NotADirectoryError) as problem:
        raise InputError(f"{path} cannot be written to, since a file is in the place of the folder: choose another path") from problem


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write to a temporary file beside `path`, flush it to the disk, then rename it.

    A link is followed. What is not a plain file (a pipe, a device) is written to as it is.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    make_folder(path.parent)
    if str(path.parent) not in _swept:
        remove_temporaries(path.parent)
    handle, temporary = _temporary(path.parent)
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


def remove_temporaries(folder: str | os.PathLike[str]) -> None:
    """Remove what writers that were killed have left in a folder. A living writer holds a lock on its file."""
    _swept.add(os.path.realpath(folder))
    for path in Path(folder).glob("*".join(TEMPORARY)):
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except OSError:  # in use, or not ours to remove
            continue


def _temporary(folder: Path) -> tuple[int, str]:
    """A new temporary file, locked as long as it is open."""
    while True:
        handle, path = tempfile.mkstemp(dir=folder, prefix=TEMPORARY[0], suffix=TEMPORARY[1])
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: nothing can be swept there either
            return handle, path
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # it was swept away before it was locked


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
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__") or {}
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        raise DamagedFileError(f"{path} is truncated or not a safetensors file ({reason}): copy it again from its source") from problem
    _check(tensors, metadata, path)
    return tensors, metadata


def _check(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str], path: str | os.PathLike[str]) -> None:
    """Refuse what is damaged, foreign or too new. The digest comes first: what it finds wrong, an earlier copy may have right."""
    version = metadata.get("format_version", "")
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None
    fields = {name: value for name, value in metadata.items() if name != "digest"}
    damaged = f"{path} has been altered since it was written (its digest is wrong): copy it again from its source"
    if "digest" in metadata:
        if metadata["digest"] != _digest(tensors, fields):
            raise DamagedFileError(damaged)
    elif number is not None and 2 <= number <= FORMAT_VERSION:
        raise DamagedFileError(damaged)
    if number is None or "kind" not in metadata:
        raise ModelFileError(
            f"{path} was not written by minprobflow (no kind and format_version in its metadata): build the model and use mpf.save"
        )
    if number > FORMAT_VERSION:
        raise ModelFileError(f"{path} has format version {version}, this release reads up to {FORMAT_VERSION}: upgrade minprobflow")
    if "digest" in metadata or "sha256" not in metadata:  # files by other writers may come without a sum
        return
    if metadata["sha256"] != _digest(tensors):
        raise DamagedFileError(damaged)
    warnings.warn(
        f"{path} was written by an older release: its checksum does not cover settings such as tau. Save it again to protect it",
        stacklevel=4,
    )


def _digest(tensors: Mapping[str, np.ndarray], fields: Mapping[str, str] | None = None) -> str:
    """sha256 over the tensors and, where given, the metadata."""
    digest = hashlib.sha256(b"" if fields is None else as_json(dict(fields)).encode())
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
