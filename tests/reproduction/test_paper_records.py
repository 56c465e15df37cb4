"""Records in shared files: whole under parallel writers, after a kill, and refused when damaged."""

import fcntl
import threading

import pytest
from paper import search
from paper.markers import filled
from paper.plan import experiment
from paper.records import Results
from tiny_tables import keep

import minprobflow as mpf
from minprobflow.records import append_line


def test_a_writer_waits_for_another_and_then_adds_after_it(tmp_path):
    results = Results(tmp_path)
    results.add("table1", "quick", "trial", {"row": "CD1", "i": 0})
    with results.file("table1", "quick").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = threading.Thread(target=results.add, args=("table1", "quick", "trial", {"row": "CD1", "i": 2}))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        append_line(held.name, {"kind": "trial", "row": "CD1", "i": 1})
    waiting.join()
    assert [record["i"] for record in results.read("table1", "quick", "trial")] == [0, 1, 2]


def test_a_line_that_was_cut_off_is_run_again_and_a_changed_one_is_refused(tmp_path):
    results, plan = Results(tmp_path), experiment("table1", "quick")
    for seed in (0, 1):
        keep(results, "table1", "CD1", seed, -140.0 - seed)
    file = results.file("table1", "quick")
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert [run["seed"] for run in search.current(plan, results)["CD1"]] == [0]
    keep(results, "table1", "CD1", 1, -141.0)
    assert file.read_bytes() == whole
    file.write_bytes(whole.replace(b"-140.0", b"-130.0"))
    with pytest.raises(mpf.InputError, match="1 damaged line"):
        search.current(plan, results)


def test_the_latest_record_of_a_seed_counts_and_seeds_are_in_order(tmp_path):
    results = Results(tmp_path)
    for seed, value in ((1, -141.0), (0, -150.0), (0, -140.0)):
        keep(results, "table1", "CD1", seed, value)
    found = search.current(experiment("table1", "quick"), results)["CD1"]
    assert [(run["seed"], run["likelihood"]["exact"]["test"]["log_likelihood"]["value"]) for run in found] == [(0, -140.0), (1, -141.0)]


def test_parts_of_a_page_are_filled_in_by_name():
    text = "a\n<!-- one -->\nold\n<!-- end -->\nb <!-- two-x -->\nkept\n<!-- end -->\n<!-- one -->\n<!-- end -->"
    made = "a\n<!-- one -->\nONE\n<!-- end -->\nb <!-- two-x -->\nkept\n<!-- end -->\n<!-- one -->\nONE\n<!-- end -->"
    assert filled(text, {"one": "ONE"}.get) == made
