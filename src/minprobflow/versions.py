"""Which release this is, and which packages it runs on."""

from __future__ import annotations

import importlib.metadata


def version(package: str = "minprobflow") -> str:
    """The installed version of a package; of ours, in a source tree that is not installed, the one its pyproject.toml states."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return _stated() if package == "minprobflow" else "unknown"


def _stated() -> str:
    import tomllib
    from pathlib import Path

    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    return tomllib.loads(pyproject.read_text())["project"]["version"] if pyproject.is_file() else "unknown"
