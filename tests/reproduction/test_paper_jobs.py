"""Running what is missing: what is on record is not run again, and nothing is lost."""

import dataclasses
import functools

import numpy as np
import pytest
from paper import jobs, page, run, search
from paper.plan import experiment
from paper.records import Results
from paper.twins import as_cd
from tiny_tables import tiny

import minprobflow as mpf
from minprobflow import runs


def test_rows_that_are_the_same_run_are_trained_once(tmp_path, monkeypatch):
    """FMPF with refresh 1 at twice CD's rate with half its penalty: bit for bit the same, so the second row takes over the first's run."""
    plan, results, lines = tiny(("CD10", "FMPF10"), refresh=1), Results(tmp_path / "results", tmp_path / "models"), []
    contrast, flow = (
        dataclasses.replace(row, settings={**row.settings, "learning_rate": rate, "l2": l2})
        for row, rate, l2 in zip(plan.rows, (0.3, 0.6), (2e-3, 1e-3), strict=True)
    )
    both = dataclasses.replace(plan, rows=(contrast, flow), seeds=1)
    apart = [run.train(both, row.resolved({}), 0, mpf.load_dataset("digits"), looks=0).model.weights for row in both.rows]
    np.testing.assert_array_equal(*apart)
    assert jobs.run(both, results=results, report=lines.append) == 0
    assert lines[1].endswith("FMPF10 seed 0: the same run as that of CD10")
    first, second = results.read("table1", "best", "run")
    own = {"row": "FMPF10", "settings": flow.resolved({}), "same_run_as": "CD10"}
    assert second == {**first, **own}
    assert results.model_file(flow, 0).read_bytes() == results.model_file(contrast, 0).read_bytes()
    monkeypatch.setattr(jobs, "TABLES", ("table1",))
    monkeypatch.setattr(jobs, "experiment", lambda table, profile: both)
    for row in both.rows:
        results.model_file(row, 0).unlink()
    jobs.train_models("best", results, report=lines.append)
    for row in both.rows:
        np.testing.assert_array_equal(mpf.load(results.model_file(row, 0)).weights, apart[0])
    results.model_file(contrast, 0).unlink()
    jobs.train_models("best", results, budget=-1.0, report=lines.append)  # no time to train, but the other row's is there to be copied
    assert results.model_file(contrast, 0).read_bytes() == results.model_file(flow, 0).read_bytes()
    other = dataclasses.replace(flow, settings={**flow.settings, "refresh": 2})
    assert jobs.run(dataclasses.replace(both, rows=(contrast, other)), results=results, report=lines.append) == 0
    assert "the same run" not in lines[-1] and "same_run_as" not in results.read("table1", "best", "run")[-1]


def test_fmpf_with_new_particles_at_every_update_is_cd_at_half_the_rate():
    fmpf = {"rule": "fmpf", "refresh": 1, "k": 3, "learning_rate": 0.6, "l2": 1e-3}
    assert as_cd(fmpf) == {"rule": "cd", "k": 3, "learning_rate": 0.3, "l2": 2e-3}
    for other in ({**fmpf, "refresh": 2}, {**fmpf, "rule": "pmpf"}):
        assert as_cd(other) == other


def test_records_accumulate_and_interruption_loses_at_most_one(small, tmp_path, monkeypatch):
    results, lines = Results(tmp_path / "results", tmp_path / "models"), []
    with monkeypatch.context() as patch:
        calls = []

        def once(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return run.evaluated(*arguments)

        patch.setattr(jobs, "evaluated", once)
        with pytest.raises(KeyboardInterrupt):
            jobs.reproduce("table1", results=results, report=lines.append)
    (record,) = results.read("table1", "best", "run")
    before = results.file("table1", "best").read_bytes()
    trained = []
    monkeypatch.setattr(jobs, "train", lambda *a, **k: trained.append(a[2]) or run.train(*a, **k))
    monkeypatch.setattr(search, "train", None)  # searches are on record: none may run again
    assert jobs.reproduce("table1", results=results, report=lines.append) == 0
    assert results.file("table1", "best").read_bytes().startswith(before) and trained == [0, 1, 1]
    assert jobs.reproduce("table1", results=results, report=lines.append) == 0 and len(trained) == 3
    assert record["row"] == "CD1" and record["likelihood"]["exact"]["test"]["verdict"] == "trusted" and len(record["curve"]) == 3
    model = mpf.load(results.model_file(small.rows[0], 0))
    digits = mpf.load_dataset("digits")
    assert record["likelihood"]["exact"]["test"]["log_likelihood"]["value"] == pytest.approx(mpf.log_likelihood(model, digits.test).value)
    shown = page.table(results, "table1", "best")
    assert "| CD1 |" in shown and "| FPMPF10 |" in shown
    assert page.significance(results, "table1", "best") == "No pairs yet."  # CD10 was not run


def test_what_was_made_under_other_settings_is_made_again(tmp_path, monkeypatch):
    results = Results(tmp_path)
    complete = functools.partial(jobs.run, seeds=1, results=results, report=lambda line: None)
    old, longer, thorough = (tiny(("CD1",), **settings) for settings in ({}, {"epochs": 4}, {"epochs": 4, "search_epochs": 3}))
    assert complete(old) == 0
    (record,) = search.current(old, results)["CD1"]
    assert record["settings"]["epochs"] == 3 and search.current(longer, results) == {"CD1": []}  # and no page shows it
    assert complete(longer) == 0
    (record,) = search.current(longer, results)["CD1"]
    assert record["settings"]["epochs"] == 4
    assert len(search.untried(longer.rows[0], results)) == 0 and len(search.untried(thorough.rows[0], results)) == 2
    assert complete(thorough) == 0 and len(results.read("table1", "best", "trial")) == 4  # trials stay on record


def test_a_row_can_be_evaluated_with_more_chains_and_what_was_not_is_evaluated_again(tmp_path, monkeypatch):
    def quick(model, parts, method, *, train, seed, progress, chains, first_betas, max_betas):
        found = runs.evaluate(model, parts, "exact", train=train)
        return {part: {**record, "settings": {"chains": chains, "betas": first_betas}} for part, record in found.items()}

    monkeypatch.setattr(run, "evaluate", quick)
    monkeypatch.setattr(runs.Validation, "__call__", lambda *_: runs.Look(0.0, 0.0, 0.0, "ais", 0.0))
    results, row = Results(tmp_path), experiment("table3", "best").selected(["PMPF25"])[0]
    assert row.ais["chains"] == 200 and "ais" not in row.settings  # else records of other rows were no longer current
    few = {"chains": 10, "first_betas": 10, "max_betas": 20}
    plan = dataclasses.replace(tiny(("CD1",), learning_rate=0.3), estimators=("ais",), ais=few, seeds=1)
    closer = dataclasses.replace(plan, rows=(dataclasses.replace(plan.rows[0], ais={"chains": 12, "first_betas": 40, "max_betas": 40}),))
    for each, chains, betas in ((plan, 10, 10), (closer, 12, 40)):
        assert search.current(each, results)["CD1"] == []
        assert jobs.run(each, results=results, report=lambda line: None) == 0
        (record,) = search.current(each, results)["CD1"]
        had = record["likelihood"]["ais"]["test"]["settings"]
        assert (had["chains"], had["betas"]) == (chains, betas)


def test_nothing_is_begun_after_the_budget(small, tmp_path):
    lines = []
    assert jobs.reproduce("table1", budget=-1.0, results=Results(tmp_path), report=lines.append) == 4
    assert not list(tmp_path.rglob("*.jsonl")) and all("not begun" in line for line in lines)


def test_jobs_go_through_joblib(small, tmp_path):
    results, lines = Results(tmp_path), []
    assert jobs.run(small, seeds=1, jobs=2, results=results, report=lines.append) == 0
    assert len(results.read("table1", "best", "run")) == 2 and sum("chosen on validation" in line for line in lines) == 2
