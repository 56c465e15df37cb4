"""What can only be shown on real data; skipped where they are absent (set MINPROBFLOW_DATA)."""

import re
import shutil

import numpy as np
import pytest
from benchmarks import golden, trap

import minprobflow as mpf
from minprobflow import cli
from minprobflow.cli import compare, evaluate, report, sample, train
from minprobflow.data.folder import data_folder
from minprobflow.likelihood import from_log_partition


def needs(name):
    return pytest.mark.skipif(not (data_folder() / name).exists(), reason=f"{name} is not in the data folder (set MINPROBFLOW_DATA)")


@pytest.mark.heavy
@needs("golden/rbm_CD25_500_params.npz")
def test_the_published_model():
    """Salakhutdinov & Murray (2008): log Z 451.28, test log-likelihood -86.34."""
    model, train, test = golden.load()
    log_z = mpf.log_partition(model, "ais", base_data=train, chains=100, betas=12_000)
    assert log_z.value == pytest.approx(451.28, abs=0.15) and log_z.verdict == "trusted"
    assert from_log_partition(model, test, log_z).value == pytest.approx(-86.34, abs=0.3)
    assert log_z.lower < 451.28 < log_z.upper
    assert abs(log_z.settings["gap"]) < 0.5


@pytest.mark.heavy
@needs("mnist/train-images-idx3-ubyte.gz")
def test_a_model_that_fools_ais_is_flagged():
    """Chains that start at the data, or are annealed from their means, miss most of the mass."""
    result = trap.main(seeds=1, max_betas=4000)["models"][0]
    assert result["verdict"] == "do not trust" and result["held"]


@needs("mnist/train-images-idx3-ubyte.gz")
def test_mnist():
    mnist = mpf.load_dataset("mnist")
    assert [len(part) for part in (mnist.train, mnist.valid, mnist.test)] == [50_000, 10_000, 10_000]
    assert mnist.test.mean() == pytest.approx(0.1342, abs=1e-4)


@pytest.mark.heavy
@needs("mnist/train-images-idx3-ubyte.gz")
def test_every_example_of_the_help_runs(tmp_path, monkeypatch, capsys):
    """Word for word, in the order of the help pages, but for a shorter run and a smaller model."""
    monkeypatch.chdir(tmp_path)
    digits = mpf.load_dataset("digits")
    (tmp_path / "mnist.toml").write_text('data = "digits"\nepochs = 1\n')
    np.save("test.npy", digits.test)
    table = np.column_stack([np.arange(300), digits.test[:, :64]]).astype(int)  # an index, then answers
    np.savetxt("survey.csv", table, "%d", delimiter=",", header=",".join(["id", *(f"q{i}" for i in range(64))]), comments="")
    for part in ("train", "valid", "test"):
        np.savetxt(f"{part}.csv", getattr(digits, part), "%d", delimiter=",")
    np.savez("digits.npz", test=digits.test)
    (tmp_path / "family.fasta").write_text("".join(f">{i}\n{'ACDE'[i % 4] * 3}-{'FG'[i % 2]}\n" for i in range(80)))
    mpf.save(mpf.BernoulliRBM.init(0, 64, 8, data=digits.train), "model.safetensors")
    shorter = {
        "train --data mnist": ["--epochs", "1", "--hidden", "12", "--k", "1"],
        "--betas 20000": ["--betas", "50"],
        "--equilibrium": ["--steps", "50"],
    }
    shorter |= {"train": ["--epochs", "1"]}
    for rule in ("cd", "fpmpf"):
        assert call(monkeypatch, "train", "--rule", rule, "--epochs", "1", "--quiet", "--out", f"runs/{rule}") == 0
    assert call(monkeypatch, "train", "--data", "survey.csv", "--data-option", "drop=id", "--epochs", "1", "--out", "runs/survey") == 0
    seen = 0
    for command in (train, evaluate, sample, compare, report):
        for line in re.findall(r"^  minprobflow (.+)$", command.HELP, flags=re.MULTILINE):
            extra = [] if "--resume" in line else next((words for part, words in shorter.items() if part in line), [])
            assert call(monkeypatch, *line.split(), *extra) == 0, line
            if "--resume" in line:  # the other commands look at a smaller run in its place
                shutil.rmtree("runs/mnist")
                shutil.copytree("runs/cd", "runs/mnist")
            seen += 1
    assert seen >= 11 and (tmp_path / "inpainted.png").exists() and (tmp_path / "comparison.html").exists()


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["minprobflow", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return end.code or 0
    return 0
