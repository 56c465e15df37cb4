"""Start-up and compilation of `minprobflow train`: a first run, and a second one that finds its programs compiled. Two minutes.

From the call to the end of the first epoch (2,000 synthetic rows, 784 x 200, FPMPF-10) in fresh processes, with an empty and then a
warm cache, in turn; the epoch's own seconds, without compilation, are measured in this process.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import minprobflow as mpf
from benchmarks.timing import best, interleaved
from benchmarks.training import epoch_of, synthetic

REPEATS = 3


def timed(arguments, environment):
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


def until_first_epoch(arguments, environment, metrics):
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (metrics.exists() and metrics.stat().st_size):
        if process.poll() is not None:
            raise RuntimeError("the job ended before its first epoch")
        time.sleep(0.005)
    seconds = time.perf_counter() - begun
    process.wait()
    return seconds


def main():
    import os

    found = {"first run": [], "second run": [], "import jax": [], "minprobflow --help": []}
    with tempfile.TemporaryDirectory() as folder:
        data, cache, out = Path(folder) / "rows.npy", Path(folder) / "cache", Path(folder) / "run"
        np.save(data, synthetic(2500))
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache)}
        job = ["-m", "minprobflow", "train", "--data", str(data), "--rule", "fpmpf", "--k", "10", "--refresh", "5", "--hidden", "200"]
        job += ["--epochs", "2", "--evaluate-every", "2", "--batch-size", "100", "--quiet", "--out", str(out)]
        for _ in range(REPEATS):
            shutil.rmtree(cache, ignore_errors=True)
            for name in ("first run", "second run"):
                shutil.rmtree(out, ignore_errors=True)
                found[name].append(until_first_epoch(job, environment, out / "metrics.jsonl"))
            found["import jax"].append(timed(["-c", "import jax"], environment))
            found["minprobflow --help"].append(timed(["-m", "minprobflow", "--help"], environment))
    epoch = best(interleaved({"epoch": epoch_of(synthetic(2000), 200, 100, mpf.FPMPF(k=10, refresh=5))}, 3))["epoch"]["best"]
    seconds = {**best(found), "the epoch itself": {"best": epoch, "worst": epoch}}
    ratio = seconds["second run"]["best"] / seconds["first run"]["best"]
    print({name: round(s["best"], 2) for name, s in seconds.items()}, f"second / first {ratio:.2f}")
    return {"seconds": seconds, "second_to_first": ratio}
