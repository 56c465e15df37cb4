"""How much a packed file may unpack to, and that headers are not believed."""

import gzip
import io
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import minprobflow as mpf
from minprobflow.data import files, limits, read_fasta
from minprobflow.data.files import read_table

RNG = np.random.default_rng(0)
BITS = (RNG.random((40, 6)) < 0.4).astype(float)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def gzipped(name, content):
    Path(name).write_bytes(gzip.compress(content))
    return name


BOMBS = {
    "bomb.csv.gz": lambda name: gzipped(name, b"0,1\n" * 500_000),
    "bomb-ubyte.gz": lambda name: gzipped(name, b"\0\0\x08\x02" + struct.pack(">II", 1000, 2000) + bytes(2_000_000)),
    "bomb.npz": lambda name: np.savez_compressed(name, x=np.zeros((1000, 2000), np.uint8)),
    "bomb.mat": lambda name: scipy.io.savemat(name, {"x": np.zeros((1000, 2000), np.uint8)}, do_compression=True),
}


@pytest.mark.parametrize("name", BOMBS)
def test_packed_files_are_read_up_to_the_cap_only(name, monkeypatch):
    BOMBS[name](name)
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", "1.5 MB")
    with pytest.raises(mpf.InputError, match=r"unpacks to .*the cap is 1\.4 MiB.*MINPROBFLOW_MAX_BYTES, for example to 1GiB"):
        read_table(name)
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", "1GiB")
    assert read_table(name).size in (1_000_000, 2_000_000)


def test_packed_alignments_are_read_up_to_the_cap_only(monkeypatch):
    gzipped("bomb.fasta.gz", b">a\nACD\n" * 10_000)
    assert len(read_fasta("bomb.fasta.gz").rows) == 10_000
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", "60000")
    with pytest.raises(mpf.InputError, match="MINPROBFLOW_MAX_BYTES"):
        read_fasta("bomb.fasta.gz")


def test_a_large_stream_is_measured_before_it_is_kept(monkeypatch):
    """Beyond `KEPT` bytes nothing is stored until the size is known, and what is then read is the whole content."""
    content = RNG.bytes(3 * limits.CHUNK + 5)
    opened = []
    monkeypatch.setattr(limits, "KEPT", limits.CHUNK)
    assert limits.unpacked(lambda: opened.append(1) or io.BytesIO(content), "x", 9) == content
    assert len(opened) == 2
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", str(len(content) - 1))
    with pytest.raises(mpf.InputError, match="cap"):
        limits.unpacked(lambda: opened.append(1) or io.BytesIO(content), "x", 9)
    assert len(opened) == 3


def test_a_zip_directory_that_states_too_small_a_size_is_not_believed(monkeypatch):
    np.savez_compressed("lie.npz", x=np.zeros((1000, 2000), np.uint8))
    content = Path("lie.npz").read_bytes()
    stated = struct.pack("<I", 2_000_128)
    assert content.count(stated) >= 1
    Path("lie.npz").write_bytes(content.replace(stated, struct.pack("<I", 1000)))
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", "1MB")
    with pytest.raises(mpf.InputError, match=r"lie\.npz"):
        read_table("lie.npz")


@pytest.mark.parametrize("shape", [(10**12, 3), (2**62, 2**62), (41, 6)])
def test_an_npy_header_is_compared_with_what_follows(shape):
    np.save("rows.npy", BITS)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"shape": shape, "fortran_order": False, "descr": "<f8"})
    Path("lie.npy").write_bytes(header.getvalue() + BITS.tobytes())
    with pytest.raises(mpf.InputError, match=r"lie\.npy claims an array of shape .* but holds 1,920: it is cut off or altered"):
        read_table("lie.npy")


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("4k", 4000), ("7b", 7), ("3MiB", 3 * 2**20)]
)
def test_the_cap_is_read_from_the_environment(text, size, monkeypatch):
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", text)
    assert limits.max_bytes() == size


@pytest.mark.parametrize("text", ["lots", "-1", "0", "2XB", "nan"])
def test_a_cap_that_is_no_size_is_refused(text, monkeypatch):
    monkeypatch.setenv("MINPROBFLOW_MAX_BYTES", text)
    with pytest.raises(mpf.InputError, match=r"MINPROBFLOW_MAX_BYTES is .*such as 2000000000, 2GB"):
        limits.max_bytes()


def test_the_default_cap_is_4_gib_or_half_of_the_memory(monkeypatch):
    monkeypatch.delenv("MINPROBFLOW_MAX_BYTES", raising=False)
    monkeypatch.setattr(limits, "_memory", lambda: 2**40)
    assert limits.max_bytes() == 4 * 2**30
    monkeypatch.setattr(limits, "_memory", lambda: 2**30)
    assert limits.max_bytes() == 2**29


def test_data_beyond_the_memory_are_refused_with_their_size(monkeypatch):
    np.save(name := "rows.npy", BITS)
    monkeypatch.setattr(files, "_read", lambda *_: np.empty(2**55))
    with pytest.raises(
        mpf.InputError,
        match=rf"rows\.npy \({os.path.getsize(name):,} bytes\) does not fit in memory \(Unable to allocate .*iB.*more memory",
    ):
        mpf.load_dataset(name)
