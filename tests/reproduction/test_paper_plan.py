"""What is planned: the rows of the tables under each profile."""

import dataclasses

import pytest
from paper import jobs, run, search
from paper.plan import PROFILES, TABLES, experiment, published
from paper.records import Results
from tiny_tables import tiny

import minprobflow as mpf


def test_all_45_rows_are_planned_under_every_profile():
    digits = mpf.load_dataset("digits")
    assert [len(published()[table]) for table in TABLES] == [15, 15, 15]
    for table in TABLES:
        for profile in PROFILES:
            plan = experiment(table, profile)
            for row in plan.rows:
                for choice in row.candidates():
                    assert not any(isinstance(value, list) for value in {**row.settings, **choice}.values())
                    run.configured(plan, row.resolved(choice), 0, digits)  # a wrong setting is seen here, not hours into a run
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


def test_rows_of_a_larger_k_take_over_what_was_chosen_at_a_smaller_one(tmp_path):
    own = {row.name: row.searched.name for row in experiment("table2", "best").rows}
    assert own["CD1"] == "CD1" and own["PCD1"] == "PCD1" and own["MPF-1flip"] == "MPF-1flip"
    assert own["CD25"] == "CD10" and own["FPMPF15"] == own["FPMPF10"] == "FPMPF10"
    assert all(row.searched is row for row in experiment("table1", "best").rows)
    plan, results = tiny(("CD10", "CD25"), batch_size=50), Results(tmp_path)
    first, second = plan.rows
    plan = dataclasses.replace(plan, rows=(first, dataclasses.replace(second, like=first, rule_settings={"k": 3})))
    assert jobs.run(plan, ["CD25"], seeds=1, results=results, report=lambda line: None) == 0
    assert {trial["row"] for trial in results.read("table1", "best", "trial")} == {"CD10"}
    (record,) = search.current(plan, results)["CD25"]
    assert record["settings"]["k"] == 3 and record["settings"]["learning_rate"] == search.chosen(first, results)["learning_rate"]
