"""The figures are drawn from records and models."""

import pathlib

import numpy as np
import pytest
from matplotlib.figure import Figure
from paper import figures, jobs
from paper.records import Results
from PIL import Image

import minprobflow as mpf
from minprobflow import pictures


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


def test_pictures_of_the_docs_stay_small(tmp_path):
    whole = Figure(figsize=(4, 3))
    whole.subplots().imshow(np.random.default_rng(0).normal(size=(40, 40)), cmap="RdBu_r")
    file = tmp_path / "figure.png"
    file.write_bytes(pictures.figure_png(whole, 100))
    with Image.open(file) as drawn:
        assert drawn.mode == "P" and drawn.size == (400, 300)
    images = pathlib.Path(__file__).parents[2] / "docs" / "images"
    assert sum(image.stat().st_size for image in images.iterdir()) < 1_500_000
