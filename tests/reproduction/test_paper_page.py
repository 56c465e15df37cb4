"""The page: ours beside the paper's, what is sure and what is not, and that it is up to date."""

import functools
import pathlib
import re

import numpy as np
from paper import equal_time, page, search, significance
from paper.markers import filled
from paper.plan import TABLES, experiment, published
from paper.records import Results
from scipy import stats
from tiny_tables import keep

ROOT = pathlib.Path(__file__).parents[2]


def test_the_difference_from_the_paper_and_the_time_to_its_figure(tmp_path):
    results = Results(tmp_path)
    paper, deviation = published()["table1"][0]["exact_test"]
    for seed, value in enumerate((paper + 1.0, paper + 3.0)):
        curve = [{"epoch": i, "seconds": 3.0 * i, "valid": paper - 1.5 + i} for i in (1, 2, 3)]
        row = keep(results, "table1", "CD1", seed, value, curve=curve)
    shown = page.table(results, "table1", "quick")
    line = next(line for line in shown.splitlines() if line.startswith("| CD1 |"))
    error = np.hypot(1.0, deviation / np.sqrt(10))  # two figures 2 apart: standard deviation sqrt 2, of the mean 1
    assert f"| +2.00 ± {error:.2f} | 9 | {row.published['seconds']:.0f} | 6 |" in line and f"**{paper + 2:.2f} ± 1.41**" in line
    assert "Not run yet: PCD1" in shown


def test_a_figure_that_ais_does_not_trust_is_marked_and_wins_nothing(tmp_path):
    results = Results(tmp_path)
    keep(results, "table2", "CD10", 0, -80.0)
    keep(results, "table2", "FPMPF10", 0, -70.0, verdict="do not trust", gap=30.0)
    lines = {line.split("|")[1].strip(): line for line in page.table(results, "table2", "quick").splitlines() if line.startswith("|")}
    assert "| **-80.00** |" in lines["CD10"] and "1 trusted; gap 0.1" in lines["CD10"]
    assert "| -70.00 ? |" in lines["FPMPF10"] and "1 do not trust; gap 30.0" in lines["FPMPF10"]
    assert "**-70.00" in lines["FPMPF10"].split("|")[6]  # CSL, a lower bound, may win
    assert "| +10.00 ? | one seed |" in significance.significance(results, "table2", "quick")
    for seed, value in ((1, -81.0), (2, -80.5)):
        keep(results, "table2", "CD10", seed, value)
        keep(results, "table2", "FPMPF10", seed, value + 9)
        keep(results, "table2", "PMPF10", seed, value + 5 + seed)
    lines = {line.split("|")[2].strip(): line.split("|") for line in significance.significance(results, "table2", "quick").splitlines()[2:]}
    assert lines["FPMPF10"][3:5] == [" +9.33 ± 0.33 ? ", " ? "]  # a p would say more than AIS does
    p = stats.ttest_rel([-75.0, -73.5], [-81.0, -80.5]).pvalue
    assert lines["PMPF10"][3:7] == [" +6.50 ± 0.50 ", f" {p:.1g} ", "  ", "  "]


def test_at_a_glance_the_best_row_of_mpf_beyond_doubt(tmp_path, monkeypatch):
    results = Results(tmp_path)
    monkeypatch.setattr(significance, "experiment", lambda table, profile: experiment(table, "quick"))
    figures_of = {
        "CD10": (-80.0, -79.5),
        "PCD1": (-78.0, -76.0),
        "PMPF10": (-75.0, -74.0),
        "FPMPF10": (-70.0, -71.0),
        "CD25": (-71.0, -71.5),
    }
    verdicts = {"CD10": "trusted", "FPMPF10": "do not trust"}
    for name, pair in figures_of.items():
        for seed, value in enumerate(pair):
            keep(results, "table2", name, seed, value, verdict=verdicts.get(name, "wide"))
    (line,) = significance.at_a_glance(results).splitlines()[2:]
    paper = max(row["ais_test"][0] for row in published()["table2"])
    p_cd, p_pcd = (stats.ttest_rel(figures_of["PMPF10"], figures_of[name]).pvalue for name in ("CD10", "PCD1"))
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    expected = ["PMPF10", "-74.50 ± 0.71", "+5.25 ± 0.25", f"{p_cd:.1g}", "+2.50 ± 0.50", f"{p_pcd:.1g}", f"{-74.5 - paper:+.2f}"]
    assert cells == expected


def test_significance_is_paired(tmp_path):
    results, rng = Results(tmp_path), np.random.default_rng(0)
    luck = rng.normal(size=8)
    cd = -135 + luck + 0.1 * rng.normal(size=8)
    fmpf = -134.5 + luck + 0.1 * rng.normal(size=8)
    for seed in range(8):
        keep(results, "table1", "CD10", seed, cd[seed], seconds=10.0)
        keep(results, "table1", "FMPF10", seed, fmpf[seed], seconds=10.5)
        keep(results, "table1", "PMPF10", seed, cd[seed])
    same, line = significance.significance(results, "table1", "quick").splitlines()[-1:-3:-1]
    error = (fmpf - cd).std(ddof=1) / np.sqrt(8)
    assert line.startswith(f"| 10 | FMPF10 | {(fmpf - cd).mean():+.2f} ± {error:.2f} |") and line.endswith("| 1.05 |")
    assert float(line.split("|")[4]) < 1e-4  # luck that both share does not count
    assert "| +0.00 ± 0.00 | the same runs |" in same


def test_the_page_is_up_to_date_and_whole():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    assert filled(text, functools.partial(page.part, Results(ROOT / "results"))) == text
    for table in TABLES:
        parts = [f"{table}-{profile}{more}" for profile in ("best", "paper") for more in ("", "-significance")]
        for part in [*parts, *([f"{table}-time"] if table in equal_time.BUDGETS else [])]:
            assert text.count(f"<!-- {part} -->") == 1, part


def differing(results, name, profile):
    """Rows that differ from the paper by more than two standard errors; with one seed, by the paper's error alone."""
    plan = experiment(name, profile)
    method = plan.estimators[0]
    for row in plan.rows:
        if records := search.current(plan, results)[row.name]:
            difference, error = page.less_paper(row, records, method)
            if abs(difference) > 2 * (error if np.isfinite(error) else row.published[f"{method}_test"][1] / np.sqrt(page.PAPER_RUNS)):
                yield row.name


def test_every_row_that_differs_from_the_paper_is_discussed():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    prose = re.sub(r"<!-- table.*?<!-- end -->", "", text, flags=re.DOTALL).partition("## Where we differ from the paper")[2]
    for table in TABLES:
        about = prose.partition(f"### Table {table[-1]}")[2].partition("###")[0]
        ours, _, as_described = about.partition("As the paper describes")
        for profile, said in (("best", ours), ("paper", as_described)):
            missing = [row for row in differing(Results(ROOT / "results"), table, profile) if not re.search(rf"\b{row}\b", said)]
            assert not missing, (table, profile, missing)
