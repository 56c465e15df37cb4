"""Where data files are looked for, and the check that they are the published ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import InputError

VARIABLE = "MINPROBFLOW_DATA"


def data_folder() -> Path:
    """MINPROBFLOW_DATA, or the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "minprobflow"
    return Path(os.environ.get(VARIABLE, default))


def data_file(name: str, sha256: str) -> Path:
    """The path of a data file whose content has this checksum."""
    path = data_folder() / name
    if not path.is_file():
        raise InputError(
            f"the data file {name} is not in {data_folder()}: put it there (sha256 {sha256}), or set {VARIABLE} to the folder that holds it"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise InputError(f"{path} is not the published file: its sha256 is {found}, expected {sha256}. Replace it with a fresh copy")
    return path
