"""One shard in a process of its own: a JSON line when a case begins, one when it ends."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from .cases import TRACEBACK, Outcome, describe, selected

CAMPAIGNS = ("kills", "flips", "hostile_files", "fuzz")


def main() -> None:
    """Run the cases of a shard from a number on, or one of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("shard", help="campaign/shard, or campaign alone to prepare it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    report = os.fdopen(os.dup(1), "w", buffering=1)
    if options.case is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the commands print is not for the reader of the verdicts
        threading.Thread(target=_end_with_the_parent, args=(os.getppid(),), daemon=True).start()
    name, _, shard = options.shard.partition("/")
    campaign = importlib.import_module(f"soak.{name}")
    options.work.mkdir(parents=True, exist_ok=True)
    campaign.prepare(options.work)
    if not shard:
        return
    sys.path.append(str(Path(__file__).parent.parent / "tests"))  # the hostile calls are kept there
    share = 1.0 if options.case is not None else options.share
    for i, case in selected(campaign.cases(shard, options.seed, options.work), options.shard, share):
        if i < options.begin or options.case not in (None, i):
            continue
        print(json.dumps({"begin": i, "label": case.label}), file=report)
        begun = time.perf_counter()
        try:
            outcome = case.run()
        except Exception as problem:  # of the case itself
            outcome = Outcome(TRACEBACK, f"in the campaign: {describe(problem)}")
        seconds = round(time.perf_counter() - begun, 3)
        print(json.dumps({"end": i, **outcome._asdict(), "seconds": seconds}), file=report)
    print(json.dumps({"done": True}), file=report)
    report.flush()
    sys.stderr.flush()
    os._exit(0)  # a fuzzed library may have left threads


def _end_with_the_parent(parent: int) -> None:
    """A driver that was killed leaves nothing behind: a worker leads the group of all it starts."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
