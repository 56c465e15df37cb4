"""Which rule wins, by how much, and whether chance explains it: differences paired over seeds."""

from __future__ import annotations

import numpy as np
from scipy import stats

from .plan import TABLES, experiment
from .records import Record, Results, doubt, seconds, spread, standard_error, values
from .search import current

Records = list[Record]


def significance(results: Results, name: str, profile: str) -> str:
    """Each rule less CD at equal k, and less PCD1."""
    plan = experiment(name, profile)
    found, method = current(plan, results), plan.estimators[0]
    lines = [
        "| k | row | less CD, test nats | p (paired t over seeds) | less PCD1, test nats | p | seconds, as a share of CD's |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in plan.rows:
        k = row.rule_settings.get("k", 1)
        ours, cd = found[row.name], found.get(f"CD{k}", [])
        if row.name == f"CD{k}" or not len(_pairs(ours, cd, method)):
            continue
        share = seconds(ours) / seconds(cd)
        cells = [str(k), row.name, *_lead(ours, cd, method), *_lead(ours, found.get("PCD1", []), method), f"{share:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else "No pairs yet."


def at_a_glance(results: Results) -> str:
    """One line per table, of our recipe: the best row of MPF that AIS does not doubt, against CD and PCD."""
    lines = [
        "| | best row of MPF | test nats | less CD at equal k | p | less PCD1 | p | less the paper's best row |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        plan = experiment(name, "best")
        found, method = current(plan, results), plan.estimators[0]
        means = {row.name: float(np.mean(values(found[row.name], method))) for row in plan.rows if found[row.name]}
        sure = [row for row in plan.rows if "mpf" in row.rule and row.name in means and not doubt(found[row.name])]
        if not sure:
            continue
        best = max(sure, key=lambda row: means[row.name])
        ours, cd = found[best.name], found.get(f"CD{best.rule_settings.get('k', 1)}", [])
        paper = max(row.published[f"{method}_test"][0] for row in plan.rows)
        cells = [plan.title, best.name, spread(values(ours, method)), *_lead(ours, cd, method), *_lead(ours, found.get("PCD1", []), method)]
        lines.append("| " + " | ".join([*cells, f"{means[best.name] - paper:+.2f}"]) + " |")
    return "\n".join(lines) if len(lines) > 2 else "No records yet."


def _lead(ours: Records, theirs: Records, method: str) -> tuple[str, str]:
    """How much more, and the chance of as much if there were no difference; no such chance where AIS doubts a figure."""
    pairs = _pairs(ours, theirs, method)
    if not len(pairs) or ours is theirs:
        return "", ""
    difference, doubtful = pairs[:, 0] - pairs[:, 1], doubt(ours + theirs)
    told = f"{difference.mean():+.2f}" + (f" ± {standard_error(difference):.2f}" if len(pairs) > 1 else "") + doubtful
    if len(pairs) == 1:
        return told, "one seed"
    if not difference.any():
        return told, "the same runs"
    return told, doubtful.strip() or f"{stats.ttest_rel(*pairs.T).pvalue:.1g}"


def _pairs(ours: Records, theirs: Records, method: str) -> np.ndarray:
    a, b = (dict(zip([record["seed"] for record in each], values(each, method), strict=True)) for each in (ours, theirs))
    return np.asarray([(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]).reshape(-1, 2)
