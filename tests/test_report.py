"""The report: what is on the page, where it comes from, and what a browser makes of it."""

import base64
import contextlib
import dataclasses
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, load_file

import minprobflow as mpf
from minprobflow import cli, pictures
from minprobflow.records import write_record
from minprobflow.report import page, read_run, run_figures
from minprobflow.report.records import RunRecord
from minprobflow.report.template import POLICY
from minprobflow.runs import diagnostics, train_run
from minprobflow.runs.diagnostics import diagnose, read_diagnostics, read_evaluation
from minprobflow.samplers.memory import memory
from minprobflow.train import Config

CONFIG = Config.of(rule="cd", hidden=4, epochs=3, batch_size=100)
FIGURES = [
    "Log-likelihood",
    "Objective",
    "Effective particles",
    "Reconstruction error",
    "Gradient norm",
    "Free-energy gap",
    "From data",
    "From noise",
    "Hidden units",
    "All activations",
    "Autocorrelation",
    "Where chains go",
]
SIDE_BY_SIDE = 3  # pictures of each run in the comparison
SVGS, IMAGES, SHARED = 10, 11, 6  # of one run; 5 strips from data, 5 from noise, filters; of a comparison


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two diagnosed runs, one with a name that is markup."""
    root = tmp_path_factory.mktemp("runs")
    places = [str(root / "<b>x"), str(root / "pcd")]
    train_run(CONFIG, places[0])
    train_run(dataclasses.replace(CONFIG, rule="pcd", evaluate_every=2), places[1])
    for place in places:
        diagnose(place)
    return places


@pytest.fixture(scope="module")
def of_both(runs):
    """The page of both runs: to draw it takes two seconds."""
    return page([read_run(place) for place in runs])


@pytest.fixture
def copy(runs, tmp_path):
    """A run to be damaged."""
    return shutil.copytree(runs[0], tmp_path / "run")


def command(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["minprobflow", "report", *map(str, arguments)])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    return code, *capsys.readouterr()


def test_one_run(runs, tmp_path, capsys, monkeypatch):
    out = tmp_path / "page.html"
    code, printed, progress = command(capsys, monkeypatch, runs[0], "--out", out)
    assert (code, printed) == (0, f"{out}\n") and progress == ""  # nothing is left to compute
    text = out.read_text()
    for title in FIGURES:
        assert f"<h4>{title}</h4>" in text
    assert text.index(POLICY) < text.index("<style>") and "default-src 'none'" in POLICY
    assert (text.count("<svg "), text.count("<img "), text.count('aria-label="')) == (SVGS, IMAGES, SVGS)
    found = read_evaluation(runs[0])
    value = found["log_likelihood"]
    assert f"{value['value']:.3f}" in text and f"[{value['lower']:.3f}, {value['upper']:.3f}]" in text
    assert found["verdict"] == "trusted" and found["method"] == "exact" and value["n"] == 300
    arrays = read_diagnostics(runs[0])
    assert f"<b>{arrays['autocorrelation_time']:.1f}</b> Gibbs steps" in text
    assert f"<b>{arrays['free_energy_valid'] - arrays['free_energy_train']:.3f}</b> nats" in text
    environment = json.loads(Path(runs[0], "environment.json").read_text())
    assert environment["versions"]["jax"] in text and environment["data"]["source"] in html.unescape(text)
    assert "<dt>hidden</dt><dd>4</dd>" in text and "<dt>rule</dt><dd>cd</dd>" in text


def test_several_runs_begin_with_a_comparison(runs, of_both):
    text = of_both
    assert (text.count("<svg "), text.count("<img ")) == (2 * SVGS + SHARED, 2 * (IMAGES + SIDE_BY_SIDE))
    table = html.unescape(re.sub(r"<[^>]*>", " ", text[text.index("<tbody>") : text.index("</tbody>")]))
    for place in runs:
        found, run = read_evaluation(place)["log_likelihood"], read_run(place)
        assert f"{found['value']:.3f}" in table and f"{found['stderr']:.3f}" in table and f"{run.seconds:.1f}" in table
        assert run.best_epoch == run.summary["best_epoch"]
    assert "different data" not in text
    other = dataclasses.replace(read_run(runs[1]), config={**read_run(runs[1]).config, "data": "mnist"})
    assert "different data" in page([read_run(runs[0]), other])
    assert text.index("runs compared") < text.index("<tbody>") < text.index('id="run-1"') < text.index('id="run-2"')


def test_page_is_self_contained_and_valid(of_both):
    text = of_both
    assert "<script" not in text and "@import" not in text
    assert all(value.startswith(("data:", "#")) for value in re.findall(r'(?:src|href)="([^"]*)"', text))
    assert not re.search(r"url\((?!#)", text)
    names = re.findall(r' id="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert all(f'id="{name}"' in text for name in re.findall(r"(?:url\(#|href=\"#)([^)\"]*)", text))
    for image in re.findall(r'src="data:image/png;base64,([^"]*)"', text):
        assert base64.b64decode(image).startswith(b"\x89PNG")


def test_text_from_files_is_escaped(copy):
    write_record(copy / "environment.json", {"<i>key": ["</style>", '"><script>']})
    evaluation = read_evaluation(copy)
    write_record(copy / "evaluation.json", {**evaluation, "warnings": ["<u>why"], "method": "<s>", "verdict": "<em>"})
    text = page([dataclasses.replace(read_run(str(copy)), name="<b>x"), read_run(str(copy))])
    for markup in ("<b>x", "<i>", "<script", "<u>", "<s>", "<em>"):
        assert markup not in text
    assert text.count("</style>") == 1 + text.count('<style type="text/css">') and "&lt;b&gt;x" in text


def test_a_run_without_the_optional_records(copy):
    for name in ("environment.json", "summary.json", "metrics.jsonl"):
        (copy / name).unlink()
    text = page([read_run(str(copy))])
    assert "not finished" in text and "Not recorded." in text and text.count("<svg ") == SVGS


def test_data_that_are_no_images(copy):
    run = read_run(str(copy))
    run = dataclasses.replace(run, diagnostics={**run.diagnostics, "image_shape": np.zeros(0, int)})
    text = page([run])
    assert "not images" in text and "<img " not in text


def test_nothing_is_computed_twice(copy, monkeypatch):
    diagnose(copy)  # the copy's times are in the order of copying
    before = {name: (copy / name).stat().st_mtime_ns for name in ("evaluation.json", "diagnostics.safetensors")}
    monkeypatch.setattr(diagnostics, "open_data", lambda place: pytest.fail("computed again"))
    diagnose(copy)
    assert before == {name: (copy / name).stat().st_mtime_ns for name in before}
    os.utime(copy / "best.safetensors", (4e9, 4e9))  # a wrong clock: the same model all the same
    diagnose(copy)
    shutil.copy(copy / "model.safetensors", copy / "best.safetensors")  # another model
    with pytest.raises(pytest.fail.Exception):
        diagnose(copy)


@pytest.mark.parametrize("damage", [b"", b"{}", b"PK\x03\x04 not a zip", b"[1]", None])
@pytest.mark.parametrize("name", ["evaluation.json", "diagnostics.safetensors"])
def test_a_damaged_file_is_recomputed(copy, name, damage):
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    diagnose(copy)
    assert read_evaluation(copy) is not None and read_diagnostics(copy) is not None
    if name == "evaluation.json":
        assert (copy / name).read_bytes() == whole
    else:  # safetensors puts the header's fields in any order
        before, after = load(whole), load_file(copy / name)
        assert before.keys() == after.keys() and all(np.array_equal(before[key], after[key]) for key in before)


def test_diagnostics_repeat(runs, copy):
    (copy / "diagnostics.safetensors").unlink()
    diagnose(copy)
    first, again = read_diagnostics(runs[0]), read_diagnostics(copy)
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])


def test_diagnostics_are_right(runs):
    arrays, run = read_diagnostics(runs[0]), read_run(runs[0])
    best = next(r for r in run.metrics if r["epoch"] == run.best_epoch)
    np.testing.assert_allclose(arrays["free_energy_valid"] - arrays["free_energy_train"], best["train"] - best["valid"], atol=1e-4)
    assert arrays["activation_counts"].sum() == 4 * 297 and arrays["unit_activations"].shape == (4,)
    assert arrays["states_from_data"].shape == arrays["states_from_noise"].shape == (5, 12, 64)
    assert (arrays["states_from_noise"][0] != arrays["states_from_noise"][1]).any()
    assert len(arrays["trace_from_data"]) == 3001


@pytest.mark.parametrize("a", [0.0, 0.5, 0.9])
def test_autocorrelation_time_of_an_autoregression(a):
    """x' = a x + noise has the integrated autocorrelation time (1 + a) / (1 - a)."""
    random = np.random.default_rng(0)
    values = np.zeros((4000, 40))
    values[0] = random.normal(size=40) / np.sqrt(1 - a**2)
    for i in range(1, len(values)):
        values[i] = a * values[i - 1] + random.normal(size=40)
    found = memory(values)
    assert found.resolved and found.time == pytest.approx((1 + a) / (1 - a), rel=0.08)
    np.testing.assert_allclose(found.autocorrelation[:5], a ** np.arange(5), atol=0.03)


def test_chains_that_stay_apart_do_not_count_as_mixed():
    values = np.random.default_rng(0).normal(size=(1000, 10))
    values[:, :5] += 10
    found = memory(values)
    assert not found.resolved and found.time > 100
    assert memory(np.ones((100, 3))).time == 1  # chains that never move


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no run folder missing"),
        (["model.safetensors"], "is a file, not a run folder"),
        (["RUN", "empty"], "not a run folder"),
        (["RUN", "--out", "empty"], "is a folder"),
        (["unborn"], "no best.safetensors yet"),
        (["RUN", "--out", "file/page.html"], "cannot be written to, since a file"),
    ],
)
def test_bad_input_ends_with_one_sentence(runs, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "unborn").mkdir()
    (tmp_path / "unborn" / "config.json").write_text(json.dumps({"run_format": 2, **CONFIG.flat()}))
    (tmp_path / "file").write_text("")
    (tmp_path / "model.safetensors").write_text("")
    code, out, err = command(capsys, monkeypatch, *(runs[0] if a == "RUN" else a for a in arguments))
    assert code == 2 and out == "" and err.startswith("error: ") and message in err and err.count("\n") == 1


@pytest.fixture
def chromium(tmp_path):
    """A function that opens a file in a headless browser of the given width."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not on PATH")
    quiet = "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync"

    def open_page(file, width, *flags, messages=0):
        switches = [f"--{flag}" for flag in quiet.split()]
        where = [f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1200", "--enable-logging=stderr", "--v=0"]
        done = subprocess.run(
            [program, "--headless", *switches, *where, *flags, file.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        assert done.stderr.count("CONSOLE") == messages, done.stderr
        return done.stdout

    return open_page


PROBE = """<!doctype html><iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{ const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
const broken = [...page.images].filter(image => !image.naturalWidth).length;
document.title = `${{root.clientWidth}} wide, ${{root.scrollWidth - root.clientWidth}} over, ${{broken}} broken`; }});</script>"""


def test_in_a_browser(of_both, tmp_path, chromium):
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(of_both)
    dom = chromium(file, 1280, "--dump-dom")
    assert (dom.count("<svg "), dom.count("<img ")) == (2 * SVGS + SHARED, 2 * (IMAGES + SIDE_BY_SIDE))
    chromium(file, 1280, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


def test_a_browser_runs_no_script_and_loads_no_address_that_gets_into_a_page(runs, tmp_path, chromium):
    file = tmp_path / "page.html"
    intruders = "<script>document.title = 'a script ran'</script><img src='picture.png' onerror='document.title = 1'></main>"
    file.write_text(page([read_run(runs[1])]).replace("</main>", intruders))
    (tmp_path / "picture.png").write_bytes(b"")
    dom = chromium(file, 1280, "--dump-dom", messages=3)  # one for the script, one for the picture, one for its handler
    assert re.search(r"<title>(.*?)</title>", dom)[1] == f"minprobflow report: {runs[1]}"


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_the_screen(of_both, tmp_path, chromium, width):
    """In a frame: browsers do not make windows as narrow as a telephone's."""
    text = of_both.replace("</head>", "<style>::-webkit-scrollbar { display: none; }</style></head>")
    (tmp_path / "frame.html").write_text(PROBE.format(width=width, page=html.escape(text)))
    dom = chromium(tmp_path / "frame.html", 1400, "--dump-dom")
    assert re.search(r"<title>(.*?)</title>", dom)[1] == f"{width} wide, 0 over, 0 broken"


def test_curves_are_what_their_captions_say(monkeypatch):
    """Distinct curves for training and validation, read off what is drawn."""
    drawn = {}

    def curves(name, alt, series, *_, **__):
        drawn[name] = alt, series
        return name

    monkeypatch.setattr(run_figures, "curves", curves)
    names = ("objective", "ess", "reconstruction_error", "gradient_norm", "seconds")
    metrics = [
        {"epoch": e, "train": -30.0 + e, "valid": -40.0 + 2 * e, "stderr": 0.1 * e, **{name: 10.0 * i + e for i, name in enumerate(names)}}
        for e in (1, 2, 3)
    ]
    traces = {"trace_from_data": np.asarray([0.0, 1, 2]), "trace_from_noise": np.asarray([0.0, 3, 4])}
    chains = {"autocorrelation": np.asarray([1.0, 0.5, 0.0]), "autocorrelation_time": np.asarray(2.0), **traces}
    one = RunRecord("run", {}, metrics, {}, {}, {}, chains)
    two = dataclasses.replace(one, metrics=[{**record, "valid": record["valid"] - 5} for record in metrics])
    falling = dataclasses.replace(one, metrics=[{**record, "valid": -40.0 - record["epoch"]} for record in metrics])
    assert (one.best_epoch, falling.best_epoch) == (3, 1)
    run_figures.training(one, 1)
    alt, (train, valid) = drawn["1-likelihood"]
    assert alt == "Log-likelihood over epochs: validation from -38 to -34, training from -29 to -27"
    assert (list(valid.x), list(valid.y), valid.dashed) == ([1, 2, 3], [-38, -36, -34], False)
    assert (list(train.x), list(train.y), train.dashed) == ([1, 2, 3], [-29, -28, -27], True)
    np.testing.assert_allclose(valid.band, [0.196, 0.392, 0.588])
    assert list(drawn["1-gap"][1][0].y) == [9, 8, 7]  # F(validation) less F(training)
    for i, name in enumerate(names[:4]):
        assert list(drawn[f"1-{name}"][1][0].y) == [10 * i + 1, 10 * i + 2, 10 * i + 3]
    run_figures.compared([one, two])
    alt, lines = drawn["all-likelihood"]
    assert alt == "Validation log-likelihood over epochs: run 1 from -38 to -34; run 2 from -43 to -39"
    assert [list(line.y) for line in lines] == [[-38, -36, -34], [-43, -41, -39]]
    assert [list(line.y) for line in drawn["all-gap"][1]] == [[9, 8, 7], [14, 13, 12]]
    run_figures.mixing(one, 1)
    noise, data = drawn["1-trace"][1]
    assert (list(data.y), data.dashed, list(noise.y), noise.dashed) == ([1, 2], False, [3, 4], True)


def test_the_strongest_filters_come_first():
    np.testing.assert_array_equal(pictures.strongest(np.asarray([[1.0, 0], [0, -3], [2, 0]]), 2), [[0, -3], [2, 0]])


def test_a_run_with_a_trajectory_shows_its_links_its_replicas_and_its_film(copy, tmp_path, capsys, monkeypatch):
    model = mpf.load(copy / "best.safetensors")
    ladder = mpf.Trajectory.scaled(model, n=3)
    mpf.Trajectory.of(list(ladder), [0, 7, 90]).save(copy / "trajectory.safetensors")
    (copy / "diagnostics.safetensors").unlink()
    arguments = ["evaluate", str(copy), "--method", "trajectory", "--chains", "20", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["minprobflow", *arguments])
    with contextlib.suppress(SystemExit):
        cli.main()
    capsys.readouterr()
    out = tmp_path / "page.html"
    assert command(capsys, monkeypatch, copy, "--out", out)[0] == 0
    text = out.read_text()
    for title in ("Links", "Replicas", "Learning"):
        assert f"<h4>{title}</h4>" in text
    assert "update 7<" in text and "update 90<" in text and "climbed from rung 0" in text
    assert "crooks slopes" not in text
