"""How a command ends when something is wrong: one sentence on standard error that says how to continue, and an exit code."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..errors import InputError, TrainingDiverged

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

P = ParamSpec("P")
R = TypeVar("R")


class Terminated(KeyboardInterrupt):
    """SIGTERM, which batch systems and shutdowns send."""


def prepare_streams() -> None:
    """Print any name, also where the terminal's encoding lacks its letters; print warnings as one sentence each."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    warnings.simplefilter("always", UserWarning)  # Python would say the same only once
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)


def stoppable(command: Callable[P, R]) -> Callable[P, R]:
    """Say where a command stopped and how to continue when it is interrupted; a note on the exception says it better than the default."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, _terminate)
        sys.unraisablehook = _deliver_again
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt as stop:
            with suppress(ValueError):
                signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # a second Ctrl-C: at once, without a traceback
            print("\n" + "; ".join(_notes(stop) or ["stopped: the same command starts it again"]), file=sys.stderr, flush=True)
            raise SystemExit(143 if isinstance(stop, Terminated) else 130) from None
        finally:
            sys.unraisablehook = sys.__unraisablehook__

    return run


@contextmanager
def ends_well() -> Iterator[None]:
    """Turn the errors that a user can do something about into one sentence and an exit code."""
    try:
        yield
    except InputError as problem:
        _end(str(problem), 2)
    except TrainingDiverged as problem:
        _end(str(problem), 1)
    except (MemoryError, RuntimeError) as problem:
        if isinstance(problem, RuntimeError) and "out of memory" not in str(problem).lower():  # JAX's error about it has no type of its own
            raise
        reason = (str(problem) or "nothing left").splitlines()[0][:200]
        _end(f"not enough memory ({reason}): use fewer rows, hidden units, particles or chains, or a larger machine", 1)
    except BrokenPipeError:  # whoever read our output has left, as head does
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as problem:  # a full disk, no permission: nothing half written is left
        what = f"{problem.strerror}: {problem.filename}" if problem.strerror and problem.filename else str(problem)
        _end("; ".join([what, *_notes(problem)]), 1)


def write_output(out: str, content: bytes) -> None:
    """Write what --out names, atomically; its folder is made."""
    from ..files import write_atomically

    try:
        write_atomically(out, content)
    except OSError as problem:
        raise InputError(f"{out} cannot be written ({problem.strerror}): choose another --out") from problem


def _end(sentence: str, code: int) -> None:
    print(f"error: {sentence}", file=sys.stderr)
    sys.exit(code)


def _notes(problem: BaseException) -> list[str]:
    return getattr(problem, "__notes__", [])


def _deliver_again(dropped: UnraisableHookArgs) -> None:
    """Python drops an interrupt that arrives in a callback of the garbage collector, of which JAX has one: send it again."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    number = signal.SIGTERM if issubclass(dropped.exc_type, Terminated) else signal.SIGINT
    again = threading.Timer(0.05, os.kill, (os.getpid(), number))  # from another thread: here it would be dropped once more
    again.daemon = True
    again.start()


def _terminate(*_: object) -> None:
    raise Terminated
