"""A published battery, dieharder, on the very bits that the samplers compare with. Hours.

The stream is that of block Gibbs chains: for each step the words of all hidden units of all chains, then those of the visible
ones, under keys made as `run` and `block_gibbs` make them; a new run's key after every thousand steps. Needs the Debian package
dieharder. `python -m benchmarks.randomness [ROUNDS]` writes the raw words to standard output.
"""

import os
import re
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from minprobflow import random_bits
from minprobflow.random_bits import bits, subkey

CHAINS, VISIBLE, HIDDEN, STEPS = 25, 784, 200, 1000
CONTROL = 3  # rounds that must not pass


@jax.jit
def words(run_key, first):
    """Of a hundred steps."""

    def step(i):
        key = subkey(run_key, first + i)
        return jnp.concatenate([bits(subkey(key, layer), (CHAINS, n)).ravel() for layer, n in ((0, HIDDEN), (1, VISIBLE))])

    return jax.lax.map(step, jnp.arange(100))


def stream():
    """Raw words without end, to standard output."""
    out = sys.stdout.buffer
    run = 0
    try:
        while True:
            for first in range(0, STEPS, 100):
                out.write(np.asarray(words(jax.random.key(run), first)).tobytes())
            run += 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dieharder(tests, rounds=None):
    """Verdicts of its tests on the stream."""
    begun = time.perf_counter()
    arguments = [] if rounds is None else [str(rounds)]
    source = subprocess.Popen([sys.executable, "-m", "benchmarks.randomness", *arguments], stdout=subprocess.PIPE)
    out = subprocess.run(["dieharder", *tests, "-g", "200"], stdin=source.stdout, capture_output=True, text=True, check=False).stdout
    source.terminate()
    source.wait()
    verdicts = re.findall(r"\|\s*(PASSED|WEAK|FAILED)\s*$", out, flags=re.MULTILINE)
    names = [line.split("|")[0].strip() for line in out.splitlines() if re.search(r"\|\s*(WEAK|FAILED)", line)]
    return {
        "tests": len(verdicts),
        **{v: verdicts.count(v) for v in ("PASSED", "WEAK", "FAILED")},
        "not_passed": names,
        "seconds": round(time.perf_counter() - begun),
    }


def main():
    found = {"stream": f"{CHAINS} chains x ({HIDDEN} + {VISIBLE}) units", "rounds": random_bits.UNIT_ROUNDS}
    found["dieharder"] = dieharder(["-a"])
    found["control"] = {"rounds": CONTROL, **dieharder(["-d", "0"], CONTROL)}  # a battery that passes everything says nothing
    print(found)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        random_bits.UNIT_ROUNDS = int(sys.argv[1])
    stream()
