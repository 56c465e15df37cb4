"""The figures are drawn from records and models."""

import numpy as np
import pytest
from paper import figures, jobs
from paper.records import Results

import minprobflow as mpf


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
    before = results.file("table1", "best").read_bytes()
    monkeypatch.setattr(jobs, "TABLES", ("table1",))
    jobs.train_models("best", results, report=lines.append)
    assert lines[-1].startswith("table1 best CD1: trained again")
    np.testing.assert_array_equal(mpf.load(results.model_file(small.rows[0], 0)).weights, first)
    assert results.file("table1", "best").read_bytes() == before
    jobs.train_models("best", results, budget=-1.0, report=lines.append)  # nothing is missing
    figures.draw(results, tmp_path / "images", report=lines.append)
    assert lines[-1].startswith("table1 best CD1: trained again")
