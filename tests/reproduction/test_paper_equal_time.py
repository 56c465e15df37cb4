"""The rules in equal time."""

import dataclasses
import os

from paper import equal_time, search
from paper.records import Results
from tiny_tables import tiny


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
    measured = {f"FPMPF10-refresh5 at {rate}": seconds for rate, seconds in kept.items()}
    for of, seconds in {"PCD1": 0.5, **measured, "FPMPF10-refresh5-unguarded": 1.0}.items():
        results.add("table1", "time", "seconds", {"of": of, "seconds": seconds})
    plans = equal_time.plans("table1", results)
    assert "min_ess" not in plans[0].rows[1].rule_settings and plans[0].rows[2].rule_settings["min_ess"] == 0
    for plan, alone, each in zip(plans, (4, 8), ([2, 4, 1], [4, 8, 2]), strict=True):
        for row, lengths in zip(plan.rows, ([alone] * 3, each, [alone // 2] * 3), strict=True):
            assert [row.resolved(choice, trial=True)["epochs"] for choice in row.candidates()] == lengths
            assert [row.resolved(choice)["epochs"] for choice in row.candidates()] == lengths
    assert os.environ["NPROC"] == "1"  # measured and run on one thread, here and in the processes begun from here
    for worse, row in enumerate(plans[0].rows):
        for i, choice in enumerate(row.candidates()):
            trial = {"row": row.name, "settings": row.resolved(choice, trial=True), "choice": choice, "valid": -abs(i - 1.0)}
            results.add("table1", "time-2s", "trial", trial)
        run = {"row": row.name, "seed": 0, "settings": search.planned(row, results), "summary": {"cpu_seconds": 2.1}}
        results.add("table1", "time-2s", "run", {**run, "likelihood": {"exact": {"test": {"log_likelihood": {"value": -20.0 - worse}}}}})
    shown = equal_time.table(results, "table1")
    assert "Not run yet" not in shown and "No records" not in shown
    cells = {line.split(" | ")[0]: line.split(" | ")[1:3] for line in shown.splitlines()[2:]}
    assert cells == {
        "| PCD1": ["**-20.00**", "2, 4, 0.4, 0"],
        "| FPMPF10-refresh5": ["-21.00", "2, 4, 0.8, 0"],
        "| FPMPF10-refresh5-unguarded": ["-22.00", "2, 2, 0.2, 0"],
    }
    file = results.file("table1", "time-2s")
    file.write_text("".join(line for line in file.open() if not ('"PCD1"' in line and '"run"' in line)))
    assert equal_time.table(results, "table1").endswith("Not run yet: PCD1.")
    results.file("table1", "time").unlink()
    monkeypatch.setattr(equal_time, "VARIANTS", {"PCD1": equal_time.VARIANTS["PCD1"]})
    measured = [epochs for row in equal_time.plans("table1", results)[0].rows for epochs in row.settings["epochs"].values()]
    assert len(measured) == 3 and all(epochs > 4 for epochs in measured)  # an epoch of these few digits takes milliseconds
