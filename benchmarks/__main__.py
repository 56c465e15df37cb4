"""`python -m benchmarks NAME [NAME ...]`."""

import contextlib
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time

import jax

from benchmarks.parts import RESULTS, partial_file
from minprobflow.errors import DataMissingError
from minprobflow.runs.environment import cpu_name

CORRECTNESS = (
    "golden",
    "csl",
    "calibration",
    "adversarial",
    "trap",
    "ladders",
    "randomness",
    "consistency",
    "consistency_potts",
    "protein",
    "gaussian",
    "density",
    "sklearn_features",
    "kept_particles",
)
SPEED = (
    "random_bits",
    "kernels",
    "training",
    "one_flip",
    "likelihood_speed",
    "growth",
    "startup",
    "time_to_quality",
    "ising",
)  # make bench
NAMES = CORRECTNESS + SPEED


def machine() -> dict[str, object]:
    versions = {}
    for name in ("numpy", "torch", "scikit-learn", "rbms", "learnergy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "python": platform.python_version(), "jax": jax.__version__, **versions}


def main() -> None:
    wanted = list(SPEED) if sys.argv[1:] == ["speed"] else sys.argv[1:]
    for name in wanted:
        if name not in NAMES:
            sys.exit(f"unknown benchmark {name!r}: use one of {', '.join(NAMES)}")
    if len(sys.argv) == 1:
        sys.exit(f"name a benchmark: {', '.join(NAMES)}, or speed for all that are about speed")
    for name in wanted:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {module.__doc__.splitlines()[0]}", flush=True)
        begun = time.perf_counter()
        try:
            result = module.main()
        except DataMissingError as problem:
            print(f"left out, its last record stays: {problem}", flush=True)
            continue
        record = {"benchmark": name, "machine": machine(), "seconds": round(time.perf_counter() - begun, 1), **result}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        partial_file(name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
