"""On what a run was made: the one record of versions, machine and data."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import jax

from .. import native
from ..data import Dataset, describe
from ..versions import version

PACKAGES = ("minprobflow", "jax", "jaxlib", "optax", "equinox", "numpy")


def environment(dataset: Dataset | None = None, several_kinds: bool = False) -> dict[str, object]:
    """What one needs to know to make sense of a run later; `several_kinds` as for `describe`."""
    data = {} if dataset is None else {"data": _about(dataset, several_kinds)}
    return {
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": {
            "system": platform.platform(),
            "processor": cpu_name(),
            "cores": os.cpu_count(),
            "jax": jax.default_backend(),
            "kernels": str(native.status()),
        },
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        **data,
    }


def _about(dataset: Dataset, several_kinds: bool) -> dict[str, object]:
    about: dict[str, object] = {"name": dataset.name, "source": dataset.source, "sha256": dataset.sha256}
    about["understood"] = describe(dataset, several_kinds)
    named = dataset.column_names
    return about if named is None else {**about, "columns": named._asdict()}


def cpu_name() -> str:
    """The processor's name, as Linux gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())
