"""Long benchmarks in parts: each part's result is on disk as soon as it is there, and a run that was stopped goes on after it."""

import json
from pathlib import Path

from minprobflow.files import write_atomically

RESULTS = Path(__file__).parent / "results"


def in_parts(benchmark, parts):
    """The results of all parts (name: function without arguments); forgets them at the end, when they are all returned."""
    file = RESULTS / f"{benchmark}.partial.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for name, part in parts.items():
        if name not in kept:
            kept[name] = part()
            write_atomically(file, json.dumps(kept).encode())
            print(name, kept[name], flush=True)
    file.unlink(missing_ok=True)
    return {name: kept[name] for name in parts}
