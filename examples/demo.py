"""`make demo`: train an RBM on the embedded digits with every rule, compare them, leave a report. One to two minutes.

python examples/demo.py

It does nothing that you cannot type: each command is printed before it runs. With 16 hidden units the likelihood is exact, summed
over all hidden states. The learning rates were chosen on validation data; test data are only reported. Expect -18.16 nats on test
data from the exact gradient, -18.2 to -18.7 from the rules that do without it, and -20.3 from pseudo-likelihood.
"""

import contextlib
import io
import json
import shlex
import sys
from pathlib import Path

from minprobflow import cli

RULES = {  # the exact gradient first: the others are compared with it
    "exact": "--learning-rate 1.6",
    "cd": "--learning-rate 1.6",  # k = 5 Gibbs steps, the default
    "pcd": "--learning-rate 1.6",
    "ptt": "--learning-rate 1.6",
    "flow-ptt": "--learning-rate 1.6",
    "mpf-1flip": "--learning-rate 10",
    "pseudo-likelihood": "--learning-rate 0.1",
    "fmpf": "--refresh 4 --learning-rate 1.6",
    "pmpf": "--refresh 4 --learning-rate 1.6",
    "fpmpf": "--refresh 4 --learning-rate 1.6",
}


def command(line: str, *hidden: str) -> str:
    """Print a command and run it, with some more options; returns what it wrote to standard output."""
    print(f"\n$ minprobflow {line}", flush=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        cli.app([*shlex.split(line), *hidden], standalone_mode=False)
    return out.getvalue()


def main(folder: str = "demo-output", epochs: int = 40) -> None:
    """Run the demo; runs and report are left in the folder."""
    print("8x8 digits, an RBM with 16 hidden units, and the ten rules that train it. Figures are exact log-likelihoods in nats.")
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    valid = {}
    for rule, settings in RULES.items():
        line = f"train --rule {rule} {settings} --epochs {epochs} --out {folder}/{rule} --overwrite"
        last = json.loads(command(line, "--json", *quiet))["last"]
        valid[rule] = last["valid"]
        print(f"valid {last['valid']:.2f}, train {last['train']:.2f} nats")
    runs = " ".join(f"{folder}/{rule}" for rule in RULES)
    print(command(f"compare {runs}", *quiet), end="")
    best = max((rule for rule in RULES if rule != "exact"), key=valid.__getitem__)
    print(f"\nBest on validation data without the exact gradient: {best}. Differences are from the exact gradient, paired by test row.")
    command(f"report {runs} --out {folder}/report.html", *quiet)
    print(f"\nOpen {Path(folder, 'report.html').resolve()} in a browser: curves, samples, filters and mixing of all runs.")
    print(f"Then: minprobflow sample {folder}/{best} --out samples.png, or minprobflow train --help to train on your own data.")


if __name__ == "__main__":
    cli.main(main)
