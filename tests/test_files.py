"""Model files: format, damage, foreign files."""

import fcntl
import json
import os

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import minprobflow as mpf
from minprobflow import files

RBM = mpf.BernoulliRBM.init(0, 5, 3, tau=2.0)


def test_the_format_is_as_documented(tmp_path):
    path = tmp_path / "sub" / "model.safetensors"
    mpf.save(RBM, path, provenance={"data": "digits", "seed": 7})
    with safe_open(path, framework="numpy") as file:
        assert {name: file.get_tensor(name).shape for name in file.keys()} == {  # noqa: SIM118
            "weights": (5, 3),
            "visible.bias": (5,),
            "hidden.bias": (3,),
        }
        metadata = file.metadata()
    assert (metadata["kind"], metadata["tau"], metadata["format_version"]) == ("rbm", "2.0", "2")
    assert json.loads(metadata["visible"]) == json.loads(metadata["hidden"]) == {"units": "bernoulli"}
    provenance = json.loads(metadata["provenance"])
    assert provenance["seed"] == 7 and {"minprobflow", "jax", "created"} <= provenance.keys()
    assert mpf.load(path).tau == 2.0


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    mpf.save(RBM, path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(mpf.ModelFileError, match="truncated"):
            mpf.load(path)


def foreign(path, tensors=None, **metadata):
    whole = {"weights": np.zeros((5, 3), np.float32), "visible_bias": np.zeros(5, np.float32), "hidden_bias": np.zeros(3, np.float32)}
    save_file(whole if tensors is None else tensors, path, {"kind": "bernoulli_rbm", "tau": "1.0", "format_version": "1", **metadata})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p: p.write_text("hello"), "truncated or not"),
        (lambda p: save_file({"x": np.zeros(3)}, p), "not written by minprobflow"),
        (lambda p: foreign(p, kind="teapot"), "teapot"),
        (lambda p: foreign(p, format_version="99"), "upgrade"),
        (lambda p: foreign(p, {"weights": np.zeros((5, 3))}), "hidden.bias, visible.bias"),
        (lambda p: foreign(p, {"weights": np.zeros((3, 5)), "visible_bias": np.zeros(5), "hidden_bias": np.zeros(3)}), r"weights\.T"),
        (lambda p: foreign(p, {"weights": np.full((5, 3), np.nan), "visible_bias": np.zeros(5), "hidden_bias": np.zeros(3)}), "non-finite"),
        (lambda p: foreign(p, tau="zero"), "valid bernoulli_rbm"),
        (lambda p: foreign(p, tau="-1"), "tau"),
        (lambda p: None, "no file"),
        (lambda p: p.mkdir(), "no file"),
    ],
)
def test_foreign_files_are_refused(write, message, tmp_path):
    path = tmp_path / "model.safetensors"
    write(path)
    with pytest.raises(mpf.ModelFileError, match=message):
        mpf.load(path)


def test_a_subclass_does_not_take_over_the_file_format(tmp_path):
    class ZRBM(mpf.RBM):
        pass

    mpf.save(RBM, tmp_path / "model.safetensors")
    assert type(mpf.load(tmp_path / "model.safetensors")) is mpf.RBM
    assert ZRBM.kind == mpf.RBM.kind


def test_an_altered_tensor_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    mpf.save(RBM, path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(mpf.ModelFileError, match="altered"):
        mpf.load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    mpf.save(RBM, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        mpf.save(mpf.BernoulliRBM.init(1, 5, 3), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_one_bit_anywhere_in_a_file_is_noticed(tmp_path):
    """The digest covers the header's fields as well as the tensors: no flip gives another model."""
    path = tmp_path / "model.safetensors"
    mpf.save(RBM, path, provenance={"data": "digits"})
    content = path.read_bytes()
    for bit in range(0, 8 * len(content), 3):  # each third; `make soak` takes all
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(mpf.ModelFileError):
            files.unpack(bytes(damaged), path)


def test_another_temperature_in_the_header_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    mpf.save(RBM, path)
    path.write_bytes(path.read_bytes().replace(b'"tau":"2.0"', b'"tau":"3.0"'))
    with pytest.raises(mpf.ModelFileError, match="altered since it was written"):
        mpf.load(path)


def old_file(path, **changed):
    """A model file as release 0.1.0 wrote it, whose checksum covers the tensors only."""
    tensors = {name: np.asarray(getattr(RBM, name)) for name in ("weights", "visible_bias", "hidden_bias")}
    save_file(tensors, path, {"kind": "bernoulli_rbm", "tau": "2.0", "format_version": "1", "sha256": files._digest(tensors), **changed})


def test_files_of_older_releases_load_with_a_notice(tmp_path):
    old_file(tmp_path / "old.safetensors")
    with pytest.warns(UserWarning, match="older release"):
        model = mpf.load(tmp_path / "old.safetensors")
    assert model.tau == 2.0
    np.testing.assert_array_equal(model.weights, RBM.weights)
    old_file(tmp_path / "old.safetensors", sha256="0" * 64)
    with pytest.raises(mpf.ModelFileError, match="altered"):
        mpf.load(tmp_path / "old.safetensors")


@pytest.mark.parametrize(
    "header", [b'{"__metadata__":null}', b'{"__metadata__":{"kind":"bernoulli_rbm","format_version":"\xc2\xb2"}}', b"[" * 9999]
)
def test_hostile_headers_are_refused_in_one_sentence(tmp_path, header):
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(mpf.ModelFileError) as problem:
        mpf.load(path)
    assert "\n" not in str(problem.value) and str(path) in str(problem.value)


def test_deeply_nested_settings_are_refused(tmp_path):
    foreign(tmp_path / "model.safetensors", tau="[" * 100_000)
    with pytest.raises(mpf.ModelFileError, match="valid bernoulli_rbm"):
        mpf.load(tmp_path / "model.safetensors")


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    dead, living = tmp_path / ".minprobflow-dead.tmp", tmp_path / ".minprobflow-living.tmp"
    dead.write_text("half")
    with living.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        files.write_atomically(tmp_path / "x", b"whole")  # the first write into a folder sweeps it
        assert not dead.exists() and living.exists()
    assert (tmp_path / "x").read_bytes() == b"whole"


def test_names_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("n" * (255 - len(".safetensors")) + ".safetensors")
    mpf.save(RBM, path)
    assert mpf.load(path).tau == 2.0


def test_links_are_followed_and_pipes_are_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write_atomically(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"content"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_atomically(tmp_path / "pipe", b"content")
    assert os.read(reader, 100) == b"content" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_a_path_of_too_many_folders_is_refused(tmp_path):
    with pytest.raises(mpf.InputError, match=r"the path of the output has 1,\d\d\d parts: choose a shorter one"):
        mpf.save(mpf.BernoulliRBM.init(0, 3, 2), tmp_path / ("c/" * 1500) / "model.safetensors")
