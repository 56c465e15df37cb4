"""Model files: format, damage, foreign files."""

import json
import os

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import minprobflow as mpf

RBM = mpf.RBM.init(0, 5, 3, tau=2.0)


def test_the_format_is_as_documented(tmp_path):
    path = tmp_path / "sub" / "model.safetensors"
    mpf.save(RBM, path, provenance={"data": "digits", "seed": 7})
    with safe_open(path, framework="numpy") as file:
        assert {name: file.get_tensor(name).shape for name in file.keys()} == {  # noqa: SIM118
            "weights": (5, 3),
            "visible_bias": (5,),
            "hidden_bias": (3,),
        }
        metadata = file.metadata()
    assert (metadata["kind"], metadata["tau"], metadata["format_version"]) == ("bernoulli_rbm", "2.0", "1")
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
        (lambda p: foreign(p, {"weights": np.zeros((5, 3))}), "hidden_bias, visible_bias"),
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
        mpf.save(mpf.RBM.init(1, 5, 3), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
