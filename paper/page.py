"""The tables side by side with the paper's, as Markdown, filled into a page between its markers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minprobflow.files import write_atomically

from . import equal_time
from .markers import filled
from .plan import PROFILES, TABLES, Row, experiment
from .records import Record, Results, doubt, seconds, spread, standard_error, title, values
from .search import at_an_end, chosen, current
from .significance import at_a_glance, significance

PAPER_RUNS = 10
NOT_SHOWN = ("epochs", "batch_size", "rule", "k", "plain")


def write_page(results: Results, page: Path) -> Path:
    """Fill in every part such as `table1-best`, `table1-best-significance`, `table1-time` or `at-a-glance`."""
    write_atomically(page, filled(page.read_text(), partial(part, results)).encode())
    return page


def part(results: Results, name: str) -> str | None:
    """A part of the page by its name; None for a part that is not made from these records."""
    if name == "at-a-glance":
        return at_a_glance(results)
    of, _, kind = name.partition("-")
    profile, _, more = kind.partition("-")
    if of not in TABLES or profile not in (*PROFILES, "time") or more not in ("", "significance"):
        return None
    if profile == "time":
        return equal_time.table(results, of)
    return significance(results, of, profile) if more else table(results, of, profile)


def table(results: Results, name: str, profile: str) -> str:
    """One table under one profile: ours and the paper's for each row, mean +- standard deviation over seeds."""
    plan = experiment(name, profile)
    found = current(plan, results)
    if not any(found.values()):
        return f"No records yet: `python -m paper {name} --profile {profile}`."
    columns = [(method, part) for method in plan.estimators for part in ("test", "train")]
    heads = ["row", *(f"{title(method)} {part}: ours | paper" for method, part in columns)]
    heads += ["ours less paper", "seconds: ours | paper", "to the paper's figure", "batch: ours | paper", "epochs", "seeds"]
    heads += [*(["verdicts"] if "ais" in plan.estimators else []), "settings"]
    lines = ["| " + " | ".join(heads) + " |"]
    lines.append("|" + "---|" * (lines[0].count("|") - 1))
    lines += [_line(row, found[row.name], columns, at_an_end(row, chosen(row, results) or {})) for row in plan.rows if found[row.name]]
    missing = [row.name for row in plan.rows if not found[row.name]]
    return "\n".join([*lines, "", *([f"Not run yet: {', '.join(missing)}."] if missing else [])]).rstrip()


def _line(row: Row, records: list[Record], columns: list[tuple[str, str]], at_end: list[str]) -> str:
    cells = [row.name]
    for method, part in columns:
        ours, unsure = values(records, method, part), doubt(records) if method == "ais" else ""
        better = part == "test" and not unsure and np.mean(ours) >= row.published[f"{method}_{part}"][0]
        told = spread(ours) + unsure
        cells += [f"**{told}**" if better else told, "{:.2f} ± {:.2f}".format(*row.published[f"{method}_{part}"])]
    method = columns[0][0]
    difference, error = less_paper(row, records, method)
    cells.append(f"{difference:+.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else ""))
    settings = records[0]["settings"]
    cells += [f"{seconds(records):.0f}", f"{row.published['seconds']:.0f}"]
    cells.append(_time_to(row.published[f"{method}_test"][0], records[0]["curve"]))
    cells += [str(settings["batch_size"]), str(row.published["batch_size"]), _epochs(records), str(len(records))]
    if method == "ais":
        ais = [record["likelihood"]["ais"]["test"] for record in records]
        kinds, gaps = [found["verdict"] for found in ais], [found["settings"]["gap"] for found in ais]
        cells.append(", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) + f"; gap {np.mean(gaps):.1f}")
    shown = {name: value for name, value in settings.items() if name not in NOT_SHOWN}
    cells.append(", ".join(f"{name.replace('_', ' ')} {_short(v)}{' (end)' if name in at_end else ''}" for name, v in shown.items()))
    return "| " + " | ".join(cells) + " |"


def _epochs(records: list[Record]) -> str:
    """Of the runs; where the model was taken before the end, the mean length of that."""
    whole, taken = records[0]["settings"]["epochs"], [record["epochs"] for record in records]
    return f"{whole}" if min(taken) == whole else f"{np.mean(taken):.0f} of {whole}"


def less_paper(row: Row, records: list[Record], method: str) -> tuple[float, float]:
    """Our mean test figure less the paper's, and the standard error of that; not a number if we have one seed only."""
    theirs, deviation = row.published[f"{method}_test"]
    ours = values(records, method)
    return float(np.mean(ours) - theirs), float(np.hypot(standard_error(ours), deviation / np.sqrt(PAPER_RUNS)))


def _time_to(target: float, curve: list[Record]) -> str:
    """Seconds until the validation likelihood was there, at the first of a run's looks that saw it."""
    there = [point["seconds"] for point in curve if point["valid"] >= target]
    return f"{there[0]:.0f}" if there else "no"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
