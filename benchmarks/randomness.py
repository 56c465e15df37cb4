"""A published battery, dieharder, on the very bits that the samplers compare with. Hours.

The stream is that of block Gibbs chains: for each step the words of all hidden units of all chains, then those of the visible
ones, under keys made as `run` and `block_gibbs` make them; a new run's key after every thousand steps. Needs the Debian package
dieharder. `python -m benchmarks.randomness [RUN [ROUNDS]]` writes the raw words to standard output.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from minprobflow import random_bits
from minprobflow.files import write_atomically
from minprobflow.random_bits import bits, subkey

CHAINS, VISIBLE, HIDDEN, STEPS = 25, 784, 200, 1000
CONTROL = 3  # rounds that must not pass
# what `dieharder -a` runs, but for 14, which its authors say not to use; each on a part of the stream of its own
NUMBERS = (*range(14), 15, 16, 17, 100, 101, 102, *range(200, 210))
SIZES = {200: range(1, 13), 201: range(2, 6), 202: range(2, 6), 203: range(33)}  # of tuples
TESTS = [(test, size) for test in NUMBERS for size in SIZES.get(test, [None])]
PARTIAL = Path(__file__).parent / "results" / "randomness.partial.json"


@jax.jit
def words(run_key, first):
    """Of a hundred steps."""

    def step(i):
        key = subkey(run_key, first + i)
        return jnp.concatenate([bits(subkey(key, layer), (CHAINS, n)).ravel() for layer, n in ((0, HIDDEN), (1, VISIBLE))])

    return jax.lax.map(step, jnp.arange(100))


def stream(run):
    """Raw words without end, to standard output, from this run's key on."""
    out = sys.stdout.buffer
    try:
        while True:
            for first in range(0, STEPS, 100):
                out.write(np.asarray(words(jax.random.key(run), first)).tobytes())
            run += 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dieharder(test, ntuple=None, run=0, rounds=None):
    """The lines of one of its tests on the stream: name, size of a tuple, p-value, verdict."""
    source = subprocess.Popen([sys.executable, "-m", "benchmarks.randomness", str(run), str(rounds or "")], stdout=subprocess.PIPE)
    command = ["dieharder", "-d", str(test), *([] if ntuple is None else ["-n", str(ntuple)]), "-g", "200"]
    out = subprocess.run(command, stdin=source.stdout, capture_output=True, text=True, check=False).stdout
    source.terminate()
    source.wait()
    return [
        [name.strip(), int(size), float(p), verdict]
        for name, size, p, verdict in re.findall(
            r"^\s*(\w+)\|\s*(\d+)\|.*\|\s*([\d.]+)\|\s*(PASSED|WEAK|FAILED)\s*$", out, flags=re.MULTILINE
        )
    ]


def main():
    kept = json.loads(PARTIAL.read_text()) if PARTIAL.exists() else {}
    for i, (test, ntuple) in enumerate(TESTS):
        name = f"{test}" if ntuple is None else f"{test}, {ntuple}"
        if name not in kept:  # a run of hours goes on where it was stopped
            kept[name] = dieharder(test, ntuple, 10_000 * i)
            write_atomically(PARTIAL, json.dumps(kept).encode())
            print(name, kept[name], flush=True)
    lines = [line for found in kept.values() for line in found]
    result = {
        "stream": f"{CHAINS} chains x ({HIDDEN} + {VISIBLE}) units",
        "rounds": random_bits.UNIT_ROUNDS,
        "p_values": len(lines),
        **{verdict: sum(line[3] == verdict for line in lines) for verdict in ("PASSED", "WEAK", "FAILED")},
        "not_passed": [line for line in lines if line[3] != "PASSED"],
        "control": {"rounds": CONTROL, "lines": dieharder(0, None, 0, CONTROL)},  # a battery that passes everything says nothing
    }
    PARTIAL.unlink()
    print(result)
    return result


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2]:
        random_bits.UNIT_ROUNDS = int(sys.argv[2])
    stream(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
