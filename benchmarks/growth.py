"""How time and memory grow with N, D, H, k and particles: each doubled four times, fitted exponent. Five minutes.

Every size runs in a process of its own, whose peak memory is read at its end.
"""

import json
import subprocess
import sys

import numpy as np

import minprobflow as mpf
from benchmarks.timing import best, interleaved, peak_mib
from benchmarks.training import epoch_of, synthetic

START = {"N": 4000, "D": 196, "H": 64, "k": 2, "particles": 100}
USUAL = {"N": 4000, "D": 784, "H": 200, "k": 5, "particles": 100}


def measure(sizes):
    rule = mpf.PCD(k=sizes["k"], n_particles=sizes["particles"])
    epoch = epoch_of(synthetic(sizes["N"], sizes["D"]), sizes["H"], 100, rule)
    seconds = best(interleaved({"epoch": epoch}, 5))["epoch"]["best"]
    return {"seconds": seconds, "peak_mib": peak_mib()}


def in_a_process(sizes):
    code = f"import json; from benchmarks import growth; print(json.dumps(growth.measure({sizes!r})))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(out.stdout.splitlines()[-1])


def main():
    found = {}
    for name, first in START.items():
        sizes = [first * 2**i for i in range(5)]
        measured = [in_a_process({**USUAL, name: size}) for size in sizes]
        slope = float(np.polyfit(np.log(sizes), np.log([m["seconds"] for m in measured]), 1)[0])
        found[name] = {"sizes": sizes, "measured": measured, "exponent": slope}
        print(f"{name}: exponent {slope:.2f}, peak {measured[0]['peak_mib']:.0f} -> {measured[-1]['peak_mib']:.0f} MiB", flush=True)
    return found
