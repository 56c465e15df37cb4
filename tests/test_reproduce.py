"""The paper's tables as jobs: what is planned, searched, recorded, resumed and shown."""

import dataclasses
import json
import os
import pathlib

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.reproduce import equal_time, jobs, page, search, training
from minprobflow.reproduce.experiments import PROFILES, TABLES, experiment, published
from minprobflow.reproduce.records import Results

ROOT = pathlib.Path(__file__).parent.parent


def tiny(names=("CD1", "FPMPF10"), **settings):
    """Two rows of table 1 on the embedded digits."""
    plan = experiment("table1", "best")
    rows = []
    for row in plan.selected(list(names)):
        small = {
            **row.settings,
            "learning_rate": [0.01, 1.0],
            "l2": 0.0,
            "refresh": 2,
            "epochs": 3,
            "search_epochs": 2,
            "batch_size": 100,
            **settings,
        }
        if row.rule in ("cd", "mpf-1flip"):
            small.pop("refresh")
        rows.append(dataclasses.replace(row, settings=small, rule_settings={"k": 2}))
    return dataclasses.replace(plan, data="digits", hidden=4, rows=tuple(rows), seeds=2)


@pytest.fixture
def small(monkeypatch):
    plan = tiny()
    monkeypatch.setattr(jobs, "experiment", lambda table, profile: plan)
    return plan


def test_all_45_rows_are_planned_under_every_profile():
    assert [len(published()[table]) for table in TABLES] == [15, 15, 15]
    for table in TABLES:
        for profile in PROFILES:
            plan = experiment(table, profile)
            for row in plan.rows:
                for choice in row.candidates():
                    assert not any(isinstance(value, list) for value in {**row.settings, **choice}.values())
                refresh = row.settings.get("refresh", 1)
                assert mpf.rule(row.rule, **row.rule_settings) and refresh
                assert (row.settings["batch_size"] == row.published["batch_size"]) or profile != "paper"
                searched = len(row.candidates()) > 1 and not isinstance(row.settings["epochs"], list)
                assert not searched or row.settings["search_epochs"] <= row.settings["epochs"]
            assert {f"{method}_{part}" for method in plan.estimators for part in ("test", "train")} <= plan.rows[0].published.keys()


def test_wrong_names():
    with pytest.raises(mpf.InputError, match="did you mean FPMPF10"):
        experiment("table1", "best").selected(["FPMF10"])
    with pytest.raises(mpf.InputError, match="unknown profile"):
        experiment("table1", "bets")
    with pytest.raises(mpf.InputError, match="unknown table"):
        experiment("table4", "best")


def test_records_accumulate_and_interruption_loses_at_most_one(small, tmp_path, monkeypatch):
    results, lines = Results(tmp_path / "results", tmp_path / "models"), []
    with monkeypatch.context() as patch:
        judged, calls = training.judged, []

        def judge_once(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return judged(*arguments)

        patch.setattr(jobs, "judged", judge_once)
        with pytest.raises(KeyboardInterrupt):
            jobs.reproduce("table1", results=results, report=lines.append)
    first = results.record_file(small.rows[0], 0)
    before = first.read_bytes()
    assert len(results.records("table1", "best")) == 1
    trained = []
    train = training.train
    monkeypatch.setattr(jobs, "train", lambda *a, **k: trained.append(a[3]) or train(*a, **k))
    monkeypatch.setattr(search, "train", None)  # searches are on record: none may run again
    assert jobs.reproduce("table1", results=results, report=lines.append) == 0
    assert first.read_bytes() == before and trained == [0, 1, 1]
    assert jobs.reproduce("table1", results=results, report=lines.append) == 0 and len(trained) == 3
    record = json.loads(first.read_text())
    assert record["row"] == "CD1" and record["likelihood"]["exact"]["verdict"] == "trusted" and len(record["curve"]) == 3
    model = mpf.load(results.model_file(small.rows[0], 0))
    digits = mpf.load_dataset("digits")
    assert record["likelihood"]["exact"]["test"]["value"] == pytest.approx(mpf.log_likelihood(model, digits.test).value)
    shown = page.table(results, "table1", "best")
    assert "| CD1 |" in shown and "Not run yet: PCD1" in shown
    assert "FPMPF10" in page.significance(results, "table1", "best") or "No pairs" in page.significance(results, "table1", "best")


def test_the_search_takes_the_best_on_validation(small, tmp_path):
    results, digits = Results(tmp_path), mpf.load_dataset("digits")
    row = small.rows[0]
    choice = search.chosen(small, row, results, digits)
    trials = json.loads(results.trials_file(row).read_text())
    assert [trial["settings"] for trial in trials] == row.candidates()
    best = max(trials, key=lambda trial: trial["valid"])
    assert choice == best["settings"]
    model = training.train(small, row, choice, 0, digits, 2).model
    assert best["valid"] == pytest.approx(mpf.log_likelihood(model, digits.valid).value)


def test_a_length_that_is_searched_over_is_run_as_it_was_tried(tmp_path, monkeypatch):
    plan = tiny(("CD1",), learning_rate=1.0, epochs=[1, 4])
    lengths, train = [], training.train
    for module in (search, jobs):
        monkeypatch.setattr(module, "train", lambda *a: lengths.append(a[5]) or train(*a))
    results = Results(tmp_path)
    assert jobs.run(plan, seeds=1, results=results, report=lambda line: None) == 0
    (record,) = results.records("table1", "best")
    assert lengths == [1, 4, record["chosen"]["epochs"]] and record["settings"]["epochs"] == lengths[-1] == record["curve"][-1]["epoch"]


def test_the_difference_from_the_paper_and_the_time_to_its_figure(tmp_path):
    results, (row,) = Results(tmp_path), experiment("table1", "best").selected(["CD1"])
    paper, deviation = row.published["exact_test"]
    for seed, value in enumerate((paper + 1.0, paper + 3.0)):
        part = {"value": value, "stderr": 0.0, "lower": value, "upper": value}
        record = {"row": "CD1", "seed": seed, "seconds": 9.0, "settings": {"batch_size": 1, "epochs": 3}}
        record["curve"] = [{"epoch": i, "seconds": 3.0 * i, "valid": paper - 1.5 + i} for i in (1, 2, 3)]
        results.write(results.record_file(row, seed), {**record, "likelihood": {"exact": {"test": part, "train": part}}})
    line = next(line for line in page.table(results, "table1", "best").splitlines() if line.startswith("| CD1 |"))
    error = np.hypot(1.0, deviation / np.sqrt(10))  # two figures 2 apart: standard deviation sqrt 2, of the mean 1
    assert f"| +2.00 ± {error:.2f} | 9 | {row.published['seconds']:.0f} | 6 |" in line


def test_nothing_is_begun_after_the_budget(small, tmp_path):
    lines = []
    assert jobs.reproduce("table1", budget=-1.0, results=Results(tmp_path), report=lines.append) == 4
    assert not list(tmp_path.rglob("*.json")) and all("time is used up" in line for line in lines)


def test_the_paper_profile_is_plain_descent():
    plan = tiny(("FMPF10",), plain=True, learning_rate=0.01, refresh="epoch", min_ess=0.0)
    digits = mpf.load_dataset("digits")
    done = training.train(plan, plan.rows[0], {}, 0, digits, 2)
    by_hand = mpf.fit(
        lambda key: training.as_in_the_scripts(key, 64, 4),
        digits.train,
        mpf.FMPF(k=2, refresh=12, min_ess=0.0),
        epochs=2,
        learning_rate=lambda step: 0.01,
        centred=False,
    )
    np.testing.assert_allclose(done.model.weights, by_hand.model.weights, rtol=1e-5)
    assert np.abs(training.as_in_the_scripts(mpf.numerics.as_key(0), 64, 4).weights).max() <= 4 * np.sqrt(6 / 68)


def test_jobs_go_through_joblib(small, tmp_path):
    quick = dataclasses.replace(
        small, rows=tuple(dataclasses.replace(r, settings={**r.settings, "learning_rate": 0.1}) for r in small.rows)
    )
    results = Results(tmp_path)
    arguments = {"results": results, "deadline": None, "threads": 1}
    done = list(jobs._parallel("loky", 2, jobs._run_job, [(quick, row, 0) for row in quick.rows], arguments))
    assert len(done) == 2 and len(results.records("table1", "best")) == 2
    with pytest.raises(mpf.InputError, match="no engine 'lokey'"):
        list(jobs._parallel("lokey", 2, jobs._run_job, [(quick, quick.rows[0], 0)], arguments))


def test_significance_is_paired(tmp_path):
    results = Results(tmp_path)
    plan = experiment("table1", "best")
    rng = np.random.default_rng(0)
    luck = rng.normal(size=8)
    for name, offset in (("CD10", 0.0), ("FMPF10", 0.5)):
        (row,) = plan.selected([name])
        for seed in range(8):
            value = -135 + luck[seed] + offset + 0.1 * rng.normal()
            part = {"value": value, "stderr": 0.0, "lower": value, "upper": value}
            likelihood = {"exact": {"test": part, "train": part, "verdict": "trusted", "settings": {}}}
            record = {
                "row": name,
                "seed": seed,
                "seconds": 10.0 + offset,
                "likelihood": likelihood,
                "settings": {"batch_size": 1, "epochs": 1},
            }
            results.write(results.record_file(row, seed), record)
    line = page.significance(results, "table1", "best").splitlines()[-1]
    a, b = (
        np.asarray([r["likelihood"]["exact"]["test"]["value"] for r in results.by_row("table1", "best")[n]]) for n in ("FMPF10", "CD10")
    )
    error = (a - b).std(ddof=1) / np.sqrt(8)
    assert line.startswith(f"| 10 | FMPF10 | {(a - b).mean():+.2f} ± {error:.2f} |") and line.endswith("| 1.05 |")
    assert float(line.split("|")[4]) < 1e-4  # luck that both share does not count


def test_the_page_is_up_to_date():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    assert page.filled(Results(ROOT / "results"), text) == text


def test_equal_time_gives_every_variant_the_epochs_that_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("NPROC", "7")
    base = dataclasses.replace(tiny(), rows=(), seeds=1)
    monkeypatch.setattr(equal_time, "_without_rows", lambda table: base)
    monkeypatch.setattr(equal_time, "VARIANTS", {name: equal_time.VARIANTS[name] for name in ("PCD1", "FPMPF10-refresh5")})
    monkeypatch.setattr(equal_time, "BUDGETS", {"table1": (2, 4)})
    results = Results(tmp_path)
    assert "No records yet" in equal_time.table(results, "table1")
    results.write(tmp_path / "table1" / "seconds-per-epoch.json", {"PCD1": 0.5, "FPMPF10-refresh5": 1.0})
    plans = equal_time.plans("table1", results)
    assert [[row.settings["epochs"] for row in plan.rows] for plan in plans] == [[4, 2], [8, 4]]
    assert os.environ["NPROC"] == "1"  # measured and run on one thread, here and in the processes begun from here
    assert jobs.run(plans[0], results=results, report=lambda line: None) == 0
    shown = equal_time.table(results, "table1")
    assert shown.count("**") == 2 and "| 4, " in shown and "| 2, " in shown
    (tmp_path / "table1" / "seconds-per-epoch.json").unlink()
    measured = [row.settings["epochs"] for row in equal_time.plans("table1", results)[0].rows]
    assert all(epochs > 4 for epochs in measured)  # an epoch of these few digits takes milliseconds
