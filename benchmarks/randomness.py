"""A published battery, dieharder, on the very bits that the samplers compare with. Hours.

The stream is that of block Gibbs chains: for each step the words of all hidden units of all chains, then those of the visible
ones, under keys made as `run` and `block_gibbs` make them; a new run's key after every thousand steps. Needs the Debian package
dieharder. `python -m benchmarks.randomness [RUN [ROUNDS]]` writes the raw words to standard output.
"""

import os
import re
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.parts import in_parts
from minprobflow import random_bits
from minprobflow.random_bits import bits, subkey

CHAINS, VISIBLE, HIDDEN, STEPS = 25, 784, 200, 1000
CONTROL = 3  # rounds that must not pass
# what `dieharder -a` runs, but for 14, which its authors say not to use; each on a part of the stream of its own
NUMBERS = (*range(14), 15, 16, 17, 100, 101, 102, *range(200, 210))
SIZES = {200: range(1, 13), 201: range(2, 6), 202: range(2, 6), 203: range(33)}  # of tuples
TESTS = [(test, size) for test in NUMBERS for size in SIZES.get(test, [None])]


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


def dieharder(test, ntuple=None, run=0, rounds=None, samples=None):
    """The lines of one of its tests on the stream: name, size of a tuple, p-value, verdict."""
    source = subprocess.Popen([sys.executable, "-m", "benchmarks.randomness", str(run), str(rounds or "")], stdout=subprocess.PIPE)
    options = [*([] if ntuple is None else ["-n", str(ntuple)]), *([] if samples is None else ["-p", str(samples)])]
    command = ["dieharder", "-d", str(test), *options, "-g", "200"]
    out = subprocess.run(command, stdin=source.stdout, capture_output=True, text=True, check=False).stdout
    source.terminate()
    source.wait()
    found = [
        [name.strip(), int(size), float(p), verdict]
        for name, size, p, verdict in re.findall(
            r"^\s*(\w+)\|\s*(\d+)\|.*\|\s*([\d.]+)\|\s*(PASSED|WEAK|FAILED)\s*$", out, flags=re.MULTILINE
        )
    ]
    if not found:
        raise RuntimeError(f"{' '.join(command)} printed no verdict: {out}")
    return found


def main():
    tests = {f"{test}" if ntuple is None else f"{test}, {ntuple}": (test, ntuple) for test, ntuple in TESTS}
    found = in_parts("randomness", {name: partial(dieharder, *test, 10_000 * i) for i, (name, test) in enumerate(tests.items())})
    lines = [line for name in tests for line in found[name]]
    weak = [name for name in tests if any(line[3] != "PASSED" for line in found[name])]
    # one p-value in a hundred is called weak by chance: those tests again, three times as long, on a part of the stream of their own
    longer = {f"{name}, again": partial(dieharder, *tests[name], 10_000 * (len(tests) + i), samples=300) for i, name in enumerate(weak)}
    again = in_parts("randomness", longer)
    result = {
        "stream": f"{CHAINS} chains x ({HIDDEN} + {VISIBLE}) units",
        "rounds": random_bits.UNIT_ROUNDS,
        "p_values": len(lines),
        **{verdict: sum(line[3] == verdict for line in lines) for verdict in ("PASSED", "WEAK", "FAILED")},
        "not_passed": [line for line in lines if line[3] != "PASSED"],
        "again": [line for found in again.values() for line in found],
        "control": {"rounds": CONTROL, "lines": dieharder(0, None, 0, CONTROL)},  # a battery that passes everything says nothing
    }
    print(result)
    return result


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2]:
        random_bits.UNIT_ROUNDS = int(sys.argv[2])
    stream(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
