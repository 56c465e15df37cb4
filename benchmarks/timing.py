"""Times of variants taken in turn, so that what the machine does meanwhile falls on all of them alike."""

import time
from pathlib import Path


def interleaved(variants, repeats=7):
    """Seconds of each variant: all are warmed up, then run in turn."""
    times = {name: [] for name in variants}
    for function in variants.values():
        function()
    for _ in range(repeats):
        for name, function in variants.items():
            begun = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - begun)
    return times


def peak_mib():
    """The most memory this process has held. Not ru_maxrss: that begins with what the process that started it held."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def best(times):
    """The fastest of each variant, and the spread: how much longer the slowest took."""
    return {name: {"best": min(seconds), "worst": max(seconds)} for name, seconds in times.items()}
