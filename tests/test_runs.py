"""Runs in folders: killed, damaged, shared by two processes."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import minprobflow as mpf
from minprobflow import cli
from minprobflow.models.files import read_provenance
from minprobflow.runs import RunFolder, train_run
from minprobflow.train import Config

CONFIG = Config.of(rule="fpmpf", k=2, refresh=3, hidden=4, epochs=12, batch_size=100, average=0.9, learning_rate=0.5)
FLAGS = [
    "--rule",
    "fpmpf",
    "--k",
    "2",
    "--refresh",
    "3",
    "--hidden",
    "4",
    "--epochs",
    "12",
    "--batch-size",
    "100",
    "--average",
    "0.9",
    "--learning-rate",
    "0.5",
    "--quiet",
]


def command(*arguments):
    return [sys.executable, "-m", "minprobflow", "train", *arguments]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run."""
    path = tmp_path_factory.mktemp("whole") / "run"
    train_run(CONFIG, path)
    return path


def assert_same_model(a, b):
    for name in ("model.safetensors", "best.safetensors", "checkpoint.safetensors"):
        left, right = load_file(a / name), load_file(b / name)
        assert left.keys() == right.keys()
        for key in left:
            np.testing.assert_array_equal(left[key], right[key])


def test_a_run_folder_describes_itself(whole):
    names = {p.name for p in whole.iterdir()}
    assert {"config.json", "environment.json", "metrics.jsonl", "checkpoint.safetensors", "model.safetensors", "best.safetensors"} <= names
    assert {"samples.png", "filters.png", "summary.json"} <= names
    assert RunFolder(whole).read_config() == CONFIG.resolved(mpf.load_dataset("digits"))
    environment = json.loads((whole / "environment.json").read_text())
    assert {"versions", "machine", "command", "started", "data"} <= environment.keys()
    metrics = RunFolder(whole).read_metrics()
    assert [r["epoch"] for r in metrics] == list(range(1, 13))
    best = max(metrics, key=lambda r: r["valid"])
    digits = mpf.load_dataset("digits")
    assert mpf.log_likelihood(mpf.load(whole / "best.safetensors"), digits.valid).value == pytest.approx(best["valid"], abs=1e-3)
    assert mpf.log_likelihood(mpf.load(whole / "model.safetensors"), digits.valid).value == pytest.approx(metrics[-1]["valid"], abs=1e-3)


def copy_of(whole, tmp_path, stop_after=None):
    """The same run, stopped in the middle."""
    path = tmp_path / "half"

    class Stop(Exception):
        pass

    def show(epoch, _):
        if epoch.number == stop_after:
            raise Stop

    with pytest.raises(Stop):
        train_run(CONFIG, path, show=show)
    return path


@pytest.mark.parametrize(  # a sample: `make soak` damages every file at hundreds of places
    ("name", "damage"),
    [
        ("config.json", "truncated"),
        ("environment.json", "altered"),
        ("metrics.jsonl", "truncated"),
        ("checkpoint.safetensors", "altered"),
        ("checkpoint.safetensors", "removed"),
        ("best.safetensors", "altered"),
        ("lock", "removed"),
    ],
)
def test_damage_to_any_file_is_survived_or_named(whole, tmp_path, name, damage):
    run = copy_of(whole, tmp_path, stop_after=7)
    path = run / name
    content = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        middle = len(content) // 2
        path.write_bytes(
            content[:middle]
            if damage == "truncated"
            else content[:middle] + bytes([255 - b for b in content[middle : middle + 8]]) + content[middle + 8 :]
        )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONWARNINGS", "default")
            train_run(RunFolder(run).read_config(), run, resume=True)
    except mpf.InputError as problem:
        assert name in str(problem) or str(run) in str(problem)
        return
    except UserWarning as warning:
        pytest.fail(str(warning))
    left, right = load_file(run / "model.safetensors"), load_file(whole / "model.safetensors")
    for key in left:
        np.testing.assert_array_equal(left[key], right[key])


def test_a_resumed_run_keeps_its_best_score(whole, tmp_path):
    """An epoch before the interruption was better than any after it: the best model stays that epoch's."""
    run = copy_of(whole, tmp_path, stop_after=4)
    kept, scores = read_provenance(run / "best.safetensors"), {r["epoch"]: r["valid"] for r in RunFolder(run).read_metrics()}
    assert kept["valid"] == scores[kept["epoch"]] == max(scores.values())
    mpf.save(mpf.load(run / "best.safetensors"), run / "best.safetensors", {"epoch": 2, "valid": -1.0})
    before = (run / "best.safetensors").read_bytes()
    summary = train_run(CONFIG, run, resume=True).summary
    assert (run / "best.safetensors").read_bytes() == before and summary["best_epoch"] == 2


def test_records_that_were_deleted_are_missed_aloud(whole, tmp_path):
    run = copy_of(whole, tmp_path, stop_after=7)
    (run / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"lacks the records of 6 of 12 epochs"):  # the seventh is run again
        train_run(CONFIG, run, resume=True)
    assert [record["epoch"] for record in RunFolder(run).read_metrics()] == [7, 8, 9, 10, 11, 12]


def test_a_full_disk_stops_the_run_and_loses_nothing(whole, tmp_path, monkeypatch, capsys):
    out, real, count = tmp_path / "run", os.fsync, 0

    def full(descriptor):
        nonlocal count
        count += 1
        if count == 14:  # somewhere in the middle of the run
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run_cli(capsys, "train", *FLAGS, "--out", out)
    assert code == 1 and "No space left" in err and err.count("\n") == 1
    monkeypatch.undo()
    assert 0 < len(RunFolder(out).read_metrics()) < 12
    assert run_cli(capsys, "train", "--resume", "--quiet", "--out", out)[0] == 0
    assert_same_model(whole, out)


def test_two_processes_on_one_folder_are_refused(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.locked(), pytest.raises(mpf.InputError, match="another process"):
        train_run(CONFIG, folder.path)


def test_an_existing_run_is_not_overwritten(whole):
    with pytest.raises(mpf.InputError, match="--resume"):
        train_run(CONFIG, whole)


def test_config_files(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('data = "digits"\nrule = "cd"\nk = 3\nhidden = 7\n')
    assert Config.read(str(path), {"hidden": 9, "seed": None}) == Config.of(data="digits", rule="cd", k=3, hidden=9)
    for text, message in (
        ("hiden = 3", "did you mean 'hidden'"),
        ("hidden = 'three'", "expected int"),
        ("hidden = true", "expected int"),
        ("hidden = ", "not valid TOML"),
        ("hidden = " + "9" * 5000, "not valid TOML"),
        ("rule = 'cdd'", "did you mean 'cd'"),
        ("rule = 'mpf-1flip'\nk = 2", "no setting 'k'"),
        ("model = 'rbm'\nhidden = 0", "at least 1"),
    ):
        path.write_text(text)
        with pytest.raises(mpf.InputError, match=message):
            Config.read(str(path))
    with pytest.raises(mpf.InputError, match="no config file"):
        Config.read(str(tmp_path / "missing.toml"))


def test_the_command(tmp_path):
    out = str(tmp_path / "run")
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command(*FLAGS[:-1], "--out", out, "--json"), capture_output=True, text=True, check=True, env=environment)
    summary = json.loads(done.stdout)
    assert summary["epochs"] == 12 and "epoch 12/12" in done.stderr and "ESS" in done.stderr
    refused = subprocess.run(command("--resume", "--hidden", "9", "--out", out), capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "hidden is 4 there, not 9" in refused.stderr and "Traceback" not in refused.stderr


def run_cli(capsys, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["minprobflow", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    out, err = capsys.readouterr()
    return code, out, err


def test_evaluate_a_run(whole, capsys):
    code, out, _ = run_cli(capsys, "evaluate", whole, "--json")
    record = json.loads(out)
    expected = mpf.log_likelihood(mpf.load(whole / "best.safetensors"), mpf.load_dataset("digits").test)
    assert code == 0 and record["log_likelihood"] == {**expected.record(), "n": 300}
    kept = json.loads((whole / "evaluation.json").read_text())  # for the run's report
    assert kept["log_likelihood"] == record["log_likelihood"] and kept["part"] == record["part"] == "test"
    code, _, err = run_cli(capsys, "evaluate", whole / "model.safetensors")
    assert code == 2 and "--data FILE" in err


def test_samples_that_are_no_pictures_are_rows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpf.save(mpf.BernoulliRBM.init(0, 6, 2), "model.safetensors")
    assert run_cli(capsys, "sample", "model.safetensors", "-n", 3, "--steps", 1)[:2] == (0, "samples.npy\n")
    assert np.load("samples.npy").shape == (3, 6)
    code, _, err = run_cli(capsys, "sample", "model.safetensors", "--out", "x.png")
    assert code == 2 and "not images" in err and not (tmp_path / "x.png").exists()


def test_sample_a_run(whole, capsys, tmp_path):
    digits = mpf.load_dataset("digits")
    for start in ("noise", "data", "particles"):
        code, _, _ = run_cli(capsys, "sample", whole, "-n", 9, "--steps", 5, "--start", start, "--out", tmp_path / "rows.npy")
        assert code == 0 and np.load(tmp_path / "rows.npy").shape == (9, 64)
    run_cli(capsys, "sample", whole, "-n", 5, "--steps", 50, "--start", "data", "--clamp", "top", "--out", tmp_path / "rows.npy")
    tops = {tuple(row) for row in digits.test[:, :32]}
    assert all(tuple(row) in tops for row in np.load(tmp_path / "rows.npy")[:, :32])
    np.save(tmp_path / "mask.npy", np.arange(64) < 32)
    start = ("--start", "data", "--clamp", tmp_path / "mask.npy")
    assert run_cli(capsys, "sample", whole, "-n", 5, "--steps", 9, *start, "--out", tmp_path / "rows.npy")[0] == 0
    assert all(tuple(row) in tops for row in np.load(tmp_path / "rows.npy")[:, :32])
    code, out, _ = run_cli(capsys, "sample", whole, "--steps", 5, "--out", tmp_path / "s.png")
    assert code == 0 and (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG") and out.strip().endswith("s.png")
    for arguments, message in (
        (["--start", "moon"], "--start moon"),
        (["--clamp", "top"], "--start data"),
        (["--out", "x.gif"], ".png, .csv, .npy or .fasta"),
    ):
        code, _, err = run_cli(capsys, "sample", whole, *arguments)
        assert code == 2 and message in err and err.count("\n") == 1


def test_compare_runs(whole, capsys, tmp_path):
    other = tmp_path / "other"
    train_run(dataclasses.replace(CONFIG, seed=1), other)
    code, out, _ = run_cli(capsys, "compare", whole, other, "--json", "--quiet")
    rows = json.loads(out)["runs"]
    test = mpf.load_dataset("digits").test
    likelihoods = [mpf.log_likelihood(mpf.load(p / "best.safetensors"), test).value for p in (whole, other)]
    assert code == 0 and rows[1]["difference"] == pytest.approx(likelihoods[1] - likelihoods[0], abs=1e-6)
    each = [mpf.likelihood.free_energies(mpf.load(p / "best.safetensors"), test) for p in (whole, other)]
    apart = each[0] - each[1]  # log Z is exact: only the choice of examples adds to the error, and most of that cancels
    assert rows[1]["difference_stderr"] == pytest.approx(apart.std(ddof=1) / np.sqrt(300), rel=1e-6)
    assert rows[0]["difference"] == rows[0]["difference_stderr"] == 0
    code, out, _ = run_cli(capsys, "compare", whole, other)
    assert "difference" in out and "trusted (exact)" in out
    assert run_cli(capsys, "compare", whole)[0] == 2
