# ruff: noqa: E501 (tables)
"""The tables of docs/trajectories.md, from the records in results/."""

import json

from benchmarks.parts import RESULTS


def _result(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def adversarial() -> str:
    r = _result("adversarial")
    words = {
        "two_modes": "two deep modes",
        "wide_and_flat": "a wide flat mode",
        "stored_patterns": "stored patterns",
        "parities": "parities",
    }
    verdicts = ("trusted", "wide", "do not trust")
    lines = ["| | " + " | ".join(verdicts) + " |", "|---|---|---|---|"]
    lines += [f"| {words[kind]} | " + " | ".join(str(n.get(v, 0)) for v in verdicts) + " |" for kind, n in r["verdicts_by_kind"].items()]
    return "\n".join(
        [
            *lines,
            "",
            f"Of {r['models']} models {r['trusted_share']:.0%} are trusted. None of these is off by more than {r['largest_error_of_trusted']:.2f} nats "
            f"(others by up to {r['largest_error_of_others']:.1f}). The intervals hold the exact value in {r['coverage']:.1%} of all cases; "
            f"value +- 1.96 stderr alone in {r['coverage_of_trusted_by_value_and_stderr']:.1%} of the trusted ones. Median time {r['median_seconds']:.1f} s.",
        ]
    )


def published() -> str:
    lines = ["| method | seed | log Z | 95% interval | verdict | time (s) |", "|---|---|---|---|---|---|"]
    for name, run in _result("ladders")["runs"].items():
        if name.startswith("golden"):
            _, method, seed = name.split(", ")
            how = f"{run['rungs']} rungs, {run['rounds']:,} rounds" if "rungs" in run else f"{run['betas']:,} temperatures"
            lines.append(f"| {method}, {how} | {seed.split()[1]} | {_figures(run)} | {run['verdict']} | {run['seconds']:.0f} |")
    return "\n".join(lines)


def traps() -> str:
    lines = ["| seed | exact | log Z | 95% interval | verdict | rungs, rounds |", "|---|---|---|---|---|---|"]
    held, narrow = 0, 0
    for name, run in _result("ladders")["runs"].items():
        if name.startswith("trap"):
            held += run["lower"] <= run["exact"] <= run["upper"]
            narrow += run["upper"] - run["lower"] < 3
            seed = name.split(", ")[1].split()[1]
            lines.append(f"| {seed} | {run['exact']:.2f} | {_figures(run)} | {run['verdict']} | {run['rungs']}, {run['rounds']:,} |")
    n = len(lines) - 2
    return "\n".join([*lines, "", f"{held} of {n} intervals hold the exact value; {narrow} are narrower than 3 nats."])


def _figures(run: dict) -> str:
    return f"{run['value']:.2f} +- {run['stderr']:.2f} | [{run['lower']:.2f}, {run['upper']:.2f}]"
