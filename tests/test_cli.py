"""The command line: what it prints where, and how it ends."""

import gzip
import json
import os
import subprocess
import sys

import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import cli

MODEL = laws.MODELS["RBM-1-tau1.0"]
DATA = laws.draw(MODEL, 40)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpf.save(MODEL, "model.safetensors")
    np.save("rows.npy", DATA)
    np.savez("rows.npz", train=DATA[:20], test=DATA)
    np.savez("one.npz", DATA.astype(bool))
    np.savetxt("rows.csv", DATA, fmt="%d", delimiter=",")
    with gzip.open("rows.csv.gz", "wt") as file:
        np.savetxt(file, DATA.astype(float), fmt="%.1f", delimiter=" ")
    np.save("grey.npy", DATA * 0.5)
    np.save("wide.npy", np.zeros((3, 6)))
    np.save("nan.npy", np.full((3, 5), np.nan))
    np.save("objects.npy", np.asarray([{}], dtype=object), allow_pickle=True)
    (tmp_path / "named.csv").write_text('a,"b, c",,d,e\n' + (tmp_path / "rows.csv").read_text())
    (tmp_path / "header.csv").write_text("a,b,c,d,e\n")
    (tmp_path / "ragged.csv").write_text("0,1,0,1,0\n0,1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "rows.npz").read_bytes()[:100])
    (tmp_path / "rows.xls").write_text("x")
    return tmp_path


def run(capsys, *arguments):
    """Exit code, standard output, standard error of the command, in this process."""
    monkey = pytest.MonkeyPatch()
    monkey.setattr(sys, "argv", ["minprobflow", *arguments])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        monkey.undo()
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("data", ["rows.npy", "rows.npz:test", "one.npz", "rows.csv", "rows.csv.gz", "named.csv"])
def test_every_format_gives_the_same_json(files, capsys, data):
    code, out, _ = run(capsys, "evaluate", "model.safetensors", "--data", data, "--json")
    assert code == 0 and out.count("\n") == 1
    record = json.loads(out)
    assert set(record) == {"part", "method", "log_partition", "log_likelihood", "independent_units", "verdict", "settings", "warnings"}
    assert record["method"] == "exact" and record["verdict"] == "trusted" and record["warnings"] == []
    expected = mpf.log_likelihood(MODEL, DATA)
    assert record["log_likelihood"] == {**expected.record(), "n": 40}
    assert set(record["log_partition"]) == {"value", "stderr", "lower", "upper"}


@pytest.mark.parametrize("method", ["ais", "csl", "pseudo"])
def test_every_method(files, capsys, method):
    settings = {"ais": ["--betas", "100", "--chains", "50"], "csl": ["--chains", "20", "--samples", "3"], "pseudo": []}[method]
    arguments = [
        "evaluate",
        "model.safetensors",
        "--data",
        "rows.npy",
        "--base-data",
        "rows.npz:train",
        "--method",
        method,
        "--seed",
        "3",
        *settings,
    ]
    code, out, err = run(capsys, *arguments, "--json")
    record = json.loads(out)
    assert code == 0 and record["method"] == method and record["log_likelihood"]["n"] == 40
    if method == "ais":
        assert record["settings"]["betas"] == 100 and record["settings"]["chains"] == 50
        assert record["log_partition"]["lower"] <= mpf.log_partition(MODEL).value <= record["log_partition"]["upper"]
        assert "reverse AIS to data, 100 temperatures" in err
    else:
        assert record["log_partition"] is None
    if method == "csl":
        assert record["log_likelihood"]["upper"] is None
    assert run(capsys, *arguments, "--json")[1] == out or method == "ais"  # AIS reports its seconds
    code, out, err = run(capsys, *arguments, "--quiet")
    assert code == 0 and "verdict" in out and err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.safetensors", "--data", "missing.npy"], "no file missing.npy"),
        (["missing.safetensors", "--data", "rows.npy"], "no run folder or model file missing.safetensors"),
        (["rows.npy", "--data", "rows.npy"], "rows.npy is not a model file"),
        (["model.safetensors", "--data", "wide.npy"], "wide.npy has 6 columns"),
        (["model.safetensors", "--data", "grey.npy"], "must be binary"),
        (["model.safetensors", "--data", "nan.npy"], "missing value"),
        (["model.safetensors", "--data", "rows.npz"], "holds the arrays train, test: name one, as in rows.npz:train"),
        (["model.safetensors", "--data", "rows.npz:valid"], "no array 'valid'"),
        (["model.safetensors", "--data", "cut.npz"], "cannot be read"),
        (["model.safetensors", "--data", "objects.npy"], "cannot be read"),
        (["model.safetensors", "--data", "header.csv"], "has a header (line 1) and no examples"),
        (["model.safetensors", "--data", "ragged.csv"], "not a table"),
        (["model.safetensors", "--data", "empty.csv"], "empty"),
        (["model.safetensors", "--data", "rows.xls"], ".csv, .tsv, .parquet, .npy"),
        (["model.safetensors", "--data", "rows.npy", "--base-data", "wide.npy"], "wide.npy has 6 columns"),
        (["model.safetensors", "--data", "rows.npy", "--method", "guess"], "auto, ais, csl, exact, pseudo, trajectory"),
        (["model.safetensors", "--data", "rows.npy", "--method", "csl", "--betas", "9"], "no setting 'betas'"),
        (["model.safetensors", "--data", "rows.npy", "--method", "ais", "--chains", "0"], "chains"),
    ],
)
def test_bad_input_ends_with_2_and_one_sentence(files, capsys, arguments, message):
    code, out, err = run(capsys, "evaluate", *arguments)
    assert code == 2 and out == ""
    assert message in err and err.startswith("error: ") and err.count("\n") == 1


def test_programs_of_an_earlier_process_give_the_same_figures(files):
    """Commands keep compiled programs between runs. Those that JAX 0.6.0 read back gave other samples."""
    command = [sys.executable, "-m", "minprobflow", "evaluate", "model.safetensors", "--data", "rows.npy", "--method", "csl", "--json"]
    every_program = {"JAX_COMPILATION_CACHE_DIR": str(files / "compiled"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = {**os.environ, **every_program}
    runs = [
        subprocess.run([*command, "--chains", "200", "--samples", "20"], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert any((files / "compiled").iterdir()) and runs[0].stdout == runs[1].stdout


def test_nan_weights_end_with_2(files, capsys):
    path = files / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-4] + np.float32(np.nan).tobytes())
    code, _, err = run(capsys, "evaluate", "model.safetensors", "--data", "rows.npy")
    assert code == 2 and ("non-finite" in err or "altered" in err) and err.count("\n") == 1


def test_the_installed_command(files):
    command = [
        sys.executable,
        "-m",
        "minprobflow",
        "evaluate",
        "model.safetensors",
        "--data",
        "rows.npy",
        "--method",
        "ais",
        "--betas",
        "20",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["method"] == "ais"
    done = subprocess.run([*command[:-5], "csll"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    done = subprocess.run([sys.executable, "-m", "minprobflow", "evaluate", "--help"], capture_output=True, text=True, check=True)
    assert "minprobflow evaluate model.safetensors --data test.npy" in done.stdout
