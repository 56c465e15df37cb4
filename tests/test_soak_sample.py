"""A small sample of the campaigns of `make soak`, through the same functions."""

import random
import shutil
import threading

import click
import pytest
import typer
from soak import flips, fuzz, hostile_files, kills
from soak.cases import GOOD, SILENT, TRACEBACK, Case, Outcome, fingerprint, selected, unchanged, watched
from soak.driver import Settings, Tally, as_line, from_line, run_shard

from minprobflow import cli

FLAGS = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in flips.FINISHED.items())


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A small run to damage."""
    place = tmp_path_factory.mktemp("soak")
    flips.prepare_finished(place)
    return place


def failures(cases, shard, share, most=None):
    """What failed of a share of some cases."""
    found = []
    for count, (i, case) in enumerate(selected(cases, shard, share)):
        if most is not None and count == most:
            break
        outcome = case.run()
        if outcome.kind != GOOD:
            found.append(f"{case.label}: {outcome.kind}: {outcome.detail} (python -m soak {shard} --case {i})")
    return found


@pytest.mark.parametrize(
    ("shard", "most"),
    [
        ("model/RBM", 20),
        ("checkpoint/0", 20),
        ("previous/0", 10),
        ("record/evaluation.json", 10),
        ("record/config.json", 5),
        ("record/diagnostics.safetensors", 2),
        ("diagnostics/header", 10),
    ],
)
def test_a_flipped_bit_is_noticed_or_changes_nothing(work, shard, most):
    assert failures(flips.cases(shard, 0, work), f"flips/{shard}", 0.01, most) == []


@pytest.mark.parametrize("shard", hostile_files.KINDS)
def test_a_hostile_file_is_refused_or_read_rightly(tmp_path, monkeypatch, shard):
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", str(hostile_files.CAP))
    assert failures(hostile_files.cases(shard, 0, tmp_path), f"hostile_files/{shard}", 0.04, 5) == []


def test_a_wild_call_ends_in_a_result_or_a_clear_sentence(tmp_path):
    """In a process of its own: here types are checked before the library sees them."""
    tally = run_shard("fuzz/mixed/0", fuzz.LIMIT, Settings(tmp_path), threading.Event())
    assert tally is not None and tally.failures == [] and tally.cases == fuzz.SAMPLE


def commands(command, name=""):
    """Every command of the command line with its options, by name."""
    yield name, command
    for part in command.list_commands(click.Context(command)) if hasattr(command, "list_commands") else ():
        made = getattr(command, "made", {})
        yield from commands(made[part]() if part in made else command.commands[part], f"{name} {part}".strip())


def test_every_option_of_every_command_is_fuzzed():
    for name, command in commands(typer.main.get_command(cli.app)):
        switches = {param.opts[0] for param in command.params if getattr(param, "is_flag", False)}
        valued = {param.opts[0] if param.param_type_name == "option" else "" for param in command.params} - switches
        if name:
            assert valued - {"--help"} <= set(fuzz.FLAGS[name]) and switches - {"--help"} == set(fuzz.SWITCHES[name]), name
            assert set(fuzz.FLAGS[name]) <= {option for param in command.params for option in (*param.opts, "")}, name


def test_a_killed_run_ends_as_if_it_had_been_left_alone(work, tmp_path):
    reference = tmp_path / "reference"
    shutil.copytree(work / "finished", reference)
    outcome = kills.life(FLAGS, reference, tmp_path / "run", random.Random(0), length=4.0, kills=2)
    assert (outcome.kind, outcome.detail) == (GOOD, "") and outcome.tried >= 1


def test_the_verdicts_of_a_campaign_are_kept_and_thinned_out_the_same_way():
    tally = Tally("flips/x")
    tally.add(3, "a case", "silent changes", "another model", seconds=1.5)
    tally.add(4, "another", GOOD, "", tried=5)
    assert from_line(as_line(tally)) == tally and tally.counts["silent changes"] == 1 and (tally.cases, tally.tried) == (2, 6)
    cases = [Case(str(i), lambda: Outcome(GOOD)) for i in range(1000)]
    some = [i for i, _ in selected(iter(cases), "x", 0.1)]
    assert some == [i for i, _ in selected(iter(cases), "x", 0.1)] and some[0] == 0 and 50 < len(some) < 150
    assert len(list(selected(iter(cases), "x", 1.0))) == 1000


def test_a_changed_result_without_a_word_is_a_silent_change():
    assert unchanged(watched(lambda: 2), fingerprint(1)).kind == SILENT
    assert unchanged(watched(lambda: 1 / 0), fingerprint(1)).kind == TRACEBACK
    assert unchanged(watched(lambda: 1), fingerprint(1)).kind == GOOD
