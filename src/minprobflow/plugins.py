"""Finding plug-ins: every module of a package, and every file of the folders named in MINPROBFLOW_PLUGINS."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

VARIABLE = "MINPROBFLOW_PLUGINS"


def discover(package: ModuleType) -> None:
    """Import all modules of `package` and all plug-in files, so that what they define is registered."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        for path in sorted(Path(folder).glob("*.py")):
            _import_file(path.resolve())


@cache
def _import_file(path: Path) -> None:
    name = f"minprobflow_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import plug-in {path}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
