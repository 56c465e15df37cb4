"""Which path programs take: without the library, by setting, and when a run is resumed."""

import logging

import jax
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import native
from minprobflow.native import door

LIBRARY = native.status("native")
needs_library = pytest.mark.skipif(LIBRARY.path != "native", reason=f"no compiled kernels: {LIBRARY.reason}")


def test_without_the_library_xla_takes_over_and_says_so_once(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(door, "LIBRARY", tmp_path / "libmpf.so")
    door._loaded.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, logger="minprobflow"):
            assert native.status("auto") == native.Status("xla", "no compiled kernels were installed")
            assert native.status("auto").path == "xla"
        assert caplog.text.count("1.1 to 2.8 times as long") == 1
        with pytest.raises(mpf.InputError, match="use kernels='auto'"), native.using("native"):
            pass
        (tmp_path / "libmpf.so").write_bytes(b"not a library")
        door._loaded.cache_clear()
        assert "do not load" in native.status("auto").reason
    finally:
        monkeypatch.undo()
        door._loaded.cache_clear()


def test_a_wrong_choice_is_refused():
    with pytest.raises(mpf.InputError, match="auto, native"), native.using("fast"):
        pass


@pytest.mark.parametrize("path", [pytest.param("native", marks=needs_library), "xla"])
def test_a_run_resumes_bit_for_bit_on_its_path_and_is_refused_on_the_other(path, tmp_path):
    rows = (np.random.default_rng(0).random((60, 20)) < 0.3).astype(np.uint8)
    model = mpf.BernoulliRBM.init(0, 20, 7, data=rows)
    settings = {"rule": "fpmpf", "k": 2, "refresh": 3, "batch_size": 20, "epochs": 4, "progress": False, "seed": 1}
    whole = mpf.fit(model, rows, **settings, kernels=path)
    file = tmp_path / "state"
    mpf.fit(model, rows, **settings, kernels=path, checkpoint=file, callbacks=[lambda epoch: epoch.number == 2])
    other = "xla" if path == "native" else "native"
    if LIBRARY.path == "native":
        with pytest.raises(mpf.ModelFileError, match=f"kernels was '{path}', now '{other}'"):
            mpf.fit(model, rows, **settings, kernels=other, checkpoint=file, resume=True)
    resumed = mpf.fit(model, rows, **settings, kernels=path, checkpoint=file, resume=True)
    for a, b in zip(jax.tree.leaves(whole.model), jax.tree.leaves(resumed.model), strict=True):
        np.testing.assert_array_equal(a, b)


@needs_library
def test_a_fit_uses_the_kernels_it_is_told_to(monkeypatch):
    rows = (np.random.default_rng(0).random((40, 12)) < 0.3).astype(np.uint8)
    model, seen = mpf.BernoulliRBM.init(0, 12, 3, data=rows), []
    for path in ("native", "xla", "auto"):
        mpf.fit(model, rows, "cd", epochs=1, kernels=path, callbacks=[lambda epoch: seen.append(native.on()) or None], progress=False)
    monkeypatch.setenv("MINPROBFLOW_KERNELS", "xla")
    mpf.fit(model, rows, "cd", epochs=1, callbacks=[lambda epoch: seen.append(native.on()) or None], progress=False)
    assert seen == [True, False, True, False]
