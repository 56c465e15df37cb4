"""Every model on the command line: trained, resumed, evaluated, sampled, compared and reported, from every kind of file."""

import json
import subprocess
import sys

import numpy as np
import pytest
from test_cli import run

import minprobflow as mpf
from minprobflow.data import fasta_text, read_fasta
from minprobflow.runs import RunFolder, train_run
from minprobflow.train import Config

RNG = np.random.default_rng(0)
BITS = (RNG.random((90, 6)) < 0.4).astype(np.uint8)
LETTERS = RNG.integers(0, 5, (90, 6)).astype(np.uint8)
SHORT = ["--epochs", "1", "--batch-size", "20", "--quiet"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("bits.npy", BITS)
    np.savetxt("whole.csv", LETTERS, fmt="%d", delimiter=",")
    np.savetxt("real.csv", RNG.normal(size=(90, 6)), delimiter=",")
    (tmp_path / "dna.fasta").write_text(fasta_text(LETTERS, "-ACGT"))
    return tmp_path


CASES = {  # model: data, options, kind of its model class, the default for such data
    "rbm": ("bits.npy", [], "RBM", True),
    "ising": ("bits.npy", [], "Ising", False),
    "gaussian-rbm": ("real.csv", [], "RBM", False),
    "categorical-rbm": ("dna.fasta", ["--data-option", "alphabet=-ACGT"], "RBM", True),
    "potts": ("whole.csv", [], "Potts", False),
}


@pytest.mark.parametrize("model", CASES)
def test_every_model_from_start_to_report(files, capsys, model):
    data, options, family, default = CASES[model]
    hidden = ["--hidden", "3"] if "rbm" in model else []
    line = ["train", "--data", data, *options, *hidden, *SHORT, *([] if default else ["--model", model])]
    code, out, err = run(capsys, *line, "--out", "run", "--json")
    assert (code, err) == (0, "") and json.loads(out)["model"] == model
    assert type(mpf.load("run/best.safetensors")).__name__ == family
    assert run(capsys, *line, "--resume", "--out", "run")[0] == 0
    code, out, _ = run(capsys, "evaluate", "run", "--json", "--quiet")
    found = json.loads(out)
    assert code == 0 and found["part"] == "test" and np.isfinite(found["log_likelihood"]["value"])
    assert run(capsys, *line, "--seed", "1", "--out", "other")[0] == 0
    code, out, _ = run(capsys, "compare", "run", "other", "--json", "--quiet")
    assert code == 0 and len(json.loads(out)["runs"]) == 2
    code, out, _ = run(capsys, "sample", "run", "-n", "4", "--steps", "2", "--json", "--quiet", "--out", "rows.npy")
    assert code == 0 and json.loads(out)["n"] == 4 and np.load("rows.npy").shape == (4, 6)
    code, out, err = run(capsys, "report", "run", "--json", "--quiet", "--out", "page.html")
    page = (files / "page.html").read_text()
    assert (code, err) == (0, "") and json.loads(out)["runs"][0]["log_likelihood"] == found["log_likelihood"]
    assert f"{found['log_likelihood']['value']:.3f}" in page and f"on {data}, {model}" in page
    assert ("Hidden activations" in page) == ("rbm" in model)


def test_the_chosen_model_is_printed(files, capsys):
    settings = ["--hidden", "2", "--epochs", "1", "--batch-size", "20"]
    code, out, err = run(capsys, "train", "--data", "dna.fasta", "--data-option", "alphabet=-ACGT", *settings, "--out", "run")
    assert code == 0 and "\nmodel categorical-rbm, chosen from the data\n" in err and "categorical-rbm" in out
    assert err.startswith("data  dna.fasta: 90 rows (72 train, 9 valid, 9 test), 6 letters of -ACGT\n")
    assert RunFolder("run").read_config().model_settings == {"tau": 1.0, "n_values": 5, "hidden": 2}


def test_sequences_go_in_and_out_as_fasta(files, capsys):
    options = ["--data-option", "alphabet=-ACGT", "--hidden", "2"]
    assert run(capsys, "train", "--data", "dna.fasta", *options, *SHORT, "--out", "run")[0] == 0
    code, out, _ = run(capsys, "sample", "run", "-n", "5", "--steps", "3", "--out", "drawn.fasta")
    drawn = read_fasta("drawn.fasta", "-ACGT")
    assert (code, out) == (0, "drawn.fasta\n") and drawn.rows.shape == (5, 6)
    assert run(capsys, "sample", "run", "-n", "5", "--steps", "3", "--out", "drawn.npy")[0] == 0
    np.testing.assert_array_equal(np.load("drawn.npy"), drawn.rows)
    assert run(capsys, "sample", "run", "-n", "2", "--steps", "1")[1] == "samples.fasta\n"
    code, out, _ = run(capsys, "evaluate", "run", "--data", "dna.fasta", "--json", "--quiet")
    assert code == 0 and json.loads(out)["log_likelihood"]["n"] == 90 and json.loads(out)["part"] == "data"
    code, _, err = run(capsys, "sample", "run/best.safetensors", "-n", "2", "--steps", "1", "--out", "x.fasta")
    assert code == 2 and "5 values" in err and "--alphabet" in err
    assert run(capsys, "sample", "run/best.safetensors", "-n", "2", "--steps", "1", "--alphabet", "-ACGU", "--out", "x.fasta")[0] == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--data", "bits.npy", "--model", "rmb"], "did you mean 'rbm'"),
        (["--data", "bits.npy", "--model", "ising", "--hidden", "3"], "model 'ising' has no setting 'hidden'"),
        (["--data", "bits.npy", "--hidden", "3", "--n-values", "4"], "model 'rbm' has no setting 'n_values'"),
        (["--data", "whole.csv"], "whole=true"),
        (["--data", "dna.fasta", "--data-option", "threshold=1"], "leave out threshold"),
        (["--data", "bits.npy", "--data-option", "alphabet=-ACGT"], "leave out alphabet"),
        (["--data", "real.csv", "--model", "potts"], "expected whole numbers from 0"),
        (["--data", "dna.fasta", "--data-option", "alphabet=-ACGT", "--model", "rbm"], "must be binary"),
        (["--data", "bits.npy", "--rule", "cd", "--o", "sign"], "rule 'cd' has no setting 'o': it has k, refresh"),
        (["--data", "bits.npy", "--average", "x"], "average='x'"),
    ],
)
def test_what_does_not_go_together_is_refused(files, capsys, flags, message):
    code, out, err = run(capsys, "train", *flags, *SHORT, "--out", "run")
    assert (code, out) == (2, "") and message in err and err.count("\n") == 1 and not (files / "run").exists()


def test_json_and_quiet_on_every_command():
    for line in (("datasets",), ("datasets", "info", "digits"), ("datasets", "fetch", "digits")):
        for flag in ("--json", "--quiet"):
            done = subprocess.run([sys.executable, "-m", "minprobflow", *line, flag], capture_output=True, text=True, check=True)
            assert done.stderr == ""
            assert flag == "--quiet" or "digits" in json.dumps(json.loads(done.stdout))


def test_a_run_in_memory_is_the_run_in_a_folder(files):
    config = Config.of(data="bits.npy", hidden=2, epochs=4, batch_size=20, seed=3, score="exact", looks=2)
    kept, free = train_run(config, "run"), train_run(config)
    np.testing.assert_array_equal(kept.last.weights, free.last.weights)
    np.testing.assert_array_equal(kept.best.weights, free.best.weights)
    assert [record["epoch"] for record in free.metrics if "valid" in record] == [2, 4]
    assert free.summary["best_epoch"] == kept.summary["best_epoch"] and free.summary["cpu_seconds"] >= 0
    dataset = mpf.load_dataset("bits.npy")
    assert free.metrics[-1]["valid"] == pytest.approx(mpf.log_likelihood(free.last, dataset.valid, "exact").value, abs=1e-9)


def test_a_run_can_start_from_any_model_and_any_data(files):
    dataset = mpf.load_dataset("bits.npy")
    start = mpf.BernoulliRBM.init(5, 6, 2)
    run = train_run(Config.of(hidden=2, epochs=1, batch_size=20, rule="cd"), dataset=dataset, start=lambda key: start)
    expected = mpf.fit(start, dataset.train, "cd", epochs=1, batch_size=20)
    np.testing.assert_array_equal(run.last.weights, expected.model.weights)


@pytest.mark.parametrize("score", ["interval", "sides"])
def test_safe_scores_are_the_safe_side_of_ais(files, score):
    config = Config.of(data="bits.npy", hidden=2, epochs=1, batch_size=20, score=score)
    run = train_run(config)
    dataset = mpf.load_dataset("bits.npy")
    log_z = mpf.log_partition(run.last, "ais", base_data=dataset.train, chains=100, betas=2000)
    safe = log_z.upper if score == "interval" else max(log_z.value, log_z.settings["reverse"], *log_z.settings["forward_by_base"].values())
    energies = mpf.likelihood.free_energies(run.last, dataset.valid)
    assert run.metrics[-1]["valid"] == pytest.approx(-energies.mean() - safe, abs=1e-9)
