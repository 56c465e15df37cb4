"""Shards in worker processes: hung or dead workers are started again after the case that ended them."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .cases import FAILURES, GOOD, HANG, TRACEBACK

ROOT = Path(__file__).parent.parent
START = 300.0  # seconds that a worker may take before its first case: it imports and compiles


@dataclass
class Tally:
    """Counts of one shard, and its failures."""

    shard: str
    cases: int = 0
    tried: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, case: int, label: str, kind: str, detail: str, tried: int = 1, seconds: float = 0.0) -> None:
        """Count a case."""
        self.cases += 1
        self.tried += tried
        self.seconds += seconds
        if kind != GOOD:
            self.counts[kind] += 1
            self.failures.append({"case": case, "label": label, "kind": kind, "detail": detail})


@dataclass(frozen=True)
class Settings:
    """What workers are told."""

    work: Path
    seed: int = 0
    share: float = 1.0


def command(target: str, settings: Settings, *more: str) -> list[str]:
    """The command line of a worker."""
    options = ["--seed", str(settings.seed), "--share", str(settings.share), "--work", str(settings.work)]
    return [sys.executable, "-m", "soak.worker", target, *options, *more]


def environment() -> dict[str, str]:
    """Workers find the campaigns from any folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}


def run_all(
    shards: list[tuple[str, float]], settings: Settings, workers: int, done: Callable[[Tally], None], stop: threading.Event
) -> None:
    """Run shards (a name and the seconds a case may take) on some workers; `done` is called with each tally, one at a time."""
    waiting: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
    for shard in shards:
        waiting.put(shard)
    lock = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            try:
                shard, limit = waiting.get_nowait()
            except queue.Empty:
                return
            tally = run_shard(shard, limit, settings, stop)
            if tally is not None:
                with lock:
                    done(tally)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_shard(shard: str, limit: float, settings: Settings, stop: threading.Event) -> Tally | None:
    """One shard to its end; None if it was stopped."""
    tally, begin = Tally(shard), 0
    while True:
        process = subprocess.Popen(
            command(shard, settings, "--begin", str(begin)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment(),
        )
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        last_words: collections.deque[str] = collections.deque(maxlen=12)
        readers = [
            threading.Thread(target=_forward, args=(process.stdout, lines.put), daemon=True),
            threading.Thread(target=_forward, args=(process.stderr, last_words.append), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            ended, current = _follow(lines, tally, limit, stop)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if ended == "done":
            return tally
        if ended == "stopped":
            return None
        said = " ".join(line.strip() for line in last_words if line)[-400:]
        if current is None:
            tally.add(begin, "start of the worker", HANG if ended == "hang" else TRACEBACK, f"the worker did not start: {said}")
            return tally
        case, label = current
        kind = HANG if ended == "hang" else TRACEBACK
        tally.add(case, label, kind, f"no end within {limit:g} s" if kind == HANG else f"the process died: {said}")
        begin = case + 1


def _forward(stream: Any, put: Callable[[Any], None]) -> None:
    for line in stream:
        put(line)
    put(None)


def _follow(lines: queue.SimpleQueue[str | None], tally: Tally, limit: float, stop: threading.Event) -> tuple[str, tuple[int, str] | None]:
    """Count verdicts as they come; how it ended ("done", "hang", "died", "stopped"), and the case that was under way."""
    current, waited, patience = None, 0.0, START
    while True:
        try:
            line = lines.get(timeout=0.5)
        except queue.Empty:
            waited += 0.5
            if stop.is_set():
                return "stopped", current
            if waited > patience:
                return "hang", current
            continue
        waited = 0.0
        if line is None:
            return "died", current
        message = json.loads(line)
        if "done" in message:
            return "done", None
        if "begin" in message:
            current, patience = (message["begin"], message["label"]), limit
        else:
            assert current is not None
            tally.add(current[0], current[1], message["kind"], message["detail"], message["tried"], message["seconds"])
            current, patience = (message["end"], "the step to the next case"), START


def as_line(tally: Tally) -> str:
    """For the record of finished shards."""
    return json.dumps(asdict(tally))


def from_line(line: str) -> Tally:
    """Read what `as_line` wrote."""
    return Tally(**json.loads(line))
