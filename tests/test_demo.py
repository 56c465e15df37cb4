"""The demo's figures are measured, and its pictures are pictures."""

import minprobflow as mpf
from minprobflow import demo
from minprobflow.report.template import POLICY


def test_demo_leaves_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_HIDDEN", 4)
    scores = demo.main(epochs=3, folder=str(tmp_path))
    digits = mpf.load_dataset("digits")
    for score in scores:
        log_z = mpf.enumeration.log_partition(score.model)
        assert abs(float((-score.model.free_energy(digits.test)).mean() - log_z) - score.test) < 1e-3
    for name in ("data", "samples", "filters"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "report.html").read_text()
    assert all(f"{score.test:.2f}" in page for score in scores)
    assert page.index(POLICY) < page.index("<style>")
    assert page.count("data:image/png;base64,") == 3
    assert len({round(score.test, 4) for score in scores}) > 3  # the rules did differ
    printed = capsys.readouterr()
    assert "epoch   3  log-likelihood  train" in printed.out + printed.err
