"""Single-bit flips of headers, records and tensors, and cuts of the metrics: each is noticed or changes nothing."""

from __future__ import annotations

import dataclasses
import functools
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .cases import GOOD, LOST, OTHER, SILENT, Case, Outcome, Seen, fingerprint, flipped, unchanged, watched

LIMIT = 60.0
PARTS = 4  # of the checkpoint's header
BODY = 400  # random bits of tensors
SAMPLED = 150  # random bits of each file that a resumed run reads
ALL_BITS = 5000  # a record of more bits is sampled, apart from its first two lines
EPOCHS = 4
FINISHED: dict[str, Any] = {"rule": "cd", "hidden": 4, "epochs": 3, "batch_size": 100}
DERIVED = ("evaluation.json", "diagnostics.safetensors")
PRIMARY = ("config.json", "summary.json", "environment.json", "metrics.jsonl")
READ_BY_RESUME = (
    "config.json",
    "environment.json",
    "metrics.jsonl",
    "checkpoint.safetensors",
    "checkpoint.safetensors.previous",
    "best.safetensors",
    "lock",
)


def shards() -> list[str]:
    """Names of the parts."""
    from minprobflow.model_files import model_kinds

    return [
        *(f"checkpoint/{part}" for part in range(PARTS)),
        "previous/0",
        *(f"model/{kind}" for kind in sorted(model_kinds())),
        *(f"record/{name}" for name in (*DERIVED, *PRIMARY, "best.safetensors")),
        "diagnostics/header",
        *(f"resume/{name}" for name in READ_BY_RESUME),
        "torn/metrics.jsonl",
    ]


def cases(shard: str, seed: int, work: Path) -> Iterator[Case]:
    """The cases of a shard."""
    what, _, part = shard.partition("/")
    rng = random.Random(f"{shard} {seed}")
    with tempfile.TemporaryDirectory(dir=work, prefix="scratch-") as scratch:
        if what == "checkpoint":
            yield from _checkpoint(Path(scratch), int(part))
        elif what == "previous":
            yield from _previous(Path(scratch), rng)
        elif what == "model":
            yield from _model(Path(scratch), part, rng)
        elif what == "record":
            yield from _record(Path(scratch), work / "finished", part, rng)
        elif what == "diagnostics":
            yield from _diagnostics(Path(scratch), work / "finished")
        elif what == "resume":
            yield from _resume(Path(scratch), work, part, rng)
        else:
            yield from _torn(Path(scratch), work)


def prepare(work: Path) -> None:
    """Small runs: a finished one with its derived records, one that was left alone and the same one stopped between two records."""
    if (work / "flips-prepared").exists():
        return
    prepare_finished(work)
    for name in ("whole", "half"):
        shutil.rmtree(work / name, ignore_errors=True)
    train_rows(work, work / "whole")
    half(work, work / "half")
    (work / "flips-prepared").touch()


def prepare_finished(work: Path) -> None:
    """A run whose data are pictures, and all that a page shows of it."""
    from minprobflow.report import read_run
    from minprobflow.runs import train_run
    from minprobflow.train import Config

    shutil.rmtree(work / "finished", ignore_errors=True)
    train_run(Config.of(FINISHED), work / "finished")
    read_run(str(work / "finished"))


def train_rows(work: Path, place: Path, **more: Any) -> None:
    """A run that takes hundredths of a second: its ten units are no picture."""
    from minprobflow.runs import train_run
    from minprobflow.train import Config

    rows = work / "rows.npy"
    if not rows.exists():
        np.save(rows, (np.random.default_rng(0).random((80, 10)) < 0.4).astype(np.uint8))
    settings: dict[str, Any] = {"rule": "fpmpf", "hidden": 3, "epochs": EPOCHS, "batch_size": 20, "tau": 2.0, "learning_rate": 0.5}
    train_run(Config.of(data=str(rows), **settings), place, **more)


class _Stop(Exception):
    pass


def half(work: Path, place: Path) -> None:
    """A run that ended after the record of its third epoch and before the checkpoint of it."""

    def show(epoch: Any, *_: Any) -> None:
        if epoch.number == EPOCHS - 1:
            raise _Stop

    try:
        train_rows(work, place, show=show)
    except _Stop:
        return
    raise AssertionError("the run was not stopped")


def header_bits(content: bytes) -> range:
    """Of a safetensors file: the length and the JSON text."""
    return range(8 * (8 + int.from_bytes(content[:8], "little")))


# ---- model files


def _model(scratch: Path, kind: str, rng: random.Random) -> Iterator[Case]:
    import minprobflow as mpf
    from minprobflow.model_files import model_kinds

    model = model_kinds()[kind].examples()[0]
    if hasattr(model, "tau"):
        model = dataclasses.replace(model, tau=2.0)
    file = scratch / "model.safetensors"
    mpf.save(model, file)
    content = file.read_bytes()
    expected = fingerprint(mpf.load(file))

    def flip(bit: int) -> Outcome:
        file.write_bytes(flipped(content, bit))
        return unchanged(watched(lambda: mpf.load(file)), expected)

    header = header_bits(content)
    body = [rng.randrange(header.stop, 8 * len(content)) for _ in range(BODY)]
    yield from _bits(f"{kind} file", [*header, *body], flip)


def _bits(name: str, bits: Any, flip: Callable[[int], Outcome]) -> Iterator[Case]:
    for bit in bits:
        yield Case(f"{name}, bit {bit % 8} of byte {bit // 8}", lambda bit=bit: flip(bit))


# ---- checkpoints


class _Resumed:
    """A training run whose checkpoint is damaged: resumed, it must end as if nothing had happened."""

    def __init__(self, scratch: Path):
        import minprobflow as mpf

        rows = (np.random.default_rng(0).random((80, 9)) < 0.4).astype(np.uint8)
        start = mpf.RBM.init(0, 9, 3, tau=2.0)
        self.file = scratch / "checkpoint.safetensors"
        self.other = Path(f"{self.file}.previous")
        settings: dict[str, Any] = {"epochs": 2, "batch_size": 20, "average": "polyak", "optimizer": "momentum", "progress": False}

        def fit() -> Any:
            trained = mpf.fit(start, rows, "fpmpf", checkpoint=self.file, resume=True, **settings)
            return trained.model, trained.state

        self.fit = fit
        self.expected = fingerprint(fit())
        self.content, self.previous = self.file.read_bytes(), self.other.read_bytes()

    def with_files(self, content: bytes, previous: bytes) -> Outcome:
        self.file.write_bytes(content)
        self.other.write_bytes(previous)
        return unchanged(watched(self.fit), self.expected, may_refuse=False)


def _checkpoint(scratch: Path, part: int) -> Iterator[Case]:
    run = _Resumed(scratch)
    bits = header_bits(run.content)[part::PARTS]
    yield from _bits("checkpoint beside a good .previous", bits, lambda bit: run.with_files(flipped(run.content, bit), run.previous))


def _previous(scratch: Path, rng: random.Random) -> Iterator[Case]:
    run = _Resumed(scratch)
    header = header_bits(run.content)
    body = [rng.randrange(header.stop, 8 * len(run.content)) for _ in range(BODY)]
    yield from _bits("checkpoint beside a good .previous", body, lambda bit: run.with_files(flipped(run.content, bit), run.previous))
    some = [rng.randrange(8 * len(run.previous)) for _ in range(BODY)]
    yield from _bits(".previous beside a good checkpoint", some, lambda bit: run.with_files(run.content, flipped(run.previous, bit)))
    cuts = [rng.randrange(len(run.content)) for _ in range(BODY // 4)]
    for n in cuts:
        yield Case(f"checkpoint cut off after {n} bytes", lambda n=n: run.with_files(run.content[:n], run.previous))


# ---- the records of a page


def _record(scratch: Path, run: Path, name: str, rng: random.Random) -> Iterator[Case]:
    from minprobflow.report import page, read_run

    place = scratch / "run"
    shutil.copytree(run, place)
    content = (run / name).read_bytes()
    restored = {derived: (run / derived).read_bytes() for derived in DERIVED}

    def read() -> Any:
        return read_run(str(place))

    record = read()
    expected = fingerprint(record)
    shown = functools.cache(lambda: fingerprint(page([record])))  # it takes a second

    def flip(bit: int) -> Outcome:
        for derived, whole in restored.items():
            (place / derived).write_bytes(whole)
        (place / name).write_bytes(flipped(content, bit))
        try:
            seen = watched(read)
            if isinstance(seen, Seen) and seen.refusal is None and fingerprint(seen.value) != expected:
                if name in PRIMARY and seen.words.strip():
                    return Outcome(GOOD, seen.words)  # nothing is left to compute it from
                again = watched(lambda: page([seen.value]))  # records may differ in what no page shows
                seen = again if isinstance(again, Outcome) else again._replace(words=seen.words + again.words)
                return unchanged(seen, shown())
            return unchanged(seen, expected)
        finally:
            (place / name).write_bytes(content)

    bits: list[int] = list(range(8 * len(content)))
    if name.endswith(".safetensors"):  # read again in full only now and then: what is damaged is computed again
        bits = rng.sample(bits, BODY)
    elif len(bits) > ALL_BITS:
        lines = content.split(b"\n")
        first = 8 * len(b"\n".join(lines[:2]))
        bits = [*range(first), *(rng.randrange(first, len(bits)) for _ in range(ALL_BITS // 2))]
    yield from _bits(name, bits, flip)


def _diagnostics(scratch: Path, run: Path) -> Iterator[Case]:
    """Every bit of the header: None tells a page to compute the diagnostics again."""
    from minprobflow.runs.diagnostics import read_diagnostics

    place = scratch / "run"
    shutil.copytree(run, place)
    file = place / DERIVED[1]
    content, expected = file.read_bytes(), fingerprint(read_diagnostics(place))

    def flip(bit: int) -> Outcome:
        file.write_bytes(flipped(content, bit))
        seen = watched(lambda: read_diagnostics(place))
        return Outcome(GOOD) if isinstance(seen, Seen) and seen.value is None else unchanged(seen, expected)

    yield from _bits(file.name, header_bits(content), flip)


# ---- resumed runs


def results(place: Path) -> dict[str, Any]:
    """What a run leaves: parameters bit for bit, and its records without their times."""
    from safetensors.numpy import load_file

    from minprobflow.runs import RunFolder

    metrics = [{k: v for k, v in record.items() if k not in ("seconds", "cpu_seconds")} for record in RunFolder(place).read_metrics()]
    names = ("model.safetensors", "best.safetensors", "checkpoint.safetensors")
    return {"metrics": metrics, **{name: load_file(place / name) for name in names}}


def compared(place: Path, expected: dict[str, Any], words: str = "") -> Outcome:
    """The verdict on a run that has been resumed to its end."""
    found = results(place)
    epochs = [record["epoch"] for record in expected["metrics"]]
    lost = sorted(set(epochs) - {record["epoch"] for record in found["metrics"]})
    differ = [name for name in expected if fingerprint(found[name]) != fingerprint(expected[name])]
    if (lost or differ) and words.strip():
        return Outcome(GOOD, words)
    if lost:
        return Outcome(LOST, f"no records of the epochs {lost}")
    if differ:
        return Outcome(SILENT, f"{', '.join(differ)} differ from those of a run that was not damaged")
    return Outcome(GOOD)


def _resume(scratch: Path, work: Path, name: str, rng: random.Random) -> Iterator[Case]:
    content = (work / "half" / name).read_bytes()
    expected = results(work / "whole")
    damages: list[tuple[str, bytes | None]] = [("gone", None), ("empty", b""), ("junk", b"junk\n"), ("zeros", bytes(len(content)))]
    for _ in range(SAMPLED if content else 0):
        bit = rng.randrange(8 * len(content))
        damages.append((f"with bit {bit % 8} of byte {bit // 8} flipped", flipped(content, bit)))
    for n in sorted(rng.sample(range(len(content)), min(len(content), SAMPLED // 5))):
        damages.append((f"cut off after {n} bytes", content[:n]))
    for label, damaged in damages:
        yield Case(f"resume with {name} {label}", lambda damaged=damaged: _resumed(scratch / "run", work, name, damaged, expected))


def _resumed(place: Path, work: Path, name: str, damaged: bytes | None, expected: dict[str, Any]) -> Outcome:
    from minprobflow.runs import RunFolder, train_run

    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(work / "half", place)
    if damaged is None:
        (place / name).unlink()
    else:
        (place / name).write_bytes(damaged)
    seen = watched(lambda: train_run(RunFolder(place).read_config(), place, resume=True))
    if isinstance(seen, Outcome):
        return seen
    if seen.refusal is not None:
        spared = name.startswith("checkpoint") or name == "lock"  # there is another copy, or nothing of value
        return Outcome(OTHER if spared else GOOD, seen.refusal)
    return compared(place, expected, seen.words)


def _torn(scratch: Path, work: Path) -> Iterator[Case]:
    """The last line of the metrics is cut off at every byte, as by a full disk: its epoch is run again, and no other is lost."""
    content = (work / "half" / "metrics.jsonl").read_bytes()
    expected = results(work / "whole")
    last = content.rindex(b"\n", 0, len(content) - 1) + 1
    for n in range(last, len(content) + 1):
        yield Case(
            f"metrics.jsonl torn after {n} bytes",
            lambda n=n: _unwarned(_resumed(scratch / "run", work, "metrics.jsonl", content[:n], expected), scratch / "run", expected),
        )


def _unwarned(outcome: Outcome, place: Path, expected: dict[str, Any]) -> Outcome:
    """A warning excuses nothing here: all can be recovered."""
    return compared(place, expected) if outcome.kind == GOOD and outcome.detail else outcome
