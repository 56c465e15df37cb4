"""How commands end: refused before anything is written, interrupted, out of disk, and what they say then."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_cli import run

import minprobflow as mpf
from minprobflow.cli import endings
from minprobflow.records import read_record
from minprobflow.runs import RunFolder, diagnostics, train_run
from minprobflow.train import Config

CONFIG = Config.of(rule="cd", k=1, hidden=4, epochs=3, batch_size=100, learning_rate=0.1)
FLAGS = ["--rule", "cd", "--k", "1", "--hidden", "4", "--epochs", "3", "--batch-size", "100", "--learning-rate", "0.1", "--quiet"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("endings") / "run"
    train_run(CONFIG, path)
    return path


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--batch-size 5000", "batch_size=5000, expected a whole number from 1 to 1200; there are 1200 examples"),
        ("--epochs -1", "epochs=-1"),
        ("--optimizer sdg", "unknown optimizer 'sdg'"),
        ("--learning-rate -1", "learning_rate=-1"),
        ("--average 7", "average=7"),
        ("--hidden 0", "hidden=0, expected a whole number of at least 1"),
        ("--evaluate-every 0", "evaluate_every=0, expected a whole number of at least 1"),
        ("--l1 -3", "l1=-3"),
        ("--out " + "d/" * 1900, "choose a shorter one"),
        ("--rule pcd --n-particles 2000000000", "the particles would have 2000000000 x 64 entries"),
    ],
)
def test_a_rejected_setting_leaves_nothing_behind(tmp_path, monkeypatch, capsys, flags, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "train", *FLAGS, "--out", "run", *flags.split())
    assert code == 2 and message in err and err.count("\n") == 1 and not (tmp_path / "run").exists()


def test_a_finished_run_is_resumed_with_its_own_settings_and_no_others(copy, tmp_path, capsys):
    before = load_file(copy / "model.safetensors")
    assert run(capsys, "train", "--resume", *FLAGS, "--out", str(copy))[0] == 0
    (tmp_path / "run.toml").write_text('rule = "cd"\nhidden = 4\n')
    assert run(capsys, "train", "--resume", "--quiet", "--config", str(tmp_path / "run.toml"), "--out", str(copy))[0] == 0
    np.testing.assert_array_equal(load_file(copy / "model.safetensors")["weights"], before["weights"])
    code, _, err = run(capsys, "train", "--resume", "--rule", "pcd", "--hidden", "4", "--out", str(copy))
    assert code == 2 and "rule is 'cd' there, not 'pcd'" in err and "hidden" not in err


def test_overwrite_replaces_a_run_and_leaves_other_files_alone(copy, capsys):
    (copy / "notes.txt").write_text("mine")
    code, _, err = run(capsys, "train", *FLAGS, "--out", str(copy))
    assert code == 2 and "--overwrite" in err
    changed = [*FLAGS, "--epochs", "2", "--overwrite", "--out", str(copy)]
    assert run(capsys, "train", *changed)[0] == 0
    assert len(RunFolder(copy).read_metrics()) == 2 and (copy / "notes.txt").read_text() == "mine"
    assert run(capsys, "train", *changed, "--resume")[0] == 2
    assert run(capsys, "train", *changed, "--optimizer", "sdg")[0] == 2  # a refused setting destroys nothing
    assert len(RunFolder(copy).read_metrics()) == 2


def test_an_evaluation_is_printed_even_if_it_cannot_be_kept(copy, monkeypatch, capsys):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    expected = run(capsys, "evaluate", str(copy), "--json", "--quiet")[1]
    (copy / "evaluation.json").unlink()
    monkeypatch.setattr(diagnostics, "write_record", read_only)
    code, out, err = run(capsys, "evaluate", str(copy), "--json", "--quiet")
    assert code == 0 and out == expected and err.startswith("warning: ") and "Read-only file system" in err
    monkeypatch.setattr(diagnostics, "write_atomically", read_only)
    code, out, err = run(capsys, "report", str(copy), "--quiet", "--out", str(copy / "page.html"))
    assert code == 0 and (copy / "page.html").stat().st_size > 10_000 and err.count("warning: ") == 2
    with_records = copy.parent / "kept.html"
    monkeypatch.undo()
    assert run(capsys, "report", str(copy), "--quiet", "--out", str(with_records))[0] == 0
    assert run(capsys, "report", str(copy), "--quiet", "--out", str(with_records))[0] == 0  # from the records this time
    assert with_records.read_bytes() == (copy / "page.html").read_bytes()


def test_a_damaged_best_model_is_noticed_and_replaced(copy, capsys):
    (copy / "best.safetensors").write_text("junk")
    code, _, err = run(capsys, "train", "--resume", "--quiet", "--out", str(copy))
    assert code == 0 and "best.safetensors is truncated or not a safetensors file" in err
    np.testing.assert_array_equal(mpf.load(copy / "best.safetensors").weights, mpf.load(copy / "model.safetensors").weights)


def test_a_missing_best_model_is_noticed(copy, capsys):
    (copy / "best.safetensors").unlink()
    code, _, err = run(capsys, "train", "--resume", "--quiet", "--out", str(copy))
    assert code == 0 and "best.safetensors is missing: the best model from here on is kept instead" in err
    assert (copy / "best.safetensors").exists()


def test_a_run_remembers_its_best_score_without_its_metrics(finished, tmp_path):
    """The score is in the best model's own file: lost or damaged metrics cannot let a worse model replace it."""
    run = shutil.copytree(finished, tmp_path / "run")
    kept = (run / "best.safetensors").read_bytes()
    mpf.save(mpf.load(run / "best.safetensors"), run / "best.safetensors", {"epoch": 2, "valid": 0.0})  # better than anything to come
    best = (run / "best.safetensors").read_bytes()
    (run / "metrics.jsonl").unlink()
    for name in ("checkpoint.safetensors", "checkpoint.safetensors.previous"):
        (run / name).unlink()
    train_run(CONFIG, run, resume=True)
    assert (run / "best.safetensors").read_bytes() == best != kept
    assert read_record(run / "summary.json")["best_epoch"] == 2


def test_temporaries_of_a_killed_run_are_removed_when_it_is_resumed(copy, capsys):
    (copy / ".minprobflow-abc.tmp").write_text("half")
    assert run(capsys, "train", "--resume", "--quiet", "--out", str(copy))[0] == 0
    assert not (copy / ".minprobflow-abc.tmp").exists()


def test_samples_go_into_a_folder_that_is_made_and_are_never_half_written(finished, tmp_path, monkeypatch, capsys):
    out = tmp_path / "new" / "s.npy"
    assert run(capsys, "sample", str(finished), "-n", "3", "--steps", "1", "--out", str(out))[0] == 0
    before = out.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    code, _, err = run(capsys, "sample", str(finished), "-n", "4", "--steps", "1", "--out", str(out))
    assert code == 2 and "No space left" in err and "choose another --out" in err and "--resume" not in err
    assert out.read_bytes() == before and os.listdir(out.parent) == ["s.npy"]


@pytest.mark.parametrize("shape", [(8, 8), (64,), (1, 64), (3, 64)])
def test_a_mask_may_be_a_row_an_image_or_a_table(finished, tmp_path, capsys, shape):
    np.save(tmp_path / "mask.npy", np.ones(shape, bool))
    flags = ("--start", "data", "--clamp", str(tmp_path / "mask.npy"), "-n", "3", "--steps", "2", "--out", str(tmp_path / "s.npy"))
    assert run(capsys, "sample", str(finished), *flags)[0] == 0
    tests = {row.tobytes() for row in mpf.load_dataset("digits").test}
    assert all(row.tobytes() in tests for row in np.load(tmp_path / "s.npy"))  # all units are held


def test_a_mask_of_another_shape_is_refused_by_the_shape_it_has(finished, tmp_path, capsys):
    np.save(tmp_path / "mask.npy", np.ones((20, 30), bool))
    code, _, err = run(capsys, "sample", str(finished), "--start", "data", "--clamp", str(tmp_path / "mask.npy"))
    assert code == 2 and "(20, 30)" in err and "64 units" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "nothere"), "there is no run folder or model file nothere"),
        (("evaluate", "plain.csv", "--data", "plain.csv"), "plain.csv is not a model file: give a run folder"),
        (("report", "model.safetensors"), "model.safetensors is a file, not a run folder: give the folder that minprobflow train wrote"),
        (("train", "--resume", "--out", "nothere"), "there is no run to resume in nothere"),
        (("sample", "nothere"), "there is no run folder or model file nothere"),
        (("train", "--out", "plain.csv/x"), "plain.csv/x"),
    ],
)
def test_messages_say_what_is_wrong(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.csv").write_text("0,1\n")
    (tmp_path / "model.safetensors").write_text("")
    code, _, err = run(capsys, *arguments)
    assert code in (1, 2) and message in err and err.count("\n") == 1 and "Errno" not in err


def test_version_help_and_completion(capsys):
    assert run(capsys, "--version")[:2] == (0, f"minprobflow {mpf.__version__}, kernels: {mpf.native.status()}\n")
    assert re.match(r"\d+\.\d+", mpf.__version__)
    assert run(capsys, "-h")[1] == run(capsys, "--help")[1] != ""
    assert run(capsys, "train", "-h")[1] == run(capsys, "train", "--help")[1] != ""
    assert "--show-completion" in run(capsys, "-h")[1]


def test_names_that_no_encoding_has(finished, tmp_path):
    """A run folder whose name is not UTF-8, printed on a terminal that knows ASCII only."""
    place = os.fsencode(tmp_path) + b"/r\xff\xc3\xbc"
    shutil.copytree(os.fsencode(finished), place)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for arguments in ([b"evaluate", place], [b"report", place, b"--quiet", b"--out", place + b".html"]):
        done = subprocess.run([sys.executable, "-m", "minprobflow", *arguments], capture_output=True, env=environment, check=False)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr


def interrupted(tmp_path, *signals):
    """A run that gets a signal once it has finished an epoch: exit code, standard error."""
    out = tmp_path / "it's here"
    flags = ["--rule", "cd", "--hidden", "4", "--epochs", "100000", "--batch-size", "100", "--evaluate-every", "1000", "--quiet"]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell, and what they start, ignore it
    process = subprocess.Popen([sys.executable, "-m", "minprobflow", "train", *flags, "--out", str(out)], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.time() + 120
        while time.time() < deadline and len(RunFolder(out).read_metrics()) < 2:
            time.sleep(0.05)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.02)
        error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    return process.returncode, error, out


@pytest.mark.parametrize(
    ("signals", "codes"), [([signal.SIGINT], {130}), ([signal.SIGINT, signal.SIGINT], {130, -signal.SIGINT}), ([signal.SIGTERM], {143})]
)
def test_an_interrupted_run_says_where_it_stopped_and_how_to_continue(tmp_path, signals, codes):
    code, error, out = interrupted(tmp_path, *signals)
    assert code in codes and "Traceback" not in error
    if len(signals) == 1:
        done = len(RunFolder(out).read_metrics())
        assert f"stopped after epoch {done} of 100000; continue with: minprobflow train --resume --out '" in error
        assert json.loads(json.dumps(error)).count("\n") == 2  # one empty line after ^C, one sentence


@pytest.mark.parametrize("where", [b'"kind"', b'"settings"', b'"format_version"', b"__metadata__", b'"digest"'])
def test_a_checkpoint_with_a_damaged_header_gives_way_to_the_one_before(finished, copy, capsys, where):
    path = copy / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[content.index(where) + 3] ^= 1
    path.write_bytes(content)
    (copy / "model.safetensors").unlink()
    code, _, err = run(capsys, "train", "--resume", "--quiet", "--out", str(copy))
    assert code == 0 and "checkpoint.safetensors.previous" in err
    for name in ("model.safetensors", "checkpoint.safetensors"):
        left, right = load_file(copy / name), load_file(finished / name)
        assert left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


def test_the_options_of_data_are_in_the_help(capsys):
    text = run(capsys, "train", "--help")[1]
    assert all(re.search(rf"\b{option.name}\s+\(|--{option.name} FILE", text) for option in mpf.data.options(None))
    shown = subprocess.run(
        [sys.executable, "-m", "minprobflow", "datasets", "info", "digits"], capture_output=True, text=True, check=True
    ).stdout
    assert "--data-option grey=..." in shown and "true or false; default False" in shown


def test_an_interrupt_that_python_drops_is_delivered_again(capsys):
    class Dropping:
        def __del__(self):
            raise KeyboardInterrupt  # as in a callback of the garbage collector: "Exception ignored in"

    def command():
        Dropping()
        for _ in range(100):
            time.sleep(0.05)

    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with pytest.raises(SystemExit) as end:
            endings.stoppable(command)()
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    assert end.value.code == 130 and capsys.readouterr().err == "\nstopped: the same command starts it again\n"


@pytest.mark.parametrize(("problem", "is_named"), [("INTERNAL: Out of memory allocating 80 bytes.", True), ("another", False)])
def test_memory_that_runs_out_in_jax_is_one_sentence(capsys, problem, is_named):
    with pytest.raises(SystemExit if is_named else RuntimeError) as end, endings.ends_well():
        raise RuntimeError(problem)
    if is_named:
        assert end.value.code == 1 and "not enough memory (INTERNAL: Out of memory" in capsys.readouterr().err


def test_an_evaluation_stands_beside_independent_units(finished, tmp_path, capsys):
    digits = mpf.load_dataset("digits")
    record = json.loads(run(capsys, "evaluate", str(finished), "--json", "--quiet")[1])
    p = (digits.train.sum(0) + 1) / (len(digits.train) + 2)
    expected = np.mean(digits.test @ np.log(p) + (1 - digits.test) @ np.log1p(-p))
    assert record["independent_units"] == pytest.approx(expected, abs=1e-9)
    gain = record["log_likelihood"]["value"] - expected
    shown = run(capsys, "evaluate", str(finished), "--quiet")[1]
    assert f"the model is {abs(gain):.3f} nats {'above' if gain >= 0 else 'BELOW'}" in shown
    mpf.save(mpf.BernoulliRBM(np.zeros((64, 2)), np.full(64, 5.0), np.zeros(2)), tmp_path / "bad.safetensors")
    np.savez(tmp_path / "rows.npz", train=digits.train, test=digits.test)
    files = ("--data", str(tmp_path / "rows.npz:test"), "--base-data", str(tmp_path / "rows.npz:train"))
    assert "nats BELOW" in run(capsys, "evaluate", str(tmp_path / "bad.safetensors"), *files, "--quiet")[1]
