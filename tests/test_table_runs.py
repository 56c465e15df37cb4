"""Runs on tables: names and words go into the model file, and come out in samples, evaluations and reports."""

import contextlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from test_cli import run

import minprobflow as mpf
from minprobflow import cli, files
from minprobflow.columns import ColumnNames
from minprobflow.model_specs import chosen_for
from minprobflow.models.files import read_columns
from minprobflow.report import page, read_run
from minprobflow.runs.open import open_data

RNG = np.random.default_rng(0)
N = 40
FRAME = pd.DataFrame(
    {
        "<b>owner": RNG.choice(["yes", "no"], N),
        "sex": RNG.choice(["male", "female"], N),
        "colour": RNG.choice(["red", "green", "blue"], N),
    }
)
NAMES = ColumnNames(("<b>owner", "sex", "colour"), (("no", "yes"), ("female", "male"), ("blue", "green", "red")))
QUICK = ("--hidden", "3", "--epochs", "1", "--batch-size", "10")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run on three files."""
    folder = tmp_path_factory.mktemp("tables")
    FRAME[:20].to_csv(folder / "train.csv")
    FRAME[20:30].to_csv(folder / "valid.csv", sep=";")
    FRAME[30:].to_parquet(folder / "test.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        parts = ("--data", "train.csv", "--valid", "valid.csv", "--test", "test.parquet")
        patch.setattr(sys, "argv", ["minprobflow", "train", *parts, *QUICK, "--out", "run", "--quiet"])
        with contextlib.suppress(SystemExit):
            cli.main()
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(place, monkeypatch):
    monkeypatch.chdir(place)


def test_what_was_understood_is_printed_before_training(capsys):
    code, _, err = run(capsys, "train", "--data", "train.csv", *QUICK, "--out", "printed")
    assert code == 0
    expected = [
        "data  train.csv: 20 rows (16 train, 2 valid, 2 test), 3 columns: 2 binary, 1 of categories (3 values)",
        "      columns '<b>owner', 'sex', 'colour'",
        "      column 0 has no name and numbers or names the rows: left out",
        "      sex: female = 0, male = 1",
        "      colour: blue = 0, green = 1, red = 2",
        "model mixed-rbm, chosen from the data",
    ]
    assert err.splitlines()[:6] == expected
    shutil.rmtree("printed")
    command = [sys.executable, "-m", "minprobflow", "datasets", "info", "train.csv"]
    dropped = ["--json", "--data-option", "drop=sex"]
    text, record = (subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout for more in ([], dropped))
    assert text.splitlines()[0] == expected[0].removeprefix("data  ")
    assert json.loads(record)["columns"] == ["<b>owner", "colour"] and json.loads(record)["sizes"] == [16, 2, 2]


def test_the_parts_come_from_their_files():
    data = open_data("run")
    np.testing.assert_array_equal(data.valid[:, 2], FRAME["colour"][20:30].map({"blue": 0, "green": 1, "red": 2}))
    np.testing.assert_array_equal(data.test[:, 1], FRAME["sex"][30:] == "male")
    assert len(data.train) == 20


def test_a_run_of_three_files_is_resumed(capsys):
    shutil.copytree("run", "resumed")
    code, out, _ = run(capsys, "train", "--resume", "--out", "resumed", "--epochs", "2", "--json", "--quiet")
    assert code == 0 and json.loads(out)["epochs"] == 2
    code, _, err = run(capsys, "train", "--resume", "--out", "resumed", "--valid", "train.csv")
    assert code == 2 and "data_options" in err
    shutil.rmtree("resumed")


def test_model_files_hold_names_and_words():
    for name in ("best", "model"):
        assert read_columns(f"run/{name}.safetensors") == NAMES
    model = mpf.load("run/best.safetensors")
    mpf.save(model, "plain.safetensors")
    assert read_columns("plain.safetensors") is None
    mpf.save(model, "named.safetensors", columns=ColumnNames(NAMES.names, None))
    assert read_columns("named.safetensors") == (NAMES.names, None)
    for wrong in (NAMES.names, ColumnNames(NAMES.names[:2], None), ColumnNames(None, None), ColumnNames((1, 2, 3), None), "abc"):
        with pytest.raises(mpf.InputError, match=r"columns=.*pass the column_names of a data set"):
            mpf.models.files.to_bytes.__wrapped__(model, None, wrong)


def test_damaged_names_are_noticed():
    tensors, metadata = files.read("run/best.safetensors")
    metadata.pop("digest")
    for text in ("{", "[]", '{"names": 3, "words": null}', '{"names": null, "words": null}', '{"names": [1], "words": null}'):
        with open("damaged.safetensors", "wb") as file:
            file.write(files.pack(tensors, {**metadata, "column_names": text}))
        with pytest.raises(mpf.ModelFileError, match="the names of the columns are damaged"):
            read_columns("damaged.safetensors")


@pytest.mark.parametrize("model", ["run", "run/best.safetensors"])
def test_samples_come_out_in_the_users_words(capsys, model):
    code, out, _ = run(capsys, "sample", model, "-n", "30", "--steps", "5")  # .csv is the default
    assert code == 0 and out == "samples.csv\n"
    drawn = pd.read_csv("samples.csv")
    assert list(drawn.columns) == list(NAMES.names) and len(drawn) == 30
    for name, words in zip(*NAMES, strict=True):
        assert set(drawn[name]) <= set(words)
    code, _, _ = run(capsys, "sample", model, "-n", "30", "--steps", "5", "--out", "samples.npy")
    numbers = np.load("samples.npy")
    assert code == 0 and [NAMES.words[2][int(x)] for x in numbers[:, 2]] == list(drawn["colour"])


def test_evaluation_matches_columns_by_name(capsys):
    code, out, _ = run(capsys, "evaluate", "run", "--json", "--quiet")
    expected = json.loads(out)["log_likelihood"]
    FRAME[30:][["colour", "<b>owner", "sex"]].assign(age=40).to_csv("shuffled.csv", index=False)
    code, out, err = run(capsys, "evaluate", "run/best.safetensors", "--data", "shuffled.csv", "--json", "--quiet")
    assert code == 0 and json.loads(out)["log_likelihood"]["value"] == pytest.approx(expected["value"], abs=1e-5)
    assert err == "note: shuffled.csv: 'age' left out, which the model does not have\n"
    FRAME.rename(columns={"sex": "gender"}).to_csv("other.csv", index=False)
    code, out, err = run(capsys, "evaluate", "run", "--data", "other.csv")
    assert code == 2 and out == "" and "it lacks 'sex', and has 'gender', which the model does not have" in err
    FRAME.assign(colour="pink").to_csv("other.csv", index=False)
    code, _, err = run(capsys, "evaluate", "run", "--data", "other.csv")
    assert code == 2 and "column 2 ('colour') has 'pink', but the model knows only 'blue', 'green', 'red'" in err


def test_the_report_shows_what_the_columns_are():
    text = page([read_run("run")])
    assert "<b>owner" not in text and "&lt;b&gt;owner" in text
    assert "40 rows (20 train, 10 valid, 10 test), 3 columns: 2 binary, 1 of categories (3 values)" in text
    assert "All 3 columns" in text and "blue, green, red" in text


def test_the_model_fits_the_columns():
    words = mpf.load_dataset(FRAME)
    assert chosen_for(words) == "mixed-rbm" and chosen_for(mpf.load_dataset(FRAME.drop(columns="colour"))) == "rbm"
    mixed = mpf.load_dataset(FRAME.assign(age=RNG.normal(size=N)), real=True)
    assert (
        chosen_for(mixed) == "mixed-rbm"
        and chosen_for(mpf.load_dataset(pd.DataFrame(RNG.normal(size=(N, 2))), real=True)) == "gaussian-rbm"
    )
    for model, data in (("rbm", words), ("categorical-rbm", words), ("gaussian-rbm", mixed), ("potts", words), ("ising", words)):
        with pytest.raises(mpf.InputError, match=r"holds the words .*, which .* has no units for: use mixed-rbm"):
            mpf.Config.of(model=model).resolved(data)
    same = mpf.load_dataset(pd.DataFrame({"a": ["x", "y", "z"] * 9, "b": ["u", "v", "v", "w"] * 6 + ["u"] * 3}), whole=True)
    assert mpf.Config.of(model="potts").resolved(same).model_settings["n_values"] == 3


def test_a_category_that_only_validation_has_is_a_value():
    data = mpf.load_dataset(FRAME[FRAME["colour"] != "red"], valid=FRAME)
    model = mpf.Config.of().model_spec(data).build(0, data)
    assert model.space.parts[1] == mpf.Categories(1, 3)
