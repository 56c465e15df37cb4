"""`python -m soak [CAMPAIGN ...]`: run what is missing, then tell what was found."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

from .cases import FAILURES
from .driver import ROOT, Settings, Tally, as_line, command, environment, from_line, run_all
from .worker import CAMPAIGNS


def main() -> None:
    """Exit code 0 if nothing failed, 1 if something did, 3 if the time was too short for all shards."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    digest = code_digest()
    settings = Settings((options.out / f"work-{digest}").absolute(), options.seed, options.share)
    _environment(options.out)
    if options.case is not None:
        sys.exit(
            subprocess.run(command(options.campaigns[0], settings, "--case", str(options.case)), check=False, env=environment()).returncode
        )
    record = options.out / f"results-{digest}-seed{options.seed}-share{options.share:g}.jsonl"
    finished = read(record)
    stop = threading.Event()
    begun = time.time()
    with record.open("a") as file:
        for name in dict.fromkeys(target.partition("/")[0] for target in options.campaigns):
            if stop.is_set():
                break
            _campaign(name, options, settings, finished, file, stop, begun)
    tallies = [tally for shard, tally in finished.items() if _is_wanted(shard, options.campaigns)]
    missing = sum(len(_shards(name, options.campaigns)) for name in CAMPAIGNS) - len(tallies)
    print(table(tallies))
    for line in reproductions(tallies, options):
        print(line)
    if missing:
        print(f"{missing} shards are still missing: run the same command again to continue")
    sys.exit(1 if any(tally.failures for tally in tallies) else 3 if missing else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument(
        "campaigns", nargs="*", default=list(CAMPAIGNS), help=f"{', '.join(CAMPAIGNS)}, or one shard of them  [default: all]"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the cases, between 0 and 1  [default: 1]")
    parser.add_argument("--out", type=Path, default=Path("soak-output"), help="verdicts and fixtures; finished shards are not run again")
    parser.add_argument("--seconds", type=float, help="stop after this time; the same command continues")
    parser.add_argument("--seed", type=int, default=0, help="of the random cases")
    parser.add_argument("--workers", type=int, default=2, help="processes at once  [default: 2]")
    parser.add_argument("--case", type=int, help="run one case of one shard here, and show its verdict")
    options = parser.parse_args()
    for name in options.campaigns:
        if name.partition("/")[0] not in CAMPAIGNS:
            parser.error(f"unknown campaign {name!r}: use {', '.join(CAMPAIGNS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def _environment(out: Path) -> None:
    """Settings that all workers and the commands they start share."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str((out / "compiled").absolute()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def code_digest() -> str:
    """Of the package and the campaigns: verdicts on other code do not count."""
    digest = hashlib.sha256()
    for file in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "soak").glob("*.py"), *(ROOT / "tests").glob("hostile*.py")]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:10]


def read(record: Path) -> dict[str, Tally]:
    """Finished shards; a line that was cut off is run again."""
    finished: dict[str, Tally] = {}
    if record.is_file():
        whole = [line for line in record.read_text().splitlines(keepends=True) if line.endswith("\n")]
        record.write_text("".join(whole))
        for line in whole:
            tally = from_line(line)
            finished[tally.shard] = tally
    return finished


def _is_wanted(shard: str, targets: list[str]) -> bool:
    return any(shard == target or shard.startswith(f"{target}/") for target in targets)


def _shards(name: str, targets: list[str]) -> list[str]:
    campaign = importlib.import_module(f"soak.{name}")
    return [shard for shard in (f"{name}/{part}" for part in campaign.shards()) if _is_wanted(shard, targets)]


def _campaign(
    name: str,
    options: argparse.Namespace,
    settings: Settings,
    finished: dict[str, Tally],
    file: TextIO,
    stop: threading.Event,
    begun: float,
) -> None:
    """Run the shards of a campaign that are not finished, and add them to the record."""
    campaign = importlib.import_module(f"soak.{name}")
    waiting = [shard for shard in _shards(name, options.campaigns) if shard not in finished]
    if not waiting:
        return
    _say(f"{name}: preparing")
    subprocess.run(command(name, settings), check=True, stdout=subprocess.DEVNULL, env=environment())
    started, count = time.time(), 0

    def done(tally: Tally) -> None:
        nonlocal count
        finished[tally.shard] = tally
        file.write(as_line(tally) + "\n")
        file.flush()
        count += 1
        left = (time.time() - started) / count * (len(waiting) - count)
        failed = f", {len(tally.failures)} FAILED" if tally.failures else ""
        _say(f"{tally.shard}: {tally.cases} cases{failed}; {count} of {len(waiting)} shards of {name}, about {left / 60:.0f} min left")

    timer = None
    if options.seconds is not None:
        timer = threading.Timer(max(options.seconds - (time.time() - begun), 0), stop.set)
        timer.start()
    try:
        run_all([(shard, campaign.LIMIT) for shard in waiting], settings, options.workers, done, stop)
    except KeyboardInterrupt:
        stop.set()
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(1.5)  # the threads end their workers
        _say("stopped: run the same command again to continue")
    finally:
        if timer is not None:
            timer.cancel()


def table(tallies: list[Tally]) -> str:
    """Counts of each campaign."""
    head = ("campaign", "cases", "tried", *FAILURES, "minutes")
    rows = [head]
    for name in (*CAMPAIGNS, "all"):
        own = [tally for tally in tallies if name in (tally.shard.partition("/")[0], "all")]
        counts = [sum(tally.counts[kind] for tally in own) for kind in FAILURES]
        totals = (sum(tally.cases for tally in own), sum(tally.tried for tally in own))
        minutes = sum(tally.seconds for tally in own) / 60
        rows.append((name, *(f"{value:,}" for value in (*totals, *counts)), f"{minutes:.1f}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(f"{cell:{'<' if i == 0 else '>'}{widths[i]}}" for i, cell in enumerate(row)) for row in rows)


def reproductions(tallies: list[Tally], options: argparse.Namespace) -> list[str]:
    """A command for each failure."""
    seed = f" --seed {options.seed}" if options.seed else ""
    return [
        f"{failure['kind']}: {failure['label']}: {failure['detail']}\n    python -m soak {tally.shard} --case {failure['case']}{seed}"
        for tally in tallies
        for failure in tally.failures
    ]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
