"""Long benchmarks in parts: each part's result is on disk as soon as it is there, and a run that was stopped goes on after it.

A part's name says all that it depends on, so that a changed one is run anew.
"""

import json
from pathlib import Path

from minprobflow.files import write_atomically

RESULTS = Path(__file__).parent / "results"


def partial_file(benchmark):
    """Deleted when the whole result has been written."""
    return RESULTS / f"{benchmark}.partial.json"


def in_parts(benchmark, parts):
    """The results of all parts (name: function without arguments)."""
    file = partial_file(benchmark)
    kept = json.loads(file.read_text()) if file.exists() else {}
    for name, part in parts.items():
        if name not in kept:
            kept[name] = part()
            write_atomically(file, json.dumps(kept).encode())
            print(name, kept[name], flush=True)
    return {name: kept[name] for name in parts}
