"""Data sets and the readers of users' files."""

import functools
import gzip
import hashlib
import http.server
import struct
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import minprobflow as mpf
from minprobflow.data import SourceFile, caltech101_silhouettes, datasets, folder, mnist
from minprobflow.data.base import binarise
from minprobflow.data.files import read_table
from minprobflow.data.idx import parse_idx
from minprobflow.errors import DataMissingError

SIZES = datasets()
ROWS = (np.random.default_rng(0).random((30, 9)) < 0.4).astype(np.uint8)


def available(spec):
    return all(folder.is_present(file) for file in spec.files) or (
        spec.name == "mnist-fixed" and (folder.data_folder() / "binarized_mnist").exists()
    )


@pytest.mark.parametrize("name", SIZES)
def test_known_sets_are_as_stated(name):
    spec = SIZES[name]
    if not spec.is_present():
        pytest.skip(f"the files of {name} are not in the data folder (set MINPROBFLOW_DATA)")
    data = mpf.load_dataset(name)
    assert tuple(len(part) for part in (data.train, data.valid, data.test)) == spec.sizes
    for part in (data.train, data.valid, data.test):
        assert part.dtype == np.uint8 and part.shape[1] == spec.width and set(np.unique(part)) == set(range(spec.n_values))
    assert data.image_shape is None or np.prod(data.image_shape) == spec.width
    if data.labels is not None:
        assert tuple(map(len, data.labels)) == spec.sizes


def test_density_sets_are_read_from_text_as_from_gzip(tmp_path, monkeypatch):
    packed = SIZES["nltcs"].alternatives[0]
    if not all(map(folder.is_present, packed)):
        pytest.skip("the files of nltcs are not in the data folder (set MINPROBFLOW_DATA)")
    expected = mpf.load_dataset("nltcs")
    (tmp_path / "density_estimation").mkdir()
    for file in packed:
        (tmp_path / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(folder.locate(file).read_bytes()))
    monkeypatch.setenv("MINPROBFLOW_DATA", str(tmp_path))
    assert SIZES["nltcs"].is_present() and not SIZES["dna"].is_present()
    np.testing.assert_array_equal(mpf.load_dataset("nltcs").test, expected.test)
    assert expected.test[0].tolist() == [0] * 16 and expected.train.mean() == pytest.approx(0.332, abs=5e-4)


def test_caltech_is_upright_and_polarity_explicit():
    if not SIZES["caltech101-silhouettes"].is_present():
        pytest.skip("Caltech-101 Silhouettes are not in the data folder (set MINPROBFLOW_DATA)")
    original, inverted = (mpf.load_dataset("caltech101-silhouettes", polarity=p) for p in ("original", "inverted"))
    assert original.train.mean() == pytest.approx(0.5511, abs=1e-4)
    np.testing.assert_array_equal(original.test, 1 - inverted.test)
    assert original.train.reshape(-1, 28, 28)[:, [0, 0, -1, -1], [0, -1, 0, -1]].all()  # corners are background
    stored = mpf.load_dataset("caltech101-silhouettes", orientation="stored")
    np.testing.assert_array_equal(stored.test.reshape(-1, 28, 28).swapaxes(1, 2).reshape(-1, 784), original.test)
    # faces, class 2, taller than wide: upright objects span more rows than columns on average
    faces = 1 - original.train[original.labels.train == 2].reshape(-1, 28, 28)
    assert faces.any(2).sum(1).mean() > faces.any(1).sum(1).mean()


def test_stochastic_binarisation_follows_the_grey_values():
    pixels = np.repeat(np.asarray([[0, 64, 128, 255]], np.uint8), 20_000, axis=0)
    share = binarise(pixels, "stochastic", seed=1).mean(0)
    np.testing.assert_allclose(share, [0, 64 / 255, 128 / 255, 1], atol=4 * 0.5 / np.sqrt(20_000))
    assert share[0] == 0 and share[3] == 1
    np.testing.assert_array_equal(binarise(pixels, "stochastic", 1), binarise(pixels, "stochastic", 1))
    np.testing.assert_array_equal(binarise(np.asarray([[127, 128]], np.uint8)), [[0, 1]])


def idx_bytes(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()


WRITERS = {
    "rows.npy": lambda p: np.save(p, ROWS),
    "rows.npz": lambda p: np.savez(p, x=ROWS),
    "rows.csv": lambda p: np.savetxt(p, ROWS, fmt="%d", delimiter=","),
    "rows.csv.gz": lambda p: p.write_bytes(gzip.compress("\n".join(",".join(map(str, r)) for r in ROWS).encode())),
    "rows.tsv": lambda p: np.savetxt(p, ROWS, fmt='"%d"', delimiter="\t", header="\t".join(f"pixel {i}" for i in range(9)), comments=""),
    "rows.parquet": lambda p: pd.DataFrame(ROWS, columns=[f"pixel {i}" for i in range(9)]).to_parquet(p),
    "rows.mat": lambda p: scipy.io.savemat(p, {"x": ROWS}),
    "rows-ubyte": lambda p: p.write_bytes(idx_bytes(ROWS)),
    "rows-ubyte.gz": lambda p: p.write_bytes(gzip.compress(idx_bytes(ROWS))),
    "rows.txt": lambda p: p.write_text("\n".join("".join(map(str, r)) for r in ROWS)),
    "rows.amat": lambda p: p.write_text("\n".join(" ".join(map(str, r)) for r in ROWS)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(name, tmp_path):
    WRITERS[name](tmp_path / name)
    data = mpf.load_dataset(str(tmp_path / name), split=(0.6, 0.2, 0.2), seed=3)
    np.testing.assert_array_equal(read_table(str(tmp_path / name)), ROWS)
    assert [len(p) for p in (data.train, data.valid, data.test)] == [18, 6, 6]
    together = np.concatenate([data.train, data.valid, data.test])
    assert sorted(map(tuple, together)) == sorted(map(tuple, ROWS))
    np.testing.assert_array_equal(data.train, mpf.load_dataset(str(tmp_path / name), split=(0.6, 0.2, 0.2), seed=3).train)
    assert not np.array_equal(together, ROWS)
    assert data.image_shape == (3, 3)


def test_labels_and_thresholds(tmp_path):
    path = tmp_path / "labelled.csv"
    np.savetxt(path, np.column_stack([ROWS * 200, np.arange(30)]), fmt="%d", delimiter=",")
    data = mpf.load_dataset(str(path), labels="last", threshold=100.0, seed=1)
    for part, classes in zip((data.train, data.valid, data.test), data.labels, strict=True):
        np.testing.assert_array_equal(part, ROWS[classes])
    with pytest.raises(mpf.InputError, match="threshold=100"):
        mpf.load_dataset(str(path), labels="last")
    with pytest.raises(mpf.InputError, match="first, last or none"):
        mpf.load_dataset(str(path), labels="middle")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mnits", {}, "did you mean 'mnist'"),
        ("digits", {"colour": 1}, "has no option 'colour'"),
        ("missing.npy", {}, "no file"),
        ("rows.npy", {"split": (0.5, 0.5, 0.5)}, "add up to 1"),
        ("rows.npy", {"fraction": 1}, "has no option 'fraction'"),
    ],
)
def test_bad_requests_are_refused(name, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", ROWS)
    with pytest.raises(mpf.InputError, match=message):
        mpf.load_dataset(name, **options)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(sorted({n.removeprefix("rows") for n in WRITERS})),
    content=st.binary(max_size=300),
    start=st.integers(0, 400),
    whole=st.booleans(),
)
def test_arbitrary_bytes_never_crash_a_reader(tmp_path, suffix, content, start, whole):
    """Random files, and whole files with random bytes written into them: an InputError, or a table of numbers."""
    path = tmp_path / f"rows{suffix}"
    if whole:
        WRITERS[path.name](path)
        good = path.read_bytes()
        content = good[:start] + content[:20] + good[start + len(content[:20]) :]
    path.write_bytes(content)
    try:
        table = read_table(str(path))
    except mpf.InputError as problem:
        assert str(path) in str(problem)
        return
    assert table.ndim >= 2 and table.size > 0 and table.dtype.kind in "biuf"


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.integers(0, 5), min_size=n, max_size=n)), st.integers(-30, 30))
@settings(max_examples=50, deadline=None)
def test_idx_is_whole_or_refused(shape, change):
    content = idx_bytes(np.ones(shape))
    if change == 0:
        assert parse_idx(content, "x").shape == tuple(shape)
        return
    altered = content[:change] if change < 0 else content + b"\0" * change
    with pytest.raises(mpf.InputError):
        parse_idx(altered, "x")


@pytest.fixture
def server(tmp_path):
    """A mirror on this machine."""
    (tmp_path / "site").mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "site")
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield tmp_path / "site", f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


def test_files_are_downloaded_checked_and_never_used_when_altered(server, tmp_path, monkeypatch):
    site, url = server
    monkeypatch.setenv("MINPROBFLOW_DATA", str(tmp_path / "data"))
    (site / "set.bin").write_bytes(b"right")
    good = SourceFile("sub/set.bin", hashlib.sha256(b"right").hexdigest(), (url + "gone.bin", url + "set.bin"))
    assert folder.locate(good).read_bytes() == b"right"  # from the second mirror
    (site / "set.bin").unlink()
    assert folder.locate(good).read_bytes() == b"right"  # from the folder
    (tmp_path / "data/sub/set.bin").write_bytes(b"wrong")
    with pytest.raises(mpf.InputError, match="not the published file"):
        folder.locate(good)
    (site / "set.bin").write_bytes(b"altered on the way")
    (tmp_path / "data/sub/set.bin").unlink()
    with pytest.raises(DataMissingError, match=f"sub/set.bin is not in .*{good.sha256}"):
        folder.locate(good)
    assert not (tmp_path / "data/sub/set.bin").exists()
    assert list(Path(tmp_path / "data").rglob("*.bin")) == []
    with pytest.raises(mpf.InputError, match="cannot be downloaded"):
        folder.locate(SourceFile("other", "0" * 64))


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_parts_of_mnist_are_disjoint(name, tmp_path, monkeypatch):
    """Made-up files whose images are the bits of their own number, and whose labels its thousands: no row is in two parts."""
    numbers = np.arange(70_000)
    images = (255 * (numbers[:, None] >> np.arange(18) & 1)).astype(np.uint8).reshape(-1, 3, 6)
    contents = [images[:60_000], numbers[:60_000] // 1000, images[60_000:], numbers[60_000:] // 1000]
    files = []
    for file, content in zip(mnist.FILES[name], contents, strict=True):
        packed = gzip.compress(idx_bytes(content), 1)
        files.append(file._replace(sha256=hashlib.sha256(packed).hexdigest()))
        (tmp_path / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / file.name).write_bytes(packed)
    monkeypatch.setenv("MINPROBFLOW_DATA", str(tmp_path))
    monkeypatch.setitem(mnist.FILES, name, tuple(files))
    data = mpf.load_dataset(name)
    first = 0
    for part, classes, size in zip((data.train, data.valid, data.test), data.labels, (50_000, 10_000, 10_000), strict=True):
        expected = np.arange(first, first + size)
        np.testing.assert_array_equal(part.astype(np.int64) @ (1 << np.arange(18)), expected)
        np.testing.assert_array_equal(classes, expected // 1000)
        first += size


def test_digits_are_those_of_scikit_learn_each_once():
    digits, data = load_digits(), mpf.load_dataset("digits", grey=True)
    rows, classes = np.concatenate(data[1:4]), np.concatenate(data.labels)
    found, expected = np.column_stack([rows * 16, classes]), np.column_stack([digits.data, digits.target])
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    bits = mpf.load_dataset("digits")
    np.testing.assert_array_equal(np.concatenate(bits[1:4]), rows >= 0.5)


def test_silhouettes_are_read_as_the_options_say(tmp_path, monkeypatch):
    """A made-up file with other images and labels in each part, stored column by column."""
    rng = np.random.default_rng(0)
    stored = {part: (rng.random((n, 784)) < 0.5).astype(np.uint8) for part, n in (("train", 4), ("val", 3), ("test", 2))}
    labels = {part: rng.integers(1, 102, (1, len(rows))) for part, rows in stored.items()}
    content = {f"{part}_{kind}": a for kind, arrays in (("data", stored), ("labels", labels)) for part, a in arrays.items()}
    file = caltech101_silhouettes.FILE
    (tmp_path / file.name).parent.mkdir()
    scipy.io.savemat(tmp_path / file.name, content)
    digest = hashlib.sha256((tmp_path / file.name).read_bytes()).hexdigest()
    monkeypatch.setenv("MINPROBFLOW_DATA", str(tmp_path))
    monkeypatch.setattr(caltech101_silhouettes, "FILE", file._replace(sha256=digest))
    for polarity in ("original", "inverted"):
        data = mpf.load_dataset("caltech101-silhouettes", polarity=polarity)
        for rows, part, classes in zip(data[1:4], stored, data.labels, strict=True):
            upright = stored[part].reshape(-1, 28, 28).transpose(0, 2, 1).reshape(-1, 784)
            np.testing.assert_array_equal(rows, upright if polarity == "original" else 1 - upright)
            np.testing.assert_array_equal(classes, labels[part][0])
    np.testing.assert_array_equal(mpf.load_dataset("caltech101-silhouettes", orientation="stored").valid, stored["val"])


@pytest.mark.parametrize(("code", "dtype"), [(0x09, ">i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")])
def test_idx_numbers_of_every_type_are_big_endian(code, dtype):
    values = np.asarray([[-3, 2, 100], [7, 0, 1]]).astype(dtype)
    content = struct.pack(">BBBB", 0, 0, code, 2) + struct.pack(">2I", 2, 3) + values.tobytes()
    np.testing.assert_array_equal(parse_idx(content, "x"), values)
