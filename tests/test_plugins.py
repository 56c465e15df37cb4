"""A rule added as one file is found by name and put through the whole suite, which a wrong rule does not pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

RULE = '''
import jax
from minprobflow.connectivity import gibbs
from minprobflow.objectives import contrast
from minprobflow.rules import ParticleRule


class Both(ParticleRule):
    """Contrast with particles of which half start at the data: the free cell of the table."""

    name = "both"
    start = "both"
    objective = staticmethod({objective})
'''


def suite(tmp_path, objective):
    (tmp_path / "both.py").write_text(RULE.format(objective=objective))
    tests = "finite_differences or raises_the_exact or resume"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/conformance", "-k", f"both-RBM and ({tests})"]
    environment = {**os.environ, "MINPROBFLOW_PLUGINS": str(tmp_path)}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_a_new_rule_is_found_and_tested(tmp_path):
    done = suite(tmp_path, "contrast")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


@pytest.mark.parametrize(
    ("objective", "caught_by"),
    [
        ("lambda flow: -contrast(flow)", "raises_the_exact_likelihood"),
        ("lambda flow: contrast(flow._replace(data=jax.lax.stop_gradient(flow.data)))", "finite_differences"),
    ],
    ids=["wrong sign", "wrong gradient"],
)
def test_a_wrong_rule_does_not_pass(tmp_path, objective, caught_by):
    done = suite(tmp_path, objective)
    assert done.returncode == 1
    assert caught_by in done.stdout
