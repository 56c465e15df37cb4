"""Where data files are looked for and downloaded to, and the check that they are the published ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import DataMissingError, InputError
from .base import SourceFile

VARIABLE = "MINPROBFLOW_DATA"


def data_folder() -> Path:
    """MINPROBFLOW_DATA, or the user's cache folder."""
    import pooch

    return Path(os.environ.get(VARIABLE) or pooch.os_cache("minprobflow"))


def is_present(file: SourceFile) -> bool:
    """Whether there is such a file (its content is checked when it is used)."""
    return (data_folder() / file.name).is_file()


def locate(file: SourceFile) -> Path:
    """The path of a file whose content has the published checksum; downloaded if it is not there."""
    path = data_folder() / file.name
    if not path.is_file():
        if not file.urls:
            raise DataMissingError(_missing(file, "it cannot be downloaded"))
        _download(file, path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != file.sha256:
        raise InputError(f"{path} is not the published file: its sha256 is {found}, expected {file.sha256}. Replace it with a fresh copy")
    return path


def _download(file: SourceFile, path: Path) -> None:
    """From the first mirror that has it; pooch checks the sum before the file gets its name."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    problems = []
    for url in file.urls:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pooch.retrieve(url, known_hash=f"sha256:{file.sha256}", fname=path.name, path=path.parent)
            return
        except Exception as problem:  # whatever the network throws: the next mirror may do
            problems.append(f"{url}: {type(problem).__name__}")
    raise DataMissingError(_missing(file, f"no mirror could be reached ({'; '.join(problems)})"))


def _missing(file: SourceFile, why: str) -> str:
    return (
        f"the data file {file.name} is not in {data_folder()}, and {why}: put it there by hand (sha256 {file.sha256}), "
        f"or set {VARIABLE} to the folder that holds it"
    )
