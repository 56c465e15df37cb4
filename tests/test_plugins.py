"""A rule added as one file is found by name and put through the whole suite, which a wrong rule does not pass."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

RULE = '''
import jax
from minprobflow.flow.objectives import contrast
from minprobflow.rules import ParticleRule


class Added(ParticleRule):
    """Contrast with particles of which half start at the data: the free cell of the table."""

    name = "{name}"
    start = "both"
    objective = staticmethod({objective})
'''
OBJECTIVES = {
    "added-right": "contrast",
    "added-sign": "lambda flow: -contrast(flow)",
    "added-gradient": "lambda flow: contrast(flow._replace(data=jax.lax.stop_gradient(flow.data)))",
}


def test_new_rules_are_found_and_tested_and_wrong_ones_do_not_pass(tmp_path):
    for name, objective in OBJECTIVES.items():
        (tmp_path / f"{name.replace('-', '_')}.py").write_text(RULE.format(name=name, objective=objective))
    right = "added-right and (finite_differences or raises_the_exact or resume)"
    wrong = "added-sign and raises_the_exact or added-gradient and finite_differences"
    chosen = f"RBM-0 and not Categorical and ({right} or {wrong})"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/conformance/test_every_rule.py", "-k", chosen, "-rA"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["MINPROBFLOW_PLUGINS"] = str(tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False)
    outcomes = {
        (rule, test): outcome for outcome, test, rule in re.findall(r"^(PASSED|FAILED) \S*::test_(\w+)\[(added-\w+)-RBM", done.stdout, re.M)
    }
    tests = ("gradient_equals_finite_differences", "training_raises_the_exact_likelihood", "resume_is_bit_exact")
    assert {outcomes["added-right", test] for test in tests} == {"PASSED"}, done.stdout
    assert outcomes["added-sign", "training_raises_the_exact_likelihood"] == "FAILED"
    assert outcomes["added-gradient", "gradient_equals_finite_differences"] == "FAILED"


USE = """
import minprobflow as mpf
from minprobflow.testing import all_examples

rows = mpf.load_dataset("bars-and-stripes").train
images = rows.reshape(-1, 4, 4)
assert rows.shape == (600, 16) and all((image == image[0]).all() or (image.T == image.T[0]).all() for image in images)
models = {"RBM": mpf.BernoulliRBM.init(0, 16, 2, data=rows)}
models["shown"] = all_examples()["VisibleBoltzmann-weak"]
for name, settings in (("ratio-matching", {}), ("half-persistent-cd", {}), ("pcd", {"kernel": "metropolis", "proposals": 9})):
    for model in models.values():
        mpf.fit(model, rows[:, : model.space.size], name, **settings, epochs=1, progress=False)
"""


def test_the_files_shown_to_contributors_work_as_plugins(tmp_path):
    shown = re.findall(r'```python\n(""".*?)```', (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert len(shown) == 5  # two rules, a kernel, a model, a data set
    for number, text in enumerate(shown):
        (tmp_path / f"shown_{number}.py").write_text(text)
    environment = {**os.environ, "MINPROBFLOW_PLUGINS": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
