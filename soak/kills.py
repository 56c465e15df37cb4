"""Commands killed at random moments and started again: they end as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .cases import GOOD, HANG, LOST, OTHER, SILENT, TRACEBACK, Case, Outcome
from .flips import DERIVED, compared, results

LIMIT = 900.0
KILLS = 5  # in the life of one training run
LIVES = 4  # of each configuration
READERS = 4  # cases of each command that reads a run
STOPS = 3  # cases of each signal that asks to stop
REPRODUCTIONS = 4
TIMEOUT = 300.0  # of one command
INTERRUPTED = 130

COMMON = "--hidden 4 --epochs 40 --batch-size 100"
CONFIGURATIONS = {
    "fpmpf-polyak": f"--rule fpmpf --k 2 --refresh 3 --average polyak --learning-rate 0.5 {COMMON}",
    "pcd-momentum": f"--rule pcd --k 2 --optimizer momentum --learning-rate 0.02 {COMMON}",
    "mpf-1flip-adam-l1": f"--rule mpf-1flip --optimizer adam --learning-rate 0.01 --l1 0.0001 {COMMON}",
    "grey-cd": f"--rule cd --data-option grey=true --learning-rate 0.01 {COMMON}",
}
READING = ("evaluate", "report", "sample")
ROWS = "CD1"


def shards() -> list[str]:
    """Names of the parts."""
    lives = [f"train/{name}" for name in CONFIGURATIONS]
    stops = [f"stop/{name}" for name in ("SIGINT", "SIGTERM", "SIGINT-twice")]
    return [*lives, *(f"read/{command}" for command in READING), *stops, "paper/table1"]


def cases(shard: str, seed: int, work: Path) -> Iterator[Case]:
    """The cases of a shard."""
    what, _, name = shard.partition("/")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell, and what they start, ignore it
    with tempfile.TemporaryDirectory(dir=work, prefix="scratch-") as scratch:
        for i in range({"train": LIVES, "read": READERS, "stop": STOPS, "paper": REPRODUCTIONS}[what]):
            rng, place = random.Random(f"{shard} {seed} {i}"), Path(scratch) / str(i)
            place.mkdir()
            if what == "train":
                yield Case(f"train {name}, killed {KILLS} times", lambda: _life(name, work, place / "run", rng))  # noqa: B023
            elif what == "read":
                yield Case(f"{name}, killed", lambda: _reader(name, work, place, rng))  # noqa: B023
            elif what == "stop":
                yield Case(f"train, {name}", lambda: _stopped(name, work, place, rng))  # noqa: B023
            else:
                yield Case("python -m paper table1, killed", lambda: _reproduction(work, place, rng))  # noqa: B023


def prepare(work: Path) -> None:
    """An uninterrupted run of each configuration, how long each command takes with its programs compiled, and what it prints."""
    place = work / "kills"
    if (place / "seconds.json").exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    seconds: dict[str, float] = {}
    for name, flags in CONFIGURATIONS.items():
        for folder in (place / "warm", place / name):
            shutil.rmtree(folder, ignore_errors=True)
            seconds[name] = _whole(["train", *flags.split(), "--quiet", "--out", str(folder)], place).seconds
    for name in READING:
        for _ in range(2):
            run = _copied(place, "pcd-momentum", place / "warm")
            done = _whole(_reading(name, run), place)
            seconds[name], printed = done.seconds, done.printed
        (place / f"{name}.printed").write_text(printed)
        for kept in _kept(name, place / "warm"):
            shutil.copy(kept, place / f"{name}.{kept.name}")
    if _has_mnist():
        for _ in range(2):
            shutil.rmtree(place / "results", ignore_errors=True)
            seconds["paper"] = _whole(_reproducing(place), place).seconds
    (place / "seconds.json").write_text(json.dumps(seconds))


class Done(NamedTuple):
    """A command that came to its end."""

    code: int
    printed: str
    said: str
    seconds: float


def _start(arguments: list[str], place: Path) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", *([] if arguments[0] == "paper" else ["minprobflow"]), *arguments]
    return subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(arguments: list[str], place: Path) -> Done:
    begun = time.perf_counter()
    return _ended(_start(arguments, place), begun)


def _ended(process: subprocess.Popen[str], begun: float) -> Done:
    """Wait for the end of a command; one that hangs is killed."""
    try:
        printed, said = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        printed, said = process.communicate()
        return Done(-999, printed, said, TIMEOUT)
    return Done(process.returncode, printed, said, time.perf_counter() - begun)


def _whole(arguments: list[str], place: Path) -> Done:
    done = _finish(arguments, place)
    if done.code != 0:
        raise RuntimeError(f"minprobflow {' '.join(arguments)} ended with {done.code}: {done.said}")
    return done


def _failure(done: Done) -> Outcome | None:
    if done.code == -999:
        return Outcome(HANG, "a command did not end")
    if "Traceback" in done.said:
        return Outcome(TRACEBACK, done.said[-300:])
    return Outcome(OTHER, f"ended with {done.code}: {done.said[-300:]}") if done.code else None


def _kill(arguments: list[str], place: Path, after: float, number: int = signal.SIGKILL, times: int = 1) -> Done | None:
    """Start a command and send it a signal after some seconds; None if it had ended by then."""
    process = _start(arguments, place)
    begun = time.perf_counter()
    try:
        process.wait(after)
        process.communicate()
        return None
    except subprocess.TimeoutExpired:
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.05)
    return _ended(process, begun)


def _seconds(work: Path, name: str) -> float:
    return json.loads((work / "kills" / "seconds.json").read_text())[name]


def _training(flags: str, out: Path) -> list[str]:
    """The command to start a run, or to continue it once it has begun."""
    more = ["--resume"] if (out / "config.json").exists() else flags.split()
    return ["train", *more, "--quiet", "--out", str(out)]


def _life(name: str, work: Path, out: Path, rng: random.Random) -> Outcome:
    return life(CONFIGURATIONS[name], work / "kills" / name, out, rng, _seconds(work, name))


def life(flags: str, reference: Path, out: Path, rng: random.Random, length: float, kills: int = KILLS) -> Outcome:
    """A training run that is killed again and again, then continued to its end, against one that was left alone.

    Args:
        flags: of `minprobflow train`.
        reference: the folder of the run that was left alone.
        out: the folder of the run to kill.
        rng: draws the moments.
        length: seconds of a run that is left alone.
        kills: how many there must be.
    """
    done = records = 0
    for _ in range(3 * kills):
        if done < kills and _kill(_training(flags, out), out.parent, rng.uniform(0.05, 1.0) * length):
            done += 1
            whole = _complete_records(out)
            if whole < records:
                return Outcome(LOST, f"{whole} records after a kill, {records} before it", done)
            records = whole
    verdict = _failure(_finish(_training(flags, out), out.parent)) or _run_verdict(out, reference)
    return verdict._replace(tried=max(done, 1))


def _complete_records(out: Path) -> int:
    file = out / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return len({json.loads(line)["epoch"] for line in lines if line.endswith(b"\n")})


def _run_verdict(out: Path, reference: Path) -> Outcome:
    verdict = compared(out, results(reference))
    if verdict.kind != GOOD:
        return verdict
    left = {file.name for file in out.iterdir()} - {file.name for file in reference.iterdir()}
    return Outcome(OTHER, f"records are left over: {', '.join(sorted(left))}") if left else verdict


def _stopped(name: str, work: Path, place: Path, rng: random.Random) -> Outcome:
    """A training run that is asked to stop, says how to continue, and is continued."""
    out, reference = place / "run", "pcd-momentum"
    flags = CONFIGURATIONS[reference]
    signal_name, _, twice = name.partition("-")
    number = getattr(signal, signal_name)
    stopped = None
    for _ in range(5):
        shutil.rmtree(out, ignore_errors=True)
        stopped = _kill(_training(flags, out), place, rng.uniform(0.15, 0.95) * _seconds(work, reference), number, 2 if twice else 1)
        if stopped is not None and (out / "config.json").exists():
            break
    if stopped is None:
        return Outcome(GOOD, "it was always quicker")
    if stopped.code == -999:
        return Outcome(HANG, f"{name} did not end it")
    if "Traceback" in stopped.said:
        return Outcome(TRACEBACK, f"after {name}: {stopped.said[-300:]}")
    # a second Ctrl-C while Python is ending kills the process, which a shell shows as 130 too
    expected = (INTERRUPTED,) if name == "SIGINT" else (INTERRUPTED, 128 + number, -number)
    if stopped.code not in expected:
        return Outcome(OTHER, f"exit code {stopped.code} after {name}, expected {expected[0]}: {stopped.said[-200:]}")
    if signal_name == "SIGINT" and (out / "config.json").exists() and "--resume" not in stopped.said:
        return Outcome(OTHER, f"after {name} nothing says how to continue: {stopped.said[-200:]!r}")
    done = _finish(_training(flags, out), place)
    return _failure(done) or _run_verdict(out, work / "kills" / reference)


# ---- commands that read a run


def _copied(place: Path, name: str, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(place / name, to)
    return to


def _reading(name: str, run: Path) -> list[str]:
    more = {
        "evaluate": ["--json", "--quiet"],
        "report": ["--quiet", "--out", "run/page.html"],
        "sample": ["--out", "run/rows.npy", "-n", "400"],
    }
    return [name, run.name, *(word.replace("run/", f"{run.name}/") for word in more[name])]


def _kept(name: str, run: Path) -> list[Path]:
    """The files a command writes."""
    files = {"evaluate": ["evaluation.json"], "report": ["page.html"], "sample": ["rows.npy"]}
    return [run / file for file in files[name]]


def _reader(name: str, work: Path, place: Path, rng: random.Random) -> Outcome:
    """A command that is killed twice, and then run to its end: its files are whole at any time, and in the end the right ones."""
    run, kills = _copied(work / "kills", "pcd-momentum", place / "warm"), 0
    before = {file.name for file in run.iterdir()}
    files = _kept(name, run)
    expected = {file.name: (work / "kills" / f"{name}.{file.name}").read_bytes() for file in files}
    for _ in range(2):
        kills += _kill(_reading(name, run), place, rng.uniform(0.1, 1.0) * _seconds(work, name)) is not None
        for file in files:
            if file.exists() and file.read_bytes() != expected[file.name]:
                return Outcome(SILENT, f"{file.name} is half written after a kill", kills)
    done = _finish(_reading(name, run), place)
    if failed := _failure(done):
        return failed
    for file in files:
        if file.read_bytes() != expected[file.name]:
            return Outcome(SILENT, f"{file.name} is not what it would be without the kills", kills)
    if done.printed != (work / "kills" / f"{name}.printed").read_text():
        return Outcome(SILENT, f"printed {done.printed[:200]!r}", kills)
    left = {file.name for file in run.iterdir()} - before - {file.name for file in files} - set(DERIVED)
    return Outcome(OTHER if left else GOOD, f"records are left over: {', '.join(sorted(left))}" if left else "", max(kills, 1))


# ---- reproductions


def _has_mnist() -> bool:
    from minprobflow.data import datasets

    return datasets()["mnist"].is_present()


def _reproducing(place: Path) -> list[str]:
    return [
        *("paper", "table1", "--profile", "quick", "--rows", ROWS, "--quiet"),
        *("--results", str(place / "results"), "--models", str(place / "models")),
    ]


def _reproduction(work: Path, place: Path, rng: random.Random) -> Outcome:
    """Records of a table are the same whether it was killed or not."""
    if not _has_mnist():
        return Outcome(GOOD, "skipped: MNIST is not in the data folder", 0)
    kills = 0
    for _ in range(2):
        kills += _kill(_reproducing(place), place, rng.uniform(0.1, 1.0) * _seconds(work, "paper")) is not None
    done = _finish(_reproducing(place), place)
    if failed := _failure(done):
        return failed
    found, expected = (_records(folder) for folder in (place / "results", work / "kills" / "results"))
    if found.keys() - expected.keys():
        return Outcome(OTHER, f"records are left over: {', '.join(sorted(found.keys() - expected.keys()))}", kills)
    if expected.keys() - found.keys():
        return Outcome(LOST, f"no record {', '.join(sorted(expected.keys() - found.keys()))}", kills)
    return Outcome(GOOD if found == expected else SILENT, "" if found == expected else "a record differs", max(kills, 1))


def _records(folder: Path) -> dict[str, Any]:
    """Their settings and likelihoods, by file, row and seed: times differ."""
    records = {}
    for root, _, files in os.walk(folder):
        for file in files:
            path = Path(root) / file
            for record in map(json.loads, path.read_text().splitlines()):
                kept = {key: record.get(key) for key in ("kind", "row", "seed", "settings", "epochs", "likelihood")}
                records[f"{path.relative_to(folder)} {record.get('row')} {record.get('seed')}"] = _timeless(kept)
    return records


def _timeless(value: Any) -> Any:
    return {k: _timeless(v) for k, v in value.items() if k != "seconds"} if isinstance(value, dict) else value
