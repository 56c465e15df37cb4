"""JAX cannot be used in a process forked from one that has used it: its threads are gone, and a computation waits for them forever."""

from __future__ import annotations

import os

from .errors import InputError

_home: int | None = None  # the process in which this library first used JAX


def check_process() -> None:
    """Raise in such a process. Called wherever a key, a model or a state enters the library, before anything is computed."""
    global _home  # noqa: PLW0603 (a property of the process)
    if _home is None:
        _home = os.getpid()
    elif _home != os.getpid():
        raise InputError(
            "this process was forked after JAX had started, so that any computation would hang: start it with "
            "multiprocessing.get_context('spawn') or with joblib's loky backend"
        )
