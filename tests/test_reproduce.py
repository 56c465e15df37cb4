"""The paper's tables as jobs: what is planned, searched, recorded, resumed and shown."""

import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import pickle
import re
import time

import numpy as np
import pytest
from scipy import stats

import minprobflow as mpf
from minprobflow.reproduce import equal_time, figures, jobs, page, search, significance, training
from minprobflow.reproduce.experiments import PROFILES, TABLES, experiment, published
from minprobflow.reproduce.records import Results
from minprobflow.reproduce.twins import as_cd

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
            "search_seeds": 1,
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
    for module in (jobs, page, figures):
        monkeypatch.setattr(module, "experiment", lambda table, profile: plan)
    return plan


def keep(results, table, name, seed, test, seconds=9.0, curve=(), gap=0.1, **of_ais):
    """Write a record as of profile quick, which has nothing to search for."""
    plan = experiment(table, "quick")
    (row,) = plan.selected([name])
    part = {"value": test, "stderr": 0.0, "lower": test, "upper": test}
    settings = {"gap": gap, "chains": plan.ais["chains"], "betas": plan.ais["first_betas"]}
    likelihood = {method: {"test": part, "train": part, "verdict": "trusted", "settings": settings} for method in plan.estimators}
    likelihood.get("ais", {}).update(of_ais)
    record = {"table": table, "profile": "quick", "row": name, "seed": seed, "settings": row.resolved({}), "seconds": seconds}
    record["epochs"] = record["settings"]["epochs"]
    results.write(results.record_file(row, seed), {**record, "curve": list(curve), "likelihood": likelihood})
    return row


def test_all_45_rows_are_planned_under_every_profile():
    assert [len(published()[table]) for table in TABLES] == [15, 15, 15]
    for table in TABLES:
        for profile in PROFILES:
            plan = experiment(table, profile)
            for row in plan.rows:
                for choice in row.candidates():
                    assert not any(isinstance(value, list) for value in {**row.settings, **choice}.values())
                    settings = {name: value for name, value in row.resolved(choice).items() if name in training.RULE_SETTINGS}
                    if settings.get("refresh") == "epoch":
                        settings["refresh"] = 500
                    mpf.rule(row.rule, **settings)  # a wrong setting is seen here, not hours into a run
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


def test_rows_that_are_the_same_run_are_trained_once(tmp_path, monkeypatch):
    """FMPF with refresh 1 at twice CD's rate with half its penalty: bit for bit the same, so the second row takes over the first's run."""
    plan, results, lines = tiny(("CD10", "FMPF10"), refresh=1), Results(tmp_path / "results", tmp_path / "models"), []
    contrast, flow = (
        dataclasses.replace(row, settings={**row.settings, "learning_rate": rate, "l2": l2})
        for row, rate, l2 in zip(plan.rows, (0.3, 0.6), (2e-3, 1e-3), strict=True)
    )
    both = dataclasses.replace(plan, rows=(contrast, flow), seeds=1)
    apart = [training.train(both, row.resolved({}), 0, mpf.load_dataset("digits"), looks=0).model.weights for row in both.rows]
    np.testing.assert_array_equal(*apart)
    assert jobs.run(both, results=results, report=lines.append) == 0
    assert lines[1].endswith("FMPF10 seed 0: the same run as that of CD10")
    first, second = (results.read(results.record_file(row, 0)) for row in (contrast, flow))
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
    assert "the same run" not in lines[-1] and "same_run_as" not in results.read(results.record_file(other, 0))


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
    monkeypatch.setattr(jobs, "train", lambda *a, **k: trained.append(a[2]) or train(*a, **k))
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
    assert "| CD1 |" in shown and "| FPMPF10 |" in shown
    assert page.significance(results, "table1", "best") == "No pairs yet."  # CD10 was not run


def without_test(dataset):
    """The data set as a search may see it."""
    return dataset._replace(test=np.full_like(dataset.test, 9))  # no binary data: whoever looks at it is refused


def test_the_search_takes_the_best_on_validation(small, tmp_path):
    results, digits = Results(tmp_path), mpf.load_dataset("digits")
    row = small.rows[0]
    assert search.chosen(row, results) is None
    search.search(small, row, results, without_test(digits))
    trials = json.loads(results.trials_file(row).read_text())
    assert [trial["choice"] for trial in trials] == row.candidates() and not search.untried(row, results)
    best = max(trials, key=lambda trial: trial["valid"])
    assert search.chosen(row, results) == best["choice"]
    model = training.train(small, best["settings"], 0, digits).model
    assert best["settings"]["epochs"] == 2 and best["valid"] == pytest.approx(mpf.log_likelihood(model, digits.valid).value)


def test_a_trial_can_be_the_mean_over_seeds(tmp_path):
    plan, results = tiny(("CD1",), search_seeds=2), Results(tmp_path)
    (row,), digits = plan.rows, mpf.load_dataset("digits")
    search.search(plan, row, results, digits)
    _, trial = search.trials(row, results)[1]
    each = [training.train(plan, trial["settings"], seed, digits).valid for seed in (0, 1)]
    assert trial["valid"] == pytest.approx(np.mean(each)) and each[0] != each[1]
    assert "search_seeds" not in search.planned(row, results)


def test_rows_of_a_larger_k_take_over_what_was_chosen_at_a_smaller_one(tmp_path):
    own = {row.name: row.searched.name for row in experiment("table2", "best").rows}
    assert own["CD1"] == "CD1" and own["PCD1"] == "PCD1" and own["MPF-1flip"] == "MPF-1flip"
    assert own["CD25"] == "CD10" and own["FPMPF15"] == own["FPMPF10"] == "FPMPF10"
    assert all(row.searched is row for row in experiment("table1", "best").rows)
    plan, results = tiny(("CD10", "CD25"), batch_size=50), Results(tmp_path)
    first, second = plan.rows
    plan = dataclasses.replace(plan, rows=(first, dataclasses.replace(second, like=first, rule_settings={"k": 3})))
    assert jobs.run(plan, ["CD25"], seeds=1, results=results, report=lambda line: None) == 0
    assert results.trials_file(first).is_file() and not results.trials_file(second).is_file()
    (record,) = search.current(plan, results)["CD25"]
    assert record["settings"]["k"] == 3 and record["settings"]["learning_rate"] == search.chosen(first, results)["learning_rate"]


@pytest.mark.parametrize("score", ["interval", "sides"])
def test_where_the_likelihood_is_estimated_the_safe_side_is_what_is_chosen_by(monkeypatch, score):
    plan, digits = dataclasses.replace(tiny(), estimators=("ais",), score=score), mpf.load_dataset("digits")
    monkeypatch.setattr(training, "VALIDATION", {"chains": 10, "betas": 20})
    model = mpf.fit(
        mpf.BernoulliRBM.init(0, 64, 8, data=digits.train), digits.train, "cd", epochs=20, batch_size=100, learning_rate=1.0, progress=False
    ).model
    by_hand = mpf.log_likelihood(model, digits.valid, "ais", base_data=digits.train, chains=10, betas=20)
    log_z = mpf.log_partition(model, "ais", base_data=digits.train, chains=10, betas=20)
    worse = by_hand.value + log_z.value - max(log_z.settings["reverse"], *log_z.settings["forward_by_base"].values())
    assert by_hand.lower + 0.1 < worse < by_hand.value - 0.1
    found = training.validation_score(plan, model, without_test(digits))
    assert found == by_hand.lower if score == "interval" else found == pytest.approx(worse, rel=1e-12)


def test_a_length_that_is_searched_over_is_run_as_it_was_tried(tmp_path, monkeypatch):
    plan = tiny(("CD1",), learning_rate=1.0, epochs=[1, 4])
    lengths, train = [], training.train
    for module in (search, jobs):
        monkeypatch.setattr(module, "train", lambda *a: lengths.append(a[1]["epochs"]) or train(*a))
    results = Results(tmp_path)
    assert jobs.run(plan, seeds=1, results=results, report=lambda line: None) == 0
    (record,) = results.records("table1", "best")
    assert lengths == [1, 4, record["settings"]["epochs"]] and lengths[-1] == record["curve"][-1]["epoch"]


def test_what_was_made_under_other_settings_is_made_anew(tmp_path, monkeypatch):
    results = Results(tmp_path)
    run = functools.partial(jobs.run, seeds=1, results=results, report=lambda line: None)
    old, longer, thorough = (tiny(("CD1",), **settings) for settings in ({}, {"epochs": 4}, {"epochs": 4, "search_epochs": 3}))
    assert run(old) == 0
    (record,) = search.current(old, results)["CD1"]
    assert record["settings"]["epochs"] == 3 and search.current(longer, results) == {"CD1": []}  # and no page shows it
    assert run(longer) == 0
    (record,) = search.current(longer, results)["CD1"]
    assert record["settings"]["epochs"] == 4
    assert len(search.untried(longer.rows[0], results)) == 0 and len(search.untried(thorough.rows[0], results)) == 2
    assert run(thorough) == 0 and len(results.read(results.trials_file(old.rows[0]))) == 4  # trials stay on record


@pytest.mark.heavy
def test_a_row_can_be_judged_with_more_chains_and_what_was_not_is_made_anew(tmp_path):
    results, row = Results(tmp_path), experiment("table3", "best").selected(["PMPF25"])[0]
    assert row.ais["chains"] == 200 and "ais" not in row.settings  # else records of other rows were no longer current
    few = {"chains": 10, "first_betas": 10, "max_betas": 20}
    plan = dataclasses.replace(tiny(("CD1",), learning_rate=0.3), estimators=("ais",), ais=few, seeds=1)
    closer = dataclasses.replace(plan, rows=(dataclasses.replace(plan.rows[0], ais={"chains": 12, "first_betas": 40, "max_betas": 40}),))
    for each, chains, betas in ((plan, 10, (10, 20)), (closer, 12, (40,))):
        assert search.current(each, results)["CD1"] == []
        assert jobs.run(each, results=results, report=lambda line: None) == 0
        (record,) = search.current(each, results)["CD1"]
        had = record["likelihood"]["ais"]["settings"]
        assert had["chains"] == chains and had["betas"] in betas


def test_a_trial_of_a_narrower_search_counts_as_the_candidate_that_it_is(tmp_path):
    results, (alone,), (both,) = Results(tmp_path), tiny(("CD1",)).rows, tiny(("CD1",), l2=[0.0, 1e-3]).rows
    old = [
        {"settings": alone.resolved(choice, trial=True), "choice": choice, "valid": -choice["learning_rate"]}
        for choice in alone.candidates()
    ]
    results.write(results.trials_file(alone), old)
    assert search.untried(both, results) == [{"learning_rate": rate, "l2": 1e-3} for rate in (0.01, 1.0)]
    assert search.chosen(both, results) == {"learning_rate": 0.01, "l2": 0.0}
    assert search.at_an_end(both, search.chosen(both, results)) == ["learning_rate"]  # no penalty is no end


def test_a_candidate_that_diverges_is_recorded_and_not_chosen(tmp_path):
    plan, results, lines = tiny(("CD1",), learning_rate=[3e38, 0.1]), Results(tmp_path), []
    assert jobs.run(plan, seeds=1, results=results, report=lines.append) == 0
    bad, good = results.read(results.trials_file(plan.rows[0]))
    assert bad["valid"] is None and "non-finite" in bad["diverged"] and np.isfinite(good["valid"])
    assert search.chosen(plan.rows[0], results) == {"learning_rate": 0.1}
    only = tiny(("CD1",), learning_rate=3e38)
    assert jobs.run(only, seeds=1, results=Results(tmp_path / "other"), report=lines.append) == 1 and "non-finite" in lines[-1]
    problem = mpf.TrainingDiverged("message", 3, None)
    assert str(pickle.loads(pickle.dumps(problem))) == "message"  # as joblib sends it


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
    assert "Not run yet: PCD1" in shown and page.differing(results, "table1", "quick") == []
    for seed in (0, 1):
        keep(results, "table1", "CD10", seed, -100.0 - seed)
    assert page.differing(results, "table1", "quick") == ["CD10"]


def test_a_figure_that_ais_does_not_trust_is_marked_and_wins_nothing(tmp_path):
    results = Results(tmp_path)
    keep(results, "table2", "CD10", 0, -80.0)
    keep(results, "table2", "FPMPF10", 0, -70.0, verdict="do not trust", gap=30.0)
    lines = {line.split("|")[1].strip(): line for line in page.table(results, "table2", "quick").splitlines() if line.startswith("|")}
    assert "| **-80.00** |" in lines["CD10"] and "1 trusted; gap 0.1" in lines["CD10"]
    assert "| -70.00 ? |" in lines["FPMPF10"] and "1 do not trust; gap 30.0" in lines["FPMPF10"]
    assert "**-70.00" in lines["FPMPF10"].split("|")[6]  # CSL, a lower bound, may win
    assert "| +10.00 ? | one seed |" in page.significance(results, "table2", "quick")
    for seed, value in ((1, -81.0), (2, -80.5)):
        keep(results, "table2", "CD10", seed, value)
        keep(results, "table2", "FPMPF10", seed, value + 9)
        keep(results, "table2", "PMPF10", seed, value + 5 + seed)
    lines = {line.split("|")[2].strip(): line.split("|") for line in page.significance(results, "table2", "quick").splitlines()[2:]}
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
    (line,) = page.at_a_glance(results).splitlines()[2:]
    paper = max(row["ais_test"][0] for row in published()["table2"])
    p_cd, p_pcd = (stats.ttest_rel(figures_of["PMPF10"], figures_of[name]).pvalue for name in ("CD10", "PCD1"))
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    expected = ["PMPF10", "-74.50 ± 0.71", "+5.25 ± 0.25", f"{p_cd:.1g}", "+2.50 ± 0.50", f"{p_pcd:.1g}", f"{-74.5 - paper:+.2f}"]
    assert cells == expected


def test_nothing_is_begun_after_the_budget(small, tmp_path):
    lines = []
    assert jobs.reproduce("table1", budget=-1.0, results=Results(tmp_path), report=lines.append) == 4
    assert not list(tmp_path.rglob("*.json")) and all("not begun" in line for line in lines)


def test_a_search_stops_at_the_deadline_between_trials(small, tmp_path):
    results, digits, row = Results(tmp_path), mpf.load_dataset("digits"), small.rows[0]
    search.search(small, row, results, digits, deadline=time.time() - 1)
    assert len(search.untried(row, results)) == 1
    search.search(small, row, results, digits)
    assert not search.untried(row, results) and len(search.trials(row, results)) == 2


def test_the_paper_profile_is_plain_descent():
    plan = tiny(("FMPF10",), plain=True, learning_rate=0.01, refresh="epoch", min_ess=0.0)
    digits = mpf.load_dataset("digits")
    done = training.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    by_hand = mpf.fit(
        lambda key: training.as_in_the_scripts(key, 64, 4),
        digits.train,
        mpf.FMPF(k=2, refresh=12, min_ess=0.0),
        epochs=2,
        batch_size=100,
        learning_rate=lambda step: 0.01,
        centred=False,
    )
    np.testing.assert_allclose(done.model.weights, by_hand.model.weights, rtol=1e-5)
    assert np.abs(training.as_in_the_scripts(mpf.numerics.as_key(0), 64, 4).weights).max() <= 4 * np.sqrt(6 / 68)


def test_at_a_constant_rate_the_model_is_that_of_the_best_look(monkeypatch):
    plan, digits = tiny(("CD1",), plain=True, learning_rate=0.1, epochs=4), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(training, "validation_score", lambda *_: next(scores))
    done = training.train(plan, plan.rows[0].resolved({}), 0, digits)
    monkeypatch.undo()
    shorter = training.train(plan, {**plan.rows[0].resolved({}), "epochs": 2}, 0, digits)
    assert done.epochs == 2 and shorter.epochs == 2
    np.testing.assert_array_equal(done.model.weights, shorter.model.weights)


@pytest.mark.parametrize("early_stop", [False, True])
def test_early_stopping_takes_the_best_look_and_nothing_else_does(monkeypatch, early_stop):
    plan, digits = tiny(("CD1",), learning_rate=0.1, epochs=4, early_stop=early_stop), mpf.load_dataset("digits")
    scores = iter([-5.0, -3.0, -4.0, -6.0])
    monkeypatch.setattr(training, "validation_score", lambda *_: next(scores))
    done = training.train(plan, plan.rows[0].resolved({}), 0, digits, looks=4)
    assert (done.epochs, done.valid) == ((2, -3.0) if early_stop else (4, -6.0))


def test_jobs_go_through_joblib(small, tmp_path):
    results, lines = Results(tmp_path), []
    assert jobs.run(small, seeds=1, jobs=2, results=results, report=lines.append) == 0
    assert len(results.records("table1", "best")) == 2 and sum("chosen on validation" in line for line in lines) == 2
    for count in (1, 2):
        with pytest.raises(mpf.InputError, match="no engine 'lokey'"):
            jobs.run(small, seeds=2, jobs=count, engine="lokey", results=results)


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_engines_run_where_they_are_installed_and_say_so_where_not(small, tmp_path, engine):
    results, lines = Results(tmp_path), []
    run = functools.partial(jobs.run, small, seeds=1, jobs=2, engine=engine, results=results, report=lines.append)
    if importlib.util.find_spec("distributed" if engine == "dask" else "ray"):
        assert run() == 0 and len(results.records("table1", "best")) == 2 and len(lines) == 4
    else:
        with pytest.raises(mpf.InputError, match=f"engine {engine} is not installed"):
            run()


def test_significance_is_paired(tmp_path):
    results, rng = Results(tmp_path), np.random.default_rng(0)
    luck = rng.normal(size=8)
    cd = -135 + luck + 0.1 * rng.normal(size=8)
    fmpf = -134.5 + luck + 0.1 * rng.normal(size=8)
    for seed in range(8):
        keep(results, "table1", "CD10", seed, cd[seed], seconds=10.0)
        keep(results, "table1", "FMPF10", seed, fmpf[seed], seconds=10.5)
        keep(results, "table1", "PMPF10", seed, cd[seed])
    same, line = page.significance(results, "table1", "quick").splitlines()[-1:-3:-1]
    error = (fmpf - cd).std(ddof=1) / np.sqrt(8)
    assert line.startswith(f"| 10 | FMPF10 | {(fmpf - cd).mean():+.2f} ± {error:.2f} |") and line.endswith("| 1.05 |")
    assert float(line.split("|")[4]) < 1e-4  # luck that both share does not count
    assert "| +0.00 ± 0.00 | the same runs |" in same


def test_the_page_is_up_to_date_and_whole():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    assert page.filled(Results(ROOT / "results"), text) == text
    for table in TABLES:
        parts = [f"{table}-{profile}{more}" for profile in ("best", "paper") for more in ("", "-significance")]
        for part in [*parts, *([f"{table}-time"] if table in equal_time.BUDGETS else [])]:
            assert text.count(f"<!-- {part} -->") == 1, part


def test_every_row_that_differs_from_the_paper_is_discussed():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    prose = re.sub(r"<!-- table.*?<!-- end -->", "", text, flags=re.DOTALL).partition("## Where we differ from the paper")[2]
    for table in TABLES:
        about = prose.partition(f"### Table {table[-1]}")[2].partition("###")[0]
        ours, _, as_described = about.partition("As the paper describes")
        for profile, said in (("best", ours), ("paper", as_described)):
            missing = [row for row in page.differing(Results(ROOT / "results"), table, profile) if not re.search(rf"\b{row}\b", said)]
            assert not missing, (table, profile, missing)


def test_figures(small, tmp_path, monkeypatch):
    results, lines = Results(tmp_path / "results", tmp_path / "models"), []
    monkeypatch.setattr(figures, "TABLES", ("table1",))
    with pytest.raises(mpf.InputError, match="nothing of profile best to draw"):
        figures.draw(results, tmp_path / "images")
    jobs.run(small, seeds=1, results=results, report=lines.append)
    files = figures.draw(results, tmp_path / "images", report=lines.append)
    assert sorted(file.name for file in files) == [f"table1-{what}.png" for what in ("curves", "filters", "rows", "samples")]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    first = mpf.load(results.model_file(small.rows[0], 0)).weights
    results.model_file(small.rows[0], 0).unlink()
    figures.draw(results, tmp_path / "images", report=lines.append)
    assert "no model of CD1" in lines[-1]
    before = {row.name: results.record_file(row, 0).read_bytes() for row in small.rows}
    monkeypatch.setattr(jobs, "TABLES", ("table1",))
    jobs.train_models("best", results, report=lines.append)
    assert lines[-1].startswith("table1 best CD1: trained again")
    np.testing.assert_array_equal(mpf.load(results.model_file(small.rows[0], 0)).weights, first)
    assert before == {row.name: results.record_file(row, 0).read_bytes() for row in small.rows}
    jobs.train_models("best", results, budget=-1.0, report=lines.append)  # nothing is missing
    figures.draw(results, tmp_path / "images", report=lines.append)
    assert lines[-1].startswith("table1 best CD1: trained again")


def test_equal_time_gives_every_variant_the_epochs_that_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("NPROC", "7")
    base = dataclasses.replace(tiny(), rows=(), seeds=1)
    monkeypatch.setattr(equal_time, "_without_rows", lambda table: base)
    variants = ("PCD1", "FPMPF10-refresh5", "FPMPF10-refresh5-unguarded")
    monkeypatch.setattr(equal_time, "VARIANTS", {name: equal_time.VARIANTS[name] for name in variants})
    monkeypatch.setattr(equal_time, "BUDGETS", {"table1": (2, 4)})
    results = Results(tmp_path)
    assert "No records yet" in equal_time.table(results, "table1")
    kept = {0.4: 1.0, 0.8: 0.5, 1.6: 2.0}  # seconds an epoch at each rate: how often particles go stale depends on it
    results.write(
        tmp_path / "table1" / "seconds-per-epoch.json",
        {"PCD1": 0.5, **{f"FPMPF10-refresh5 at {rate}": seconds for rate, seconds in kept.items()}, "FPMPF10-refresh5-unguarded": 1.0},
    )
    plans = equal_time.plans("table1", results)
    assert "min_ess" not in plans[0].rows[1].rule_settings and plans[0].rows[2].rule_settings["min_ess"] == 0
    for plan, alone, each in zip(plans, (4, 8), ([2, 4, 1], [4, 8, 2]), strict=True):
        for row, lengths in zip(plan.rows, ([alone] * 3, each, [alone // 2] * 3), strict=True):
            assert [row.resolved(choice, trial=True)["epochs"] for choice in row.candidates()] == lengths
            assert [row.resolved(choice)["epochs"] for choice in row.candidates()] == lengths
    assert os.environ["NPROC"] == "1"  # measured and run on one thread, here and in the processes begun from here
    assert jobs.run(plans[0], results=results, report=lambda line: None) == 0
    shown = equal_time.table(results, "table1")
    lengths = [search.planned(row, results)["epochs"] for row in plans[0].rows]
    assert "Not run yet" not in shown
    assert shown.count("**") == 2 and lengths[0] == 4 and all(re.search(rf"\| \d+, {epochs}, ", shown) for epochs in lengths)
    for file in (tmp_path / "table1" / "time-2s").glob("PCD1-seed*.json"):
        file.unlink()
    assert equal_time.table(results, "table1").endswith("Not run yet: PCD1.")
    (tmp_path / "table1" / "seconds-per-epoch.json").unlink()
    measured = [epochs for row in equal_time.plans("table1", results)[0].rows for epochs in row.settings["epochs"].values()]
    assert len(measured) == 9 and all(epochs > 4 for epochs in measured)  # an epoch of these few digits takes milliseconds


def test_fmpf_with_new_particles_at_every_update_is_cd_at_half_the_rate():
    fmpf = {"rule": "fmpf", "refresh": 1, "k": 3, "learning_rate": 0.6, "l2": 1e-3}
    assert as_cd(fmpf) == {"rule": "cd", "k": 3, "learning_rate": 0.3, "l2": 2e-3}
    for other in ({**fmpf, "refresh": 2}, {**fmpf, "rule": "pmpf"}):
        assert as_cd(other) == other


def test_candidates_are_scored_on_validation_data():
    digits = mpf.load_dataset("digits")
    model = mpf.BernoulliRBM.init(0, 64, 4, data=digits.train)
    expected = mpf.log_likelihood(model, digits.valid, "exact").value
    assert training.validation_score(tiny(), model, digits) == pytest.approx(expected, rel=1e-9)
    assert abs(expected - mpf.log_likelihood(model, digits.test, "exact").value) > 1e-3


def test_a_record_counts_once_its_search_is_finished(tmp_path):
    """Until then a better candidate may turn up."""
    plan, results = tiny(("CD1",)), Results(tmp_path)
    (row,) = plan.rows
    tried = [{"settings": row.resolved(choice, trial=True), "choice": choice, "valid": -i} for i, choice in enumerate(row.candidates())]
    record = {"table": row.table, "profile": row.profile, "row": row.name, "seed": 0, "settings": row.resolved(row.candidates()[0])}
    results.write(results.record_file(row, 0), {**record, "likelihood": {}})
    results.write(results.trials_file(row), tried[:1])
    assert jobs._missing(plan, plan.rows, 1, results) == [(plan, row, 0)]
    results.write(results.trials_file(row), tried)
    assert jobs._missing(plan, plan.rows, 1, results) == []


def test_ais_with_other_chains_or_temperatures_is_not_as_planned():
    plan = experiment("table2", "quick")
    row, wanted = plan.rows[0], plan.ais_of(plan.rows[0])

    def as_planned(chains, betas):
        return search.judged_as_planned(plan, row, {"likelihood": {"ais": {"settings": {"chains": chains, "betas": betas}}}})

    assert as_planned(wanted["chains"], wanted["first_betas"]) and as_planned(wanted["chains"], wanted["max_betas"])
    assert not as_planned(wanted["chains"] + 1, wanted["first_betas"])
    assert not as_planned(wanted["chains"], wanted["first_betas"] - 1) and not as_planned(wanted["chains"], wanted["max_betas"] + 1)
    assert search.judged_as_planned(plan, row, {"likelihood": {"csl": {}}})
