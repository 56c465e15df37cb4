"""The list of deliberate bugs (tests/mutation) cannot rot, and its runner tells a killed bug from one that nothing notices."""

import ast
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mutation import run

MUTATIONS = run.mutations()


def test_every_mutation_still_applies():
    """The old text is there once, the new text changes the program, and the result is Python."""
    problems = []
    for mutation in MUTATIONS:
        try:
            run.checked(mutation, run.ROOT)
        except (run.DoesNotApplyError, SyntaxError, OSError) as problem:
            problems.append(f"{mutation.name}: {problem}")
    assert not problems, "update tests/mutation/mutations.toml: " + "; ".join(problems)


def test_every_mutation_names_tests_that_exist():
    functions = {}
    for file in set().union(*(mutation.test_files() for mutation in MUTATIONS)):
        tree = ast.parse((run.ROOT / file).read_text())
        functions[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for mutation in MUTATIONS:
        assert mutation.test_files(), mutation.name
        for part in mutation.tests.split():
            file, _, name = part.partition("::")
            assert not name or name.split("[")[0] in functions[file], f"{mutation.name}: there is no test {part}"


def test_every_mutation_names_parameters_that_exist(request):
    """A test that is not found fails the baseline of all others of its file. What this run of pytest collected need not be again."""
    named = {part for mutation in MUTATIONS for part in shlex.split(mutation.tests) if "[" in part}
    named -= {item.nodeid.partition("@")[0] for item in request.session.items}  # xdist appends the group
    files = sorted({part.split("::")[0] for part in named})
    if not files:
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=", "-q", "-p", "no:cacheprovider", *files]
    out = subprocess.run(command, check=False, cwd=run.ROOT, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stdout[-2000:]
    assert named - set(out.stdout.splitlines()) == set()


def test_there_are_many_and_of_all_packages():
    assert len(MUTATIONS) >= 120
    package = run.ROOT / "src" / "minprobflow"
    folders = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    files = [Path(mutation.file) for mutation in MUTATIONS]
    assert folders <= {file.parts[2] for file in files if file.parts[0] == "src"}


@pytest.fixture
def project(tmp_path):
    """A package of one function, and a test that sees half of what can go wrong with it."""
    root = tmp_path / "project"
    (root / "src" / "tiny").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src" / "tiny" / "__init__.py").write_text("import time\n\n\ndef twice(x):\n    return x + x\n")
    (root / "tests" / "test_tiny.py").write_text(
        "import pytest\n\nimport tiny\n\nassert tiny.twice\n\n\n"
        "def test_two():\n    assert tiny.twice(2) == 4\n\n\n"
        "@pytest.mark.parametrize('wrong', [1])\ndef test_wrong(wrong):\n    assert tiny.twice(wrong) == 3\n"
    )
    return root


def test_the_runner_tells_what_became_of_each(project, monkeypatch, capsys):
    monkeypatch.setattr(run, "PRELOADED", ())
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    of_file = {"file": "src/tiny/__init__.py", "tests": "tests/test_tiny.py::test_two"}
    cases = {
        "killed": {"old": "x + x", "new": "x + 1"},
        "survived": {"old": "x + x", "new": "x * x"},  # at 2 it is the same
        "broken": {"old": "def twice", "new": "def thrice"},  # the tests cannot be collected
        "does not apply": {"old": "x - x", "new": "x"},
    }
    chosen = [run.Mutation(name, **of_file, **case) for name, case in cases.items()]
    chosen.append(run.Mutation("fails anyway", "src/tiny/__init__.py", "x + x", "x", "tests/test_tiny.py::test_wrong"))
    results = run.Results(project.parent / "results.jsonl", fresh=False)
    found = run.campaign(chosen, project, results, workers=2, timeout=60.0)
    assert {record["name"]: record["result"] for record in found} == {**{name: name for name in cases}, "fails anyway": "broken"}
    assert found[0]["by"].startswith("tests/test_tiny.py::test_two") and "fails without it" in found[-1]["by"]
    table = run.table(found)
    assert "survived          1" in table and "    survived" in table and not run.passed(found)
    assert run.passed([found[0]] * 19 + [found[1]]) and not run.passed([found[0]] * 18 + [found[1]])
    assert not run.passed([found[0]] * 99 + [found[3]])

    kept = [json.loads(line) for line in results.file.read_text().splitlines()]
    assert {record["name"] for record in kept if record["result"] != "passed"} == {"killed", "survived", "broken"}
    results.file.write_text(results.file.read_text() + '{"digest": "cut o')
    monkeypatch.setattr(run.Workplace, "tried", lambda *_: pytest.fail("run again"))
    again = run.campaign(chosen[:2], project, run.Results(results.file, fresh=False), workers=1, timeout=5.0)
    assert [record["result"] for record in again] == ["killed", "survived"]
    assert (project / "src/tiny/__init__.py").read_text().endswith("return x + x\n")  # only copies are changed
    capsys.readouterr()


def test_tests_that_do_not_end_are_stopped(project, monkeypatch):
    monkeypatch.setattr(run, "PRELOADED", ())
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    endless = run.Mutation("endless", "src/tiny/__init__.py", "return x + x", "time.sleep(600)", "tests/test_tiny.py::test_two")
    (found,) = run.campaign([endless], project, run.Results(project.parent / "results.jsonl", fresh=True), workers=1, timeout=2.0)
    assert found["result"] == "timeout" and not run.passed([found])


def test_one_of_several_places_can_be_meant():
    mutation = run.Mutation("x", "f", "a", "b", "t")
    with pytest.raises(run.DoesNotApplyError, match="2 times"):
        mutation.applied("a a")
    assert run.Mutation("x", "f", "a", "b", "t", occurrence=2).applied("a a") == "a b"
    with pytest.raises(run.DoesNotApplyError):
        run.Mutation("x", "f", "a", "b", "t", occurrence=3).applied("a a")
