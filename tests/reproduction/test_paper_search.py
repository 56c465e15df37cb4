"""How settings are chosen: on validation data, each candidate once, and under the settings it was tried with."""

import pickle
import time

import numpy as np
import pytest
from paper import jobs, run, search
from paper.plan import experiment
from paper.records import Results
from tiny_tables import tiny, without_test

import minprobflow as mpf


def test_the_search_takes_the_best_on_validation(small, tmp_path):
    results, digits = Results(tmp_path), mpf.load_dataset("digits")
    row = small.rows[0]
    assert search.chosen(row, results) is None
    search.search(small, row, results, without_test(digits))
    trials = results.read("table1", "best", "trial")
    assert [trial["choice"] for trial in trials] == row.candidates() and not search.untried(row, results)
    best = max(trials, key=lambda trial: trial["valid"])
    assert search.chosen(row, results) == best["choice"]
    model = run.train(small, best["settings"], 0, digits).model
    assert best["settings"]["epochs"] == 2 and best["valid"] == pytest.approx(mpf.log_likelihood(model, digits.valid).value)


def test_a_trial_can_be_the_mean_over_seeds(tmp_path):
    plan, results = tiny(("CD1",), search_seeds=2), Results(tmp_path)
    (row,), digits = plan.rows, mpf.load_dataset("digits")
    search.search(plan, row, results, digits)
    _, trial = search.trials(row, results)[1]
    each = [run.train(plan, trial["settings"], seed, digits).valid for seed in (0, 1)]
    assert trial["valid"] == pytest.approx(np.mean(each)) and each[0] != each[1]
    assert "search_seeds" not in search.planned(row, results)


def test_a_length_that_is_searched_over_is_run_as_it_was_tried(tmp_path, monkeypatch):
    plan = tiny(("CD1",), learning_rate=1.0, epochs=[1, 4])
    lengths, train = [], run.train
    for module in (search, jobs):
        monkeypatch.setattr(module, "train", lambda *a: lengths.append(a[1]["epochs"]) or train(*a))
    results = Results(tmp_path)
    assert jobs.run(plan, seeds=1, results=results, report=lambda line: None) == 0
    (record,) = results.read("table1", "best", "run")
    assert lengths == [1, 4, record["settings"]["epochs"]] and lengths[-1] == record["curve"][-1]["epoch"]


def test_a_trial_of_a_narrower_search_counts_as_the_candidate_that_it_is(tmp_path):
    results, (alone,), (both,) = Results(tmp_path), tiny(("CD1",)).rows, tiny(("CD1",), l2=[0.0, 1e-3]).rows
    old = [
        {"row": "CD1", "settings": alone.resolved(choice, trial=True), "choice": choice, "valid": -choice["learning_rate"]}
        for choice in alone.candidates()
    ]
    for trial in old:
        results.add("table1", "best", "trial", trial)
    assert search.untried(both, results) == [{"learning_rate": rate, "l2": 1e-3} for rate in (0.01, 1.0)]
    assert search.chosen(both, results) == {"learning_rate": 0.01, "l2": 0.0}
    assert search.at_an_end(both, search.chosen(both, results)) == ["learning_rate"]  # no penalty is no end


def test_a_candidate_that_diverges_is_recorded_and_not_chosen(tmp_path):
    plan, results, lines = tiny(("CD1",), learning_rate=[3e38, 0.1]), Results(tmp_path), []
    assert jobs.run(plan, seeds=1, results=results, report=lines.append) == 0
    bad, good = results.read("table1", "best", "trial")
    assert bad["valid"] is None and "non-finite" in bad["diverged"] and np.isfinite(good["valid"])
    assert search.chosen(plan.rows[0], results) == {"learning_rate": 0.1}
    only = tiny(("CD1",), learning_rate=3e38)
    assert jobs.run(only, seeds=1, results=Results(tmp_path / "other"), report=lines.append) == 1 and "non-finite" in lines[-1]
    problem = mpf.TrainingDiverged("message", 3, None)
    assert str(pickle.loads(pickle.dumps(problem))) == "message"  # as joblib sends it


def test_a_search_stops_at_the_deadline_between_trials(small, tmp_path):
    results, digits, row = Results(tmp_path), mpf.load_dataset("digits"), small.rows[0]
    search.search(small, row, results, digits, deadline=time.time() - 1)
    assert len(search.untried(row, results)) == 1
    search.search(small, row, results, digits)
    assert not search.untried(row, results) and len(search.trials(row, results)) == 2


def test_a_record_counts_once_its_search_is_finished(tmp_path):
    """Until then a better candidate may turn up."""
    plan, results = tiny(("CD1",)), Results(tmp_path)
    (row,) = plan.rows
    first, second = [
        {"row": row.name, "settings": row.resolved(choice, trial=True), "choice": choice, "valid": -i}
        for i, choice in enumerate(row.candidates())
    ]
    record = {"table": row.table, "profile": row.profile, "row": row.name, "seed": 0, "settings": row.resolved(row.candidates()[0])}
    results.add("table1", "best", "run", {**record, "likelihood": {}})
    results.add("table1", "best", "trial", first)
    assert jobs._missing(plan, plan.rows, 1, results) == [(plan, row, 0)]
    results.add("table1", "best", "trial", second)
    assert jobs._missing(plan, plan.rows, 1, results) == []


def test_ais_with_other_chains_or_temperatures_is_not_as_planned():
    plan = experiment("table2", "quick")
    row, wanted = plan.rows[0], plan.ais_of(plan.rows[0])

    def as_planned(chains, betas):
        return search.evaluated_as_planned(plan, row, {"likelihood": {"ais": {"test": {"settings": {"chains": chains, "betas": betas}}}}})

    assert as_planned(wanted["chains"], wanted["first_betas"]) and as_planned(wanted["chains"], wanted["max_betas"])
    assert not as_planned(wanted["chains"] + 1, wanted["first_betas"])
    assert not as_planned(wanted["chains"], wanted["first_betas"] - 1) and not as_planned(wanted["chains"], wanted["max_betas"] + 1)
    assert search.evaluated_as_planned(plan, row, {"likelihood": {"csl": {}}})
