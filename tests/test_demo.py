"""The demo's commands run, its figures are measured, and it ends with the report of its runs."""

import re

import pytest
from examples import demo

import minprobflow as mpf


def test_demo_leaves_a_report(tmp_path, monkeypatch, capsys):
    shown = ("exact", "cd")
    monkeypatch.setattr(demo, "RULES", {rule: f"{demo.RULES[rule]} --hidden 4 --batch-size 100" for rule in shown})
    demo.main(str(tmp_path), epochs=2)
    printed = capsys.readouterr().out
    page, digits = (tmp_path / "report.html").read_text(), mpf.load_dataset("digits")
    for rule in shown:
        assert f"$ minprobflow train --rule {rule} {demo.RULES[rule]} --epochs 2 --out {tmp_path}/{rule} --overwrite" in printed
        model = mpf.load(tmp_path / rule / "best.safetensors")
        test = -float(model.free_energy(digits.test).mean()) - float(mpf.enumeration.log_partition(model))
        (told,) = re.findall(rf"^{tmp_path}/{rule} +(-[\d.]+) ", printed, flags=re.MULTILINE)
        assert float(told) == pytest.approx(test, abs=2e-3) and told in page
    assert "<!doctype html>" in page and "2 runs compared" in page
    assert f"Open {tmp_path}/report.html" in printed


def test_the_demo_shows_every_rule():
    assert set(demo.RULES) == set(mpf.rules.names())
    for rule, settings in demo.RULES.items():
        words = settings.split()
        given = {flag[2:]: int(value) for flag, value in zip(words[::2], words[1::2], strict=True) if flag != "--learning-rate"}
        mpf.rule(rule, **given)
