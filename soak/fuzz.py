"""Wild calls: wrong types, extreme numbers and hostile command lines end in a right result or in one clear sentence."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .cases import GOOD, OTHER, SILENT, TRACEBACK, Case, Outcome, describe, fingerprint, watched
from .flips import train_rows

LIMIT = 120.0
CALLS = 500  # in a shard
SAMPLE = 60
SHARDS = {"api": 8, "numbers": 6, "command": 6}
MEMORY = 12 * 2**30  # bytes of addresses: a call that asks for more fails instead of stopping the machine


def shards() -> list[str]:
    """Names of the parts."""
    return [f"{name}/{i}" for name, n in SHARDS.items() for i in range(n)]


def prepare(work: Path) -> None:
    """A small finished run for the commands that read one."""
    if not (work / "fuzz-run" / "summary.json").exists():
        shutil.rmtree(work / "fuzz-run", ignore_errors=True)
        train_rows(work, work / "fuzz-run")


def cases(shard: str, seed: int, work: Path) -> Iterator[Case]:
    """The cases of a shard."""
    rng = random.Random(f"{shard} {seed}")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory(dir=work, prefix="scratch-") as scratch:
        os.chdir(scratch)
        generate = {"api": _api, "numbers": _numbers, "command": _commands, "mixed": _mixed}[shard.partition("/")[0]]
        yield from itertools.islice(generate(rng, work), SAMPLE if shard.startswith("mixed") else CALLS)


def _mixed(rng: random.Random, work: Path) -> Iterator[Case]:
    """A sample of all, for the tests."""
    for calls in itertools.zip_longest(_api(rng, work), _commands(rng, work)):
        yield from filter(None, calls)


# ---- wrong types


def _api(rng: random.Random, work: Path) -> Iterator[Case]:
    """Every public function with arguments of wrong types: the list is kept with the tests."""
    try:
        hostile = importlib.import_module("hostile")
    except ModuleNotFoundError:
        print("tests/hostile.py is not there: no calls with wrong types", file=sys.stderr)
        return
    for label, call in hostile.api_cases(np.random.default_rng(rng.getrandbits(32))):
        yield Case(label, lambda call=call: _call(call, hostile.outcome))


def _call(call: Callable[[], Any], problem: Callable[[Callable[[], Any]], str | None]) -> Outcome:
    broken = problem(call)
    if broken is None:
        return Outcome(GOOD)
    seen = watched(call)  # once more, to see where it comes from
    if isinstance(seen, Outcome):
        return seen
    return Outcome(OTHER if seen.refusal is not None else SILENT, broken)


def _trusted(value: Any) -> Outcome | None:
    """An estimate that is not finite must say so."""
    if hasattr(value, "verdict") and hasattr(value, "value") and not np.isfinite(value.value) and value.verdict != "do not trust":
        return Outcome(SILENT, f"{value.value} with the verdict {value.verdict!r}")
    return None


# ---- extreme numbers

VISIBLE, HIDDEN, ROWS = 4, 3, 8
TAUS = (1.0, 0.5, 2.0, 1e-320, 1e-30, 1e30, 1e300)


def _numbers(rng: random.Random, work: Path) -> Iterator[Case]:
    """Parameters, data and rates over all magnitudes, in few shapes: each new shape compiles."""
    while True:
        name = rng.choice(sorted(NUMERIC))
        state = rng.getrandbits(32)
        yield Case(f"{name}, numbers of seed {state}", lambda name=name, state=state: NUMERIC[name](np.random.default_rng(state)))


def _wild(rng: np.random.Generator, *shape: int, extreme: bool = True) -> np.ndarray:
    """Numbers of one magnitude or of all, now and then with a value that is none."""
    low, high = (-30, 38) if extreme else (-3, 2)
    exponents = rng.uniform(low, high, shape) if rng.random() < 0.3 else np.full(shape, rng.uniform(low, high))
    values = np.asarray(rng.normal(size=shape) * 10.0**exponents)
    if extreme and rng.random() < 0.2:
        values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e39, -1e300, 5e-324, 0.0])
    return values


def _rbm(rng: np.random.Generator, extreme: bool = True) -> Any:
    import minprobflow as mpf

    tau = float(rng.choice(TAUS)) if extreme else 1.0
    parts = [_wild(rng, *shape, extreme=extreme) for shape in ((VISIBLE, HIDDEN), (VISIBLE,), (HIDDEN,))]
    return mpf.BernoulliRBM(*parts, tau=tau)


def _bits(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, (ROWS, VISIBLE))


def _likelihood(rng: np.random.Generator) -> Outcome:
    """Exact values against sums over all states in extended precision."""
    import minprobflow as mpf

    rows = _bits(rng)

    def call() -> Any:
        model = _rbm(rng, extreme=rng.random() < 0.7)
        return model, mpf.log_likelihood(model, rows)

    seen = watched(call)
    if isinstance(seen, Outcome):
        return seen
    if seen.refusal is not None:
        return Outcome(GOOD, seen.refusal)
    model, found = seen.value
    truth, size = _true_likelihood(model, rows)
    if found.verdict == "do not trust" or abs(found.value - truth) <= 1e-3 + 1e-5 * size:
        return Outcome(GOOD)
    return Outcome(SILENT, f"{found.value} with the verdict {found.verdict!r}, expected {truth} (energies up to {size:.1e})")


def _true_likelihood(model: Any, rows: np.ndarray) -> tuple[float, float]:
    """Mean log-likelihood, and the size of the energies it is a difference of."""
    w, b, c = (np.asarray(part, np.longdouble) for part in (model.weights, model.visible_bias, model.hidden_bias))
    tau = np.longdouble(model.tau)
    every = np.array(list(itertools.product((0, 1), repeat=VISIBLE)))

    def log_weight(v: np.ndarray) -> np.ndarray:
        return (v @ b) / tau + np.logaddexp(0, (v @ w + c) / tau).sum(1)

    weights = log_weight(every)
    top = weights.max()
    log_z = top + np.log(np.exp(weights - top).sum())
    return float((log_weight(rows) - log_z).mean()), float(np.abs(weights).max())


def _quick(make: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], Outcome]:
    """The verdict on a call whose result must be finite."""

    def run(rng: np.random.Generator) -> Outcome:
        seen = watched(lambda: make(rng))
        if isinstance(seen, Outcome):
            return seen
        if seen.refusal is not None:
            return Outcome(GOOD, seen.refusal)
        failed = _trusted(seen.value)
        values = seen.value if isinstance(seen.value, list) else []
        wrong = [array for array in map(np.asarray, values) if array.dtype.kind == "f" and not np.isfinite(array).all()]
        return failed or Outcome(SILENT if wrong else GOOD, f"not finite: {wrong[0].ravel()[:5]}" if wrong else "")

    return run


def _ais(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    return mpf.log_partition(_rbm(rng), "ais", chains=10, betas=20, samples=10)


def _sample(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    rows = mpf.sample(_rbm(rng), n=4, steps=3, seed=int(rng.integers(2**31)))
    assert rows.shape == (4, VISIBLE) and np.isin(rows, (0, 1)).all(), "samples that are not bits"
    return [rows]


def _fit(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    rate, l2 = abs(float(_wild(rng, 1)[0])), abs(float(_wild(rng, 1)[0])) if rng.random() < 0.2 else 0.0
    rule = str(rng.choice(["cd", "pcd", "fpmpf", "mpf-1flip"]))
    model = (
        _rbm(rng, extreme=False)
        if rng.random() < 0.6
        else mpf.BernoulliRBM(*(_wild(rng, *s) for s in ((VISIBLE, HIDDEN), (VISIBLE,), (HIDDEN,))))
    )
    done = mpf.fit(model, _bits(rng), rule, epochs=2, batch_size=4, learning_rate=rate, l2=l2, progress=False)
    return [done.model.weights, done.model.visible_bias, done.model.hidden_bias]


def _data(rng: np.random.Generator) -> Any:
    """Data that are not bits."""
    import minprobflow as mpf

    rows = _wild(rng, ROWS, VISIBLE)
    mpf.log_likelihood(mpf.BernoulliRBM.init(0, VISIBLE, HIDDEN), rows)
    raise AssertionError(f"rows such as {rows[0]} were taken for bits")


def _gaussian(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    rows = _wild(rng, ROWS, VISIBLE)
    model = mpf.GaussianRBM.init(0, VISIBLE, HIDDEN, _wild(rng, ROWS, VISIBLE, extreme=rng.random() < 0.5))
    return mpf.log_likelihood(model, rows)


def _ising(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    pairs = _wild(rng, VISIBLE, VISIBLE)
    model = mpf.Ising(pairs + pairs.T, _wild(rng, VISIBLE))
    return mpf.log_likelihood(model, _bits(rng))


def _convex(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    l1 = abs(float(_wild(rng, 1)[0]))
    done = mpf.fit_convex(mpf.Ising.init(VISIBLE), _bits(rng), counts=np.abs(_wild(rng, ROWS)), l1=l1, max_iterations=20, progress=False)
    return [done.model.pairs, done.model.fields]


def _files(rng: np.random.Generator) -> Any:
    import minprobflow as mpf

    model = _rbm(rng)
    mpf.save(model, "model.safetensors")
    assert fingerprint(mpf.load("model.safetensors")) == fingerprint(model), "another model was read than written"
    return []


def _free_energy(rng: np.random.Generator) -> Any:
    _rbm(rng).free_energy(_bits(rng).astype(np.float32))  # of any value: what is made of it is checked elsewhere
    return []


NUMERIC: dict[str, Callable[[np.random.Generator], Outcome]] = {
    "log_likelihood": _likelihood,
    **{
        call.__name__.removeprefix("_"): _quick(call)
        for call in (_ais, _sample, _fit, _data, _gaussian, _ising, _convex, _files, _free_energy)
    },
}


# ---- the command line

ANY_INT = ("-1", "0", "1.5", "x", "", " ", "1e3", "²", "٣", "+3", "0x3", "nan", "inf", "None", "true", "\udcff", "-", "--", "1_0", "9" * 30)
HUGE = (str(2**31), str(2**63), str(2**64))
ANY_FLOAT = ("-1", "0", "nan", "inf", "-inf", "1e400", "-1e-400", "x", "", "½", "1,5", "٣", "0x1p3", "1e-320", "1e39", "\udcff")
ANY_TEXT = (
    "",
    " ",
    "x",
    "²",
    "../x",
    "\udcff",
    "é",
    "--help",
    "-",
    "a" * 5000,
    "{}",
    "[]",
    "null",
    "cd;ls",
    "$(touch executed)",
    "%s",
    "{0}",
    "\n",
)
PATHS = (
    "",
    " ",
    ".",
    "..",
    "-",
    "/",
    "missing",
    "missing/x.npy",
    "file/run",
    "file",
    "folder",
    "/proc/x",
    "/proc/self/mem",
    "/dev/null",
    "/dev/full",
    "/dev/null/x",
    "\udcff",
    "ünïcode",
    "a" * 250,
    "b" * 300,
    "c/" * 2000,
    "x.gif",
    "x.npy:",
    "x.npz:y",
    "~/missing",
    "junk.npy",
    "junk.npz",
    "junk.csv",
    "junk.safetensors",
    "new\nline",
)
INTS = dict.fromkeys(("--k", "--refresh", "--n-particles", "--hidden", "--batch-size", "--seed"), (*ANY_INT, *HUGE))
FLOATS = dict.fromkeys(("--min-ess", "--tau", "--learning-rate", "--l1", "--l2", "--average"), ANY_FLOAT)
OPTIONS = ("seed=-1", "seed=x", "split=0.8", "split=[1,2]", "split=[NaN,NaN,NaN]", "threshold=a", "threshold=NaN", "real=False", "real=no")
MORE = (
    "labels=1",
    "labels=first",
    "x=1",
    "=",
    "",
    "threshold",
    "seed=1e400",
    "split=[0.8,0.1,0.1]",
    "seed=null",
    "threshold=[]",
    "real={}",
    "é=1",
)
AIS = {
    **dict.fromkeys(("--chains", "--betas", "--samples", "--first-betas", "--max-betas", "--sample-steps"), ANY_INT),
    **dict.fromkeys(("--target-stderr", "--target-gap"), ANY_FLOAT),
    "--max-seconds": ("-1", "0", "nan", "x", "0.5"),
    "--schedule": (*ANY_TEXT, "linear"),
    **dict.fromkeys(("--max-rungs", "--steps", "--max-rounds"), (*ANY_INT, *HUGE)),
    "--trajectory": PATHS,
}
FLAGS: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {
        **INTS,
        **FLOATS,
        "--epochs": ("-1", "0", "1.5", "x", "", "²", "nan", "\udcff"),
        "--evaluate-every": ANY_INT,
        "--rule": (*ANY_TEXT, "exact", "mpf-1flip"),
        "--kernels": (*ANY_TEXT, "xla", "native"),
        "--optimizer": (*ANY_TEXT, "adam"),
        "--model": (*ANY_TEXT, "ising", "potts", "gaussian-rbm"),
        "--n-values": ANY_INT,
        "--kernel": (*ANY_TEXT, "tempering", "heat-bath"),
        "--score": (*ANY_TEXT, "exact"),
        "--schedule": (*ANY_TEXT, "constant"),
        "--looks": ANY_INT,
        "--likelihood-chains": (*ANY_INT, *HUGE),
        "--stop-when": (*ANY_TEXT, "plateau"),
        "--patience": ANY_INT,
        "--rungs": (*ANY_INT, *HUGE),
        "--hottest": ANY_FLOAT,
        "--o": (*ANY_TEXT, "sign"),
        "--data": (*PATHS, *ANY_TEXT),
        "--data-option": (*OPTIONS, *MORE),
        "--valid": PATHS,
        "--test": PATHS,
        "--config": PATHS,
        "--out": PATHS,
    },
    "evaluate": {
        "": (*PATHS, *ANY_TEXT),
        "--data": PATHS,
        "--base-data": PATHS,
        "--method": (*ANY_TEXT, "csl", "pseudo", "ais"),
        **AIS,
        **dict.fromkeys(("--burn-in", "--thinning"), ANY_INT),
        "--start": (*ANY_TEXT, "data"),
        "--model": ANY_TEXT,
        "--seed": (*ANY_INT, *HUGE),
    },
    "sample": {
        "": (*PATHS, *ANY_TEXT),
        "-n": ANY_INT,
        "--steps": ("-1", "0", "1.5", "x", "", "²", "nan"),
        "--start": (*ANY_TEXT, "data", "particles"),
        "--clamp": (*PATHS, "top", "left", "mask.npy", "mask2.npy"),
        "--model": ANY_TEXT,
        "--out": (*PATHS, "s.npy", "s.png", "s.fasta"),
        "--alphabet": ANY_TEXT,
        "--seed": (*ANY_INT, *HUGE),
    },
    "compare": {"": PATHS, "--method": ANY_TEXT, "--model": ANY_TEXT, "--seed": (*ANY_INT, *HUGE), **AIS},
    "report": {"": (*PATHS, "run/model.safetensors"), "--out": PATHS},
    "datasets": {"": ANY_TEXT},
    "datasets info": {"": ANY_TEXT, "--data-option": (*OPTIONS, *MORE)},
    "datasets fetch": {"": ANY_TEXT},
    "paper": {
        "": ANY_TEXT,
        "--profile": ANY_TEXT,
        "--rows": ANY_TEXT,
        "--seeds": ("-1", "0", "x", ""),
        "--budget": ("-1", "0", "x"),
    },
}
SWITCHES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("evaluate", "compare", "report", "datasets", "datasets info", "datasets fetch"), ("--json", "--quiet")),
    "sample": ("--json", "--quiet", "--equilibrium"),
    "train": ("--json", "--quiet", "--resume", "--overwrite", "--centred", "--trajectory", "--log"),
}
BASE = {
    "train": "--data rows.npy --rule cd --hidden 3 --epochs 1 --batch-size 20 --quiet --out out",
    "evaluate": "run --quiet",
    "sample": "run -n 4 --steps 2 --out s.npy",
    "compare": "run run2 --quiet",
    "report": "run --quiet --out page.html",
    "datasets": "",
    "datasets info": "digits",
    "datasets fetch": "digits",
    "paper": "table1 --profile quick --rows CD1 --budget 0 --quiet --results results --models models",
}


def _commands(rng: random.Random, work: Path) -> Iterator[Case]:
    """Command lines with one or two hostile values, as a user or a script might give them."""
    names = [name for name, flags in FLAGS.items() for _ in range(2 + len(flags))]
    while True:
        name = rng.choice(names)
        line = [*name.split(), *BASE[name].split()]
        for flag in rng.sample(sorted(FLAGS[name]), 1 if rng.random() < 0.7 or len(FLAGS[name]) == 1 else 2):
            line = _with(line, len(name.split()), flag, rng.choice(FLAGS[name][flag]))
        if rng.random() < 0.2:
            line += rng.choices(SWITCHES.get(name, ("--quiet",)))
        encoding = rng.choice(("utf-8", "utf-8", "ascii", "latin-1"))
        shown = ascii([word if len(word) < 60 else f"{word[:20]}... ({len(word)} letters)" for word in line])
        yield Case(f"{shown} ({encoding})", lambda line=line, encoding=encoding: _command(line, encoding, work))


def _with(line: list[str], first: int, flag: str, value: str) -> list[str]:
    """A command line with another value."""
    if not flag:
        return [*line[:first], value, *line[first + 1 :]]
    if flag in line and flag != "--data-option":
        return [value if i and line[i - 1] == flag else word for i, word in enumerate(line)]
    return [*line, flag, value]


def _surroundings(work: Path) -> None:
    """What the commands find in the current folder."""
    for file in Path(".").iterdir():
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        else:
            file.unlink()
    shutil.copytree(work / "fuzz-run", "run")
    os.symlink("run", "run2")
    shutil.copy(work / "rows.npy", "rows.npy")
    Path("folder").mkdir()
    Path("file").write_text("hello\n")
    for name in ("junk.npy", "junk.npz", "junk.csv", "junk.safetensors"):
        Path(name).write_bytes(b"\x93junk\0\xff")
    np.save("mask.npy", np.arange(10) < 4)
    np.save("mask2.npy", np.zeros((3, 2)))


def _command(line: list[str], encoding: str, work: Path) -> Outcome:
    from paper.__main__ import app as paper

    from minprobflow import cli

    _surroundings(work)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, errors) for errors in ("strict", "backslashreplace"))
    before, code = sys.argv, None
    of_paper = line[0] == "paper"
    sys.argv = line if of_paper else ["minprobflow", *line]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main(*[paper] * of_paper)
        code = 0
    except SystemExit as end:
        code = end.code
    except Exception as problem:
        return Outcome(TRACEBACK, describe(problem))
    finally:
        sys.argv = before
    with contextlib.suppress(ValueError):
        err.flush()
    said = err.buffer.getvalue().decode(encoding, "replace") if not err.closed else ""
    return _exit_verdict(line, code, said)


def _exit_verdict(line: list[str], code: Any, said: str) -> Outcome:
    if "Traceback" in said:
        return Outcome(TRACEBACK, said[-300:])
    if Path("executed").exists():
        return Outcome(OTHER, "a value was executed")
    if code not in (0, 1, 2, None):
        return Outcome(OTHER, f"exit code {code}: {said[-200:]}")
    if code and not said.strip():
        return Outcome(OTHER, f"exit code {code}, and nothing says why")
    if code == 2 and line[0] == "train" and Path("out/config.json").exists():
        return Outcome(OTHER, f"refused, but a run folder is left that blocks the corrected command: {said[-200:]}")
    left = [str(file) for file in Path(".").rglob(".*") if file.is_file()]
    return Outcome(OTHER, f"files are left over: {', '.join(left)}") if left else Outcome(GOOD, said[-200:])
