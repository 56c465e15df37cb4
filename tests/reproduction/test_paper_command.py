"""`python -m paper`: what it can make and where, and that the examples of its help run."""

import re

from paper.__main__ import HELP, app

from minprobflow import cli


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["paper", *arguments])
    try:
        cli.main(app)
    except SystemExit as end:
        return end.code or 0
    return 0


def test_it_says_what_it_can_make_and_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (("tabel1",), "table1, table2, table3, time1, time2, figures, page"),
        (("table1", "--profile", "bets"), "unknown profile"),
        (("page",), "run this in a checkout"),
        (("figures", "--profile", "paper"), "nothing of profile paper to draw"),
        (("figures", "--profile", "paper", "--train"), "nothing of profile paper to draw"),
        (("page", "--train"), "--train goes with figures"),
    ):
        assert call(monkeypatch, *arguments) == 2, arguments
        assert message in capsys.readouterr().err, arguments
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "reproduction.md").write_text("<!-- table1-time -->\nold\n<!-- end -->\n")
    assert call(monkeypatch, "page") == 0
    page = tmp_path / capsys.readouterr().out.strip()
    assert "No records yet: `python -m paper time1`" in page.read_text()


def test_the_examples_of_the_help_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line.split() for line in re.findall(r"^  python -m paper (.+)$", HELP, flags=re.MULTILINE) if line != "page"]
    assert len(lines) >= 2
    for line in lines:
        assert call(monkeypatch, *line, "--budget", "-1", "--jobs", "1") == 0, line
        assert "not begun" in capsys.readouterr().err
