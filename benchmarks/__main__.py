"""`python -m benchmarks NAME [NAME ...]`."""

import importlib
import json
import platform
import sys
import time
from pathlib import Path

import jax

NAMES = ("golden", "calibration", "trap", "likelihood_speed", "random_bits", "consistency_potts", "protein")
RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, object]:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    cores = sum(line.startswith("processor") for line in lines)
    return {"cpu": model, "cores": cores, "python": platform.python_version(), "jax": jax.__version__}


def main() -> None:
    for name in sys.argv[1:]:
        if name not in NAMES:
            sys.exit(f"unknown benchmark {name!r}: use one of {', '.join(NAMES)}")
    if len(sys.argv) == 1:
        sys.exit(f"name a benchmark: {', '.join(NAMES)}")
    for name in sys.argv[1:]:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {module.__doc__.splitlines()[0]}", flush=True)
        begun = time.perf_counter()
        result = module.main()
        record = {"benchmark": name, "machine": machine(), "seconds": round(time.perf_counter() - begun, 1), **result}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
