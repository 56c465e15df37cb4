"""One configuration: fit, flags, TOML, estimator, records and documentation are made from it and from the specs it names."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import rules, samplers, specs
from minprobflow.model_specs import ModelSpec
from minprobflow.train import Config, fit_settings, run_settings, spec_settings
from minprobflow.train.checkpoint import state_to_bytes
from minprobflow.train.config import settings_by_name

ROOT = Path(__file__).parent.parent
DIGITS = mpf.load_dataset("digits")

RULE = '''
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from minprobflow.rules import Diagnostics, Rule, RuleSpec


@dataclass(frozen=True)
class Still(RuleSpec):
    """Pulls all parameters to zero."""

    name: ClassVar[str] = "still"
    strength: float = 0.5
    """how strongly the parameters are pulled to zero"""

    def build(self, batch_size):
        def loss(model, state, batch):
            value = self.strength * jnp.sum(model.weights**2)
            return value, (state, Diagnostics(jnp.zeros_like(value), jnp.ones_like(value)))

        return Rule(lambda key, model, data: (), lambda key, model, state, batch: state, loss)
'''

USE = """
import json, subprocess, sys
import numpy as np
import minprobflow as mpf
from minprobflow import cli
from minprobflow.runs import RunFolder
from minprobflow.sklearn import RBM

def run(*arguments):
    sys.argv = ["minprobflow", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)

rows = mpf.load_dataset("digits").train[:100]
np.save("rows.npy", rows)
common = ["--data", "rows.npy", "--hidden", "2", "--epochs", "1", "--batch-size", "20", "--quiet"]
run("train", *common, "--rule", "still", "--strength", "0.25", "--out", "flags")
open("run.toml", "w").write('rule = "still"\\nstrength = 0.25\\n')
run("train", *common, "--config", "run.toml", "--out", "toml")
run("train", "--resume", "--quiet", "--strength", "0.25", "--out", "toml")
assert RunFolder("flags").read_config() == RunFolder("toml").read_config()
assert RunFolder("flags").read_config().rule_settings == {"strength": 0.25}
settings = dict(epochs=1, batch_size=20, centred=False, l2=0.0)
start = mpf.fit(mpf.BernoulliRBM.init(0, 64, 2, rows), rows, "still", strength=0.25, **settings)
other = mpf.fit(mpf.BernoulliRBM.init(0, 64, 2, rows), rows, "still", strength=0.5, **settings)
assert not np.array_equal(start.model.weights, other.model.weights)
estimator = RBM(2, rule="still", strength=0.25, n_iter=1, batch_size=20, random_state=0).fit(rows)
assert estimator.get_params()["strength"] == 0.25 and "how strongly the parameters are pulled to zero" in RBM.__doc__
seed = np.random.RandomState(0).randint(2**31 - 1)
same = mpf.fit(mpf.BernoulliRBM.init(seed, 64, 2, rows), rows, "still", strength=0.25, seed=seed, **settings)
assert np.array_equal(estimator.components_.T, same.model.weights)
run("train", "--help")
"""


def test_a_rule_with_a_new_setting_is_one_file(tmp_path):
    """Its setting is a flag, a name in TOML, an argument of fit, a parameter of the estimator, and in the help, with its sentence."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "still.py").write_text(RULE)
    environment = {**os.environ, "MINPROBFLOW_PLUGINS": str(tmp_path / "plugins"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"--strength <?\w+>?\s+how strongly the parameters are pulled to zero", done.stdout)
    command = [sys.executable, "-m", "minprobflow", "train", "--rule", "cd", "--strength", "1", "--out", "never"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2 and "rule 'cd' has no setting 'strength'" in done.stderr and "(still has it)" in done.stderr


def test_every_setting_has_a_sentence_of_its_own():
    having = {
        **samplers.KernelSpec.specs(),
        **rules.RuleSpec.specs(),
        **ModelSpec.specs(),
        **mpf.likelihood.LikelihoodEstimator.specs(),
        "run": Config,
    }
    missing = [f"{name}.{s.name}" for name, spec in having.items() for s in specs.settings_of(spec).values() if not s.help]
    assert missing == []


def test_fit_hands_on_every_setting(tmp_path):
    """What `fit` is given is what the checkpoint records: no argument is lost on the way."""
    other = {"rule": "cd", "epochs": 2, "batch_size": 30, "optimizer": "momentum", "learning_rate": 0.125, "schedule": "constant"}
    other |= {
        "centred": False,
        "l1": 0.25,
        "l2": 0.5,
        "average": 0.75,
        "likelihood_chains": 20,
        "trajectory": True,
        "kernels": "xla",
        "seed": 7,
    }
    assert other.keys() == fit_settings().keys()
    fit = mpf.fit(mpf.BernoulliRBM.init(0, 64, 2), DIGITS.train[:60], **other, k=2, checkpoint=tmp_path / "state.safetensors")
    settings = json.loads(metadata(tmp_path / "state.safetensors")["settings"])
    expected = {name: value for name, value in other.items() if name not in ("rule", "epochs")}
    assert {name: settings[name] for name in expected} == expected
    assert settings["rule"]["cd"]["k"] == 2 and len(fit.history) == 2
    assert all(other[name] != setting.default for name, setting in fit_settings().items())


def metadata(path):
    from minprobflow import files

    return files.read(path)[1]


@pytest.mark.parametrize("values", [None, ["k"], {1: 2}, "k=2"])
def test_settings_by_name_are_a_dict(values):
    with pytest.raises(mpf.InputError, match=r"data_options is .*: pass a dict"):
        settings_by_name(values, "data_options")


def test_a_configuration_is_what_its_flat_form_says():
    config = Config.of(rule="fpmpf", k=3, model="rbm", hidden=5, epochs=7, data_options={"grey": False}, average="polyak")
    assert Config.of(config.flat()) == config
    stated = config.resolved(DIGITS)
    assert Config.of(json.loads(json.dumps(stated.flat()))) == stated
    assert stated.model_settings == {"tau": 1.0, "hidden": 5} and stated.rule_settings["refresh"] == 1
    assert Config.of(rule=mpf.CD(k=4)).resolved(DIGITS).rule_settings["k"] == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": True}, "the settings: epochs is True, expected int"),
        ({"epochs": "3"}, "epochs is '3', expected int"),
        ({"l2": True}, "l2 is True, expected float"),
        ({"schedule": "cosine"}, "schedule is 'cosine', expected one of linear, constant"),
        ({"hidden": 2.0}, "hidden is 2.0, expected int"),
    ],
)
def test_settings_of_another_type_or_beyond_the_choices_are_refused(settings, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.Config.of(settings)


def test_a_spec_may_not_take_the_name_of_a_setting_of_the_run(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Clash:
        epochs: int = 3

    monkeypatch.setitem(rules.RuleSpec.known, "clash", Clash)
    with pytest.raises(mpf.InputError, match=r"Clash has a setting 'epochs', which is the run's already: rename it"):
        spec_settings()


def test_a_jax_key_is_a_seed():
    start, rows = mpf.BernoulliRBM.init(0, 64, 2), DIGITS.train[:50]
    a, b = (mpf.fit(start, rows, "cd", epochs=1, seed=seed).model.weights for seed in (3, jax.random.key(3)))
    np.testing.assert_array_equal(a, b)


def test_looks_are_at_the_epochs_they_are_asked_for():
    assert Config(epochs=7, evaluate_every=3).look_epochs() == {3, 6, 7}
    assert Config(epochs=10, looks=4).look_epochs() - {0} == {2, 5, 8, 10}
    assert Config(epochs=10, looks=0).look_epochs() == set()


def test_the_settings_table_of_the_documentation_is_made_from_the_code():
    from benchmarks.settings import table

    assert table() in (ROOT / "docs" / "settings.md").read_text(), "run python -m benchmarks.settings"
    assert all(f"`{name}`" in table() for name in (*run_settings(), "k", "hidden", "n_values", "o"))


OLD = {"data": "digits", "data_options": {}, "rule": "pcd", "k": None, "hidden": 16, "tau": 1.0, "epochs": 50, "seed": 0}


def test_what_an_older_release_left_is_refused_with_the_way_out(tmp_path):
    from minprobflow.files import pack, read
    from minprobflow.records import write_record
    from minprobflow.runs import RunFolder

    (tmp_path / "run").mkdir()
    write_record(tmp_path / "run" / "config.json", OLD)
    with pytest.raises(
        mpf.ModelFileError, match=r"run of format 1.*train it again with minprobflow train --overwrite --out .*best.safetensors"
    ):
        RunFolder(tmp_path / "run").read_config()
    fit = mpf.fit(mpf.BernoulliRBM.init(0, 64, 2), DIGITS.train[:50], "cd", epochs=1)
    path = tmp_path / "state.safetensors"
    path.write_bytes(state_to_bytes(fit.state))
    tensors, fields = read(path)
    path.write_bytes(pack(tensors, {name: fields[name] for name in ("kind", "settings")}))
    with pytest.raises(
        mpf.ModelFileError, match=r"training state of format 1.*finish the run with the release that wrote it, or train again"
    ):
        mpf.load_state(path, fit.state)
