"""Hostile files: each is refused in one sentence or read rightly; nothing in it is executed, and none takes the memory."""

from __future__ import annotations

import dataclasses
import gzip
import io
import itertools
import json
import os
import pickle
import random
import resource
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .cases import GOOD, OTHER, SILENT, Case, Outcome, fingerprint, watched

LIMIT = 60.0
CAP = 32 * 2**20  # bytes that a packed file may unpack to
ROOM = 256 * 2**20  # bytes that reading one file may add
BITS = np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
KINDS = ("model", "array", "text", "packed", "idx", "fasta", "toml", "run")
REFUSED = object()
"""the truth about a file that means nothing"""


class Hostile(NamedTuple):
    """A file: its name, its bytes, and what it holds if it is to be read at all."""

    label: str
    name: str
    content: bytes | Callable[[], bytes]  # a function where it takes time to make
    truth: Any = REFUSED
    option: str = ""


def shards() -> list[str]:
    """Names of the parts."""
    return list(KINDS)


def prepare(work: Path) -> None:
    """Nothing to do."""


def cases(shard: str, seed: int, work: Path) -> Iterator[Case]:
    """The cases of a shard."""
    os.environ["MINPROBFLOW_MAX_BYTES"] = str(CAP)
    rng = random.Random(f"{shard} {seed}")
    read = READERS[shard]
    with tempfile.TemporaryDirectory(dir=work, prefix="scratch-") as scratch:
        marker = Path(scratch) / "executed"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for file in GENERATORS[shard](rng, marker):
            yield Case(f"{shard}: {file.label}", lambda file=file: _try(file, read, Path(scratch), marker))


def _try(file: Hostile, read: Callable[[Path, str], Any], scratch: Path, marker: Path) -> Outcome:
    path = scratch / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = file.content if isinstance(file.content, bytes) else file.content()
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seen = watched(lambda: read(path, file.option))
    path.unlink()
    if marker.exists():
        marker.unlink()
        return Outcome(OTHER, "code in the file was executed")
    if isinstance(seen, Outcome):
        return seen
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if grown > ROOM + 20 * len(content) and not path.name.endswith((".toml", ".json")):  # settings are tried by training
        return Outcome(OTHER, f"reading it took {grown / 2**20:.0f} MB")
    if seen.refusal is not None:
        return Outcome(GOOD if len(seen.refusal) < 2000 else OTHER, seen.refusal[:300])
    if file.truth is REFUSED:
        return Outcome(SILENT, f"read as {str(seen.value)[:200]!r}, expected a refusal")
    same = _plain(seen.value) == _plain(file.truth)
    return Outcome(GOOD if same else SILENT, "" if same else f"read as {str(seen.value)[:200]!r}, expected {str(file.truth)[:200]!r}")


def _plain(value: Any) -> Any:
    """Numbers by value, whatever their type."""
    if isinstance(value, np.ndarray):
        return value.shape, [repr(float(x)) for x in value.ravel()]
    return value if isinstance(value, str) else fingerprint(value)


class _Execute:
    """Unpickled, it leaves a file."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


# ---- readers


def _read_model(path: Path, _: str) -> Any:
    import minprobflow as mpf

    model = mpf.load(path)
    return fingerprint(model)


def _read_table(path: Path, option: str) -> Any:
    from minprobflow.data.files import read_table

    return read_table(f"{path}{option}")


def _read_dataset(path: Path, option: str) -> Any:
    """All rows, in the order of the file."""
    from minprobflow.data import load_dataset

    data = load_dataset(str(path), split=(1.0, 0.0, 0.0), **(json.loads(option) if option else {}))
    rows = np.concatenate([data.train, data.valid, data.test])
    return rows[np.lexsort(rows.T[::-1])]


def _read_fasta(path: Path, _: str) -> Any:
    from minprobflow.data.fasta import read_fasta

    return read_fasta(path).rows


def _read_toml(path: Path, _: str) -> Any:
    from minprobflow.train import Config

    return _checked(Config.read(str(path)), path)


def _read_run(path: Path, _: str) -> Any:
    from minprobflow.runs import RunFolder

    return _checked(RunFolder(path.parent).read_config(), path)


def _checked(settings: Any, path: Path) -> str:
    """Settings are refused when they are read or when training begins."""
    from minprobflow.runs import train_run

    out = path.parent / "out"
    try:
        train_run(dataclasses.replace(settings, epochs=min(settings.epochs, 1)), out)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return repr(settings)


READERS: dict[str, Callable[[Path, str], Any]] = {
    "model": _read_model,
    "array": _read_table,
    "text": _read_dataset,
    "packed": _read_table,
    "idx": _read_table,
    "fasta": _read_fasta,
    "toml": _read_toml,
    "run": _read_run,
}


# ---- model files


def _tensor_file(header: Any, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", (len(text) if length is None else length) % 2**64) + text + body


def _models(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    import minprobflow as mpf
    from minprobflow.models.files import to_bytes

    model = mpf.BernoulliRBM.init(0, 4, 3, tau=2.0)
    good = to_bytes(model)
    truth = fingerprint(mpf.models.files.from_bytes(good))
    n = int.from_bytes(good[:8], "little")
    header, body = json.loads(good[8 : 8 + n]), good[8 + n :]
    for length in (0, 1, n - 1, n + 1, n + len(body), 2**31, 2**40, 2**63 - 1, 2**64 - 1):
        yield Hostile(f"header length {length}", "m.safetensors", _tensor_file(good[8 : 8 + n], body, length))
    for junk in (b"", b"\0", b"\0" * 8, b"\0" * 100, b"junk", b"\xff" * 64, pickle.dumps(_Execute(marker)), b"PK\3\4" + bytes(60)):
        yield Hostile(f"junk {junk[:8]!r}", "m.safetensors", junk)
    for text in (
        b"{}",
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"{" * 3000,
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b'{"\xff":1}',
        b'{"__metadata__":NaN}',
        b" " * 2_000_000,
    ):
        yield Hostile(f"header {text[:12]!r} of {len(text)} bytes", "m.safetensors", _tensor_file(text, body))
    own = header["__metadata__"]
    values = (
        None,
        1,
        [],
        "x",
        {"a": {}},
        "[" * 50_000,
        "²",
        "٣",
        "-1",
        "1e400",
        "NaN",
        "Infinity",
        "true",
        "{}",
        '"x"',
        "\0",
        "1" * 5000,
        "2.0 ",
    )
    for field, value in itertools.product((*sorted(own), "__metadata__"), values):
        changed = json.loads(json.dumps(header))
        if field == "__metadata__":
            changed[field] = value
        else:
            changed[field if field in changed else "__metadata__"][field] = value
        yield Hostile(f"metadata {field} is {str(value)[:12]!r}", "m.safetensors", _tensor_file(changed, body), truth)
    for field in sorted(own):
        changed = json.loads(json.dumps(header))
        del changed["__metadata__"][field]
        kept = {"tau": REFUSED}.get(field, truth)
        yield Hostile(f"metadata without {field}", "m.safetensors", _tensor_file(changed, body), kept)
    for key, value in itertools.product(
        ("dtype", "shape", "data_offsets"),
        (
            None,
            [],
            "F32",
            "I64",
            "BF16",
            "F64",
            "BOOL",
            "F8_E5M2",
            [0],
            [2**62, 4],
            [-1, 3],
            [4, 3],
            [0, 2**40],
            [48, 0],
            [1.5, 2],
            ["4", "3"],
        ),
    ):
        changed = json.loads(json.dumps(header))
        changed["weights"][key] = value
        yield Hostile(f"weights with {key} {value}", "m.safetensors", _tensor_file(changed, body), truth)
    twice = good[8 : 8 + n].replace(b'"tau":"2.0"', b'"tau":"2.0","tau":"3.0"')
    yield Hostile("tau given twice", "m.safetensors", _tensor_file(twice, body), truth)
    twice = good[8 : 8 + n].rstrip()[:-1] + b',"weights":' + json.dumps(header["weights"]).encode() + b"}"
    yield Hostile("weights given twice", "m.safetensors", _tensor_file(twice, body), truth)
    yield Hostile("bytes after the end", "m.safetensors", good + b"\0", truth)
    yield Hostile("half", "m.safetensors", good[: len(good) // 2])
    for _ in range(20):
        i = rng.randrange(len(good))
        yield Hostile(f"bytes {i} to {i + 4} random", "m.safetensors", good[:i] + rng.randbytes(4) + good[i + 4 :], truth)


# ---- arrays


def _npy(array: Any, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def _npy_header(header: str, body: bytes = b"", version: bytes = b"\1\0") -> bytes:
    text = header.encode("latin-1") + b"\n"
    length = struct.pack("<H", len(text)) if version == b"\1\0" else struct.pack("<I", len(text))
    return b"\x93NUMPY" + version + length + text + body


def _npz(**entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _arrays(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    good = _npy(BITS)
    yield Hostile("a good array", "a.npy", good, BITS)
    yield Hostile("a pickled object", "a.npy", _npy(np.array([[_Execute(marker)]], object), True))
    yield Hostile("a bare pickle", "a.npy", pickle.dumps(_Execute(marker)))
    yield Hostile("a bare pickle in an npz", "a.npz", _npz(**{"x.npy": pickle.dumps(_Execute(marker))}))
    yield Hostile("a pickled array in an npz", "a.npz", _npz(**{"x.npy": _npy(np.array([[_Execute(marker)]], object), True)}))
    descriptions = (
        "'|O'",
        "'<f8'",
        "'|V1000000000'",
        "'<U1000000000'",
        "'|S5'",
        "'<c16'",
        "'<M8[ns]'",
        "[('a','<f4'),('b','O')]",
        "'nonsense'",
        "1",
        "None",
        "'<f16'",
        "__import__('os')",
    )
    shapes = ("(2, 3)", "(4000000000, 4000000000)", "(-1, 3)", "(2,)", "()", "(0, 3)", "(1, 1000000000000)", "'x'", "(2.5, 3)", "(" * 300)
    for description in descriptions:
        yield Hostile(
            f"descr {description}", "a.npy", _npy_header(f"{{'descr': {description}, 'fortran_order': False, 'shape': (2, 3)}}", bytes(6))
        )
    for shape in shapes:
        for body in (bytes(6), b"\1" * 48):
            header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}"
            truth = np.frombuffer(body[:6], np.uint8).reshape(2, 3) if shape == "(2, 3)" else REFUSED
            yield Hostile(f"shape {shape[:20]} before {len(body)} bytes", "a.npy", _npy_header(header, body), truth)
    for version in (b"\2\0", b"\3\0", b"\x09\0", b"\xff\xff"):
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}"
        truth = BITS if version in (b"\2\0", b"\3\0") else REFUSED
        yield Hostile(f"format version {version!r}", "a.npy", _npy_header(header, BITS.tobytes(), version), truth)
    for length in range(0, len(good), 9):
        yield Hostile(f"cut off after {length} bytes", "a.npy", good[:length])
    for suffix in (".npz", ".mat", ".csv", ".txt", ".idx", ".npy.gz", ".data", ".zip", "", ".npy:x"):
        yield Hostile(f"an npy file named {suffix!r}", f"a{suffix}", good)
    one = _npz(**{"x.npy": good})
    yield Hostile("a good npz", "a.npz", one, BITS)
    yield Hostile("a missing key", "a.npz", one, REFUSED, ":y")
    yield Hostile("a key with a path", "a.npz", one, REFUSED, ":../x")
    yield Hostile("an entry with a path", "a.npz", _npz(**{"../../x.npy": good}), BITS)
    yield Hostile("an entry with an absolute path", "a.npz", _npz(**{"/tmp/x.npy": good}), BITS)
    yield Hostile("an entry without a name", "a.npz", _npz(**{".npy": good}), BITS)
    yield Hostile("no entries", "a.npz", _npz())
    yield Hostile("no array", "a.npz", _npz(**{"readme.txt": b"hello"}))
    yield Hostile("two arrays and no key", "a.npz", _npz(**{"x.npy": good, "y.npy": good}))
    for i in range(0, len(one), 7):
        changed = bytearray(one)
        changed[i] ^= 1 << rng.randrange(8)
        yield Hostile(f"an npz with byte {i} changed", "a.npz", bytes(changed), BITS)
    for value in (np.nan, np.inf, -np.inf):
        yield Hostile(f"an array of {value}", "a.mat", _npy(np.full((2, 3), value)))
    yield from _mats(rng)


def _mats(rng: random.Random) -> Iterator[Hostile]:
    import scipy.io

    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"x": BITS})
    good = buffer.getvalue()
    yield Hostile("a good mat file", "a.mat", good, BITS)
    for i in range(20):
        at = rng.randrange(len(good))
        yield Hostile(f"a mat file cut off after {at} bytes", f"{i}.mat", good[:at])
    for at in range(116, 150):  # its headers: of the numbers there is no checksum
        changed = bytearray(good)
        changed[at] = rng.randrange(256)
        yield Hostile(f"a mat file with byte {at} changed", "a.mat", bytes(changed), BITS)


# ---- text


def _texts(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    rows = np.array([[0, 1, 1], [1, 0, 0]])
    plain = "0,1,1\n1,0,0\n"
    same = {
        "plain": plain,
        "a byte order mark": "\ufeff" + plain,
        "Windows line ends": plain.replace("\n", "\r\n"),
        "old Mac line ends": plain.replace("\n", "\r"),
        "no last newline": plain[:-1],
        "empty lines between": "0,1,1\n\n\n1,0,0\n\n",
        "spaces": " 0 , 1 , 1 \n1,0 ,0\n",
        "tabs": plain.replace(",", "\t"),
        "blanks": plain.replace(",", " "),
        "decimals": plain.replace("1", "1.0").replace("0,", "0.0,"),
        "exponents": plain.replace("1", "1e0"),
        "signs": plain.replace("1", "+1"),
        "leading zeros": plain.replace("1", "0001"),
        "underscores": plain.replace("1", "1_0").replace("1_0", "1"),
        "a comment line": "# made by hand\n" + plain,
        "no separators": "011\n100\n",
        "semicolons": plain.replace(",", ";"),
        "a header": "a,b,c\n" + plain,
        "a header of numbers in quotes": '"1","2","3"\n' + plain,
        "a header with separators in quotes": '"a,b",";","c\t"\n' + plain,
        "a header with a hash": "a,b#,c\n" + plain,
        "a header without some names": ",,c\n" + plain,
        "answers": "no,yes,yes\nyes,no,no\n",
        "answers below a header": "a,b,c\nNo,YES,true\nYes,NO,false\n",
        "bools and numbers": "a,b,c\n0,true,1\n1,false,0\n",
        "everything in quotes": '"a","b","c"\n"0","1","1"\n"1","0","0"\n',
        "everything in quotes, with semicolons": '"a";"b";"c"\n"0";"1";"1"\n"1";"0";"0"\n',
        "an index": ",a,b,c\n0,0,1,1\n1,1,0,0\n",
        "an index of names in quotes": '"","a","b","c"\n"r1",0,1,1\n"r2",1,0,0\n',
        "two words": "a,b,c\nfemale,1,male\nmale,0,female\n",
    }
    for label, text in same.items():
        yield Hostile(label, "t.csv", text.encode(), rows)
        yield Hostile(f"{label} (txt)", "t.txt", text.encode(), rows)
    refused = {
        "empty": "",
        "blank": " \n\n ",
        "ragged": "0,1,1\n1,0\n",
        "more at the end": "0,1,1\n1,0,0,1\n",
        "a hash in a row": "0,1#,1\n1,0,0\n",
        "a hash at the end of a row": "0,1,1#\n1,0,0#1\n",
        "a hash in each row": "0,1#1\n1,0#0\n",
        "a header alone": "a,b,c\n",
        "a header of too few names": "a,b\n" + plain,
        "a header of too many names": "a,b,c,d\n" + plain,
        "a header with a number": "a,1,c\n" + plain,
        "a header without names": ",,\n" + plain,
        "a header with a quote that does not end": '"a,b,c\n' + plain,
        "a header of missing values": "NA,NA,NA\n" + plain,
        "a header twice": "a,b,c\na,b,c\n" + plain,
        "a header at the end": plain + "a,b,c\n",
        "two spellings of answers": "a,b,c\nyes,no,no\nn,yes,yes\n",
        "a spreadsheet's error": "a,b,c\n#N/A,1,1\n1,0,0\n",
        "percents": "a,b,c\n10%,1,1\n20%,0,0\n",
        "thousands in quotes": 'a,b,c\n"1,000",1,1\n"2,000",0,0\n',
        "numbers and words": "a,b,c\nx,1,1\n1,0,0\n",
        "numbers in quotes twice": '"2","3","4"\n"0","1","1"\n',
        "a name without a letter above words": "a,1,c\nyes,1,1\nno,0,0\n",
        "a missing value": "0,1,\n1,0,0\n",
        "only commas": ",,\n,,\n",
        "not a number": "0,nan,1\n1,0,0\n",
        "NA": "0,NA,1\n1,0,0\n",
        "infinity": "0,inf,1\n1,0,0\n",
        "minus infinity": "0,-inf,1\n1,0,0\n",
        "beyond floats": "0,1e999,1\n1,0,0\n",
        "full-width digits": "０,１,１\n１,０,０\n",  # noqa: RUF001
        "Arabic digits": "٠,١,١\n١,٠,٠\n",  # noqa: RUF001
        "superscripts": "0,²,1\n1,0,0\n",
        "a NUL byte": "0,1,1\n1,0\0,0\n",
        "NUL bytes only": "\0" * 100,
        "hexadecimal": "0x0,0x1,0x1\n0x1,0x0,0x0\n",
        "complex numbers": "0,1j,1\n1,0,0\n",
        "decimal commas": "0,5;1,5\n1,5;0,5\n",
        "HTML": "<html><body>404</body></html>",
        "JSON": "[[0,1,1],[1,0,0]]",
        "two": "0,1,2\n1,0,0\n",
        "negative": "0,-1,1\n1,0,0\n",
        "half": "0,0.5,1\n1,0,0\n",
        "nearly one": "0,0.9999999,1\n1,0,0\n",
        "a very long line": "0," * 200_000 + "2\n",
        "a very long number": "0,1," + "1" * 100_000 + "\n1,0,0\n",
        "a very long word": "x" * 1_000_000,
        "a line separator": "0,1,1\u20281,0,0\n2,2,2\n",
        "a form feed": "0,1,1\f1,0,0\f5,5,5\n",
    }
    for label, text in refused.items():
        yield Hostile(label, "t.csv", text.encode())
        yield Hostile(f"{label} (data)", "t.data", text.encode())
    for encoding in ("utf-16", "utf-32", "utf-16-le"):
        yield Hostile(encoding, "t.csv", plain.encode(encoding), rows)
    yield Hostile("Latin-1", "t.csv", "0,1,1\n1,é,0\n".encode("latin-1"))
    yield Hostile("binary", "t.csv", rng.randbytes(1000))
    for threshold in (0.5, 1e-30, -1.0, 1e30):
        truth = (rows > threshold).astype(np.uint8)
        yield Hostile(
            f"threshold {threshold}", "t.csv", plain.encode(), truth[np.lexsort(truth.T[::-1])], json.dumps({"threshold": threshold})
        )
        for bad in ("nan", "inf", "-inf"):
            content = f"0,{bad},1\n1,0,0\n".encode()
            yield Hostile(f"{bad} with threshold {threshold}", "t.csv", content, REFUSED, json.dumps({"threshold": threshold}))
    for bad in ("nan", "inf"):
        yield Hostile(f"{bad} as a real number", "t.csv", f"0,{bad},1\n1,0,0\n".encode(), REFUSED, json.dumps({"real": True}))
    for labels in ("first", "last", "middle", "", "1"):
        truth = {"first": rows[:, 1:], "last": rows[:, :-1], "": rows}.get(labels, REFUSED)
        if truth is not REFUSED:
            truth = truth[np.lexsort(truth.T[::-1])]
        yield Hostile(f"labels {labels!r}", "t.csv", plain.encode(), truth, json.dumps({"labels": labels}))


# ---- packed files


def _packed(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    plain = b"0,1,1\n1,0,0\n"
    good = gzip.compress(plain)
    yield Hostile("a good gz", "t.csv.gz", good, BITS)
    yield Hostile("gz in two members", "t.csv.gz", gzip.compress(plain[:6]) + gzip.compress(plain[6:]), BITS)
    yield Hostile("gz in gz", "t.csv.gz", gzip.compress(good))
    yield Hostile("gz with junk after it", "t.csv.gz", good + b"junk")
    yield Hostile("gz with zeros after it", "t.csv.gz", good + bytes(100), BITS)
    for n in range(len(good)):
        yield Hostile(f"gz cut off after {n} bytes", "t.csv.gz", good[:n])
    for n in range(10, len(good)):
        changed = bytearray(good)
        changed[n] ^= 1 << rng.randrange(8)
        yield Hostile(f"gz with byte {n} changed", "t.csv.gz", bytes(changed), BITS)
    for size in (2 * CAP, 16 * CAP):
        for name in ("t.csv.gz", "t-ubyte.gz", "t.txt.gz"):
            yield Hostile(f"a bomb of {size >> 20} MB in {name}", name, lambda size=size: _gzip_of_zeros(size))
        yield Hostile(f"an npz bomb of {size >> 20} MB", "t.npz", lambda size=size: _npz_of_zeros(size))
        label = f"an npz bomb of {size >> 20} MB that claims 1,000 bytes"
        yield Hostile(label, "t.npz", lambda size=size: _lying(_npz_of_zeros(size)))
    yield Hostile("a tar named gz", "t.csv.gz", b"ustar" * 100)
    yield Hostile("an empty gz", "t.csv.gz", gzip.compress(b""))


def _gzip_of_zeros(size: int) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        for _ in range(size >> 20):
            file.write(bytes(2**20))
    return buffer.getvalue()


def _npz_of_zeros(size: int) -> bytes:
    buffer = io.BytesIO()
    header = _npy_header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size // 1024}, 1024)}}")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w", force_zip64=True) as entry:
        entry.write(header)
        for _ in range(size >> 20):
            entry.write(bytes(2**20))
    return buffer.getvalue()


def _lying(archive: bytes) -> bytes:
    """An archive whose directory states a small size."""
    place = archive.rindex(b"PK\1\2") + 24
    return archive[:place] + struct.pack("<I", 1000) + archive[place + 4 :]


# ---- IDX


def _idx(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    good = b"\0\0\x08\2" + struct.pack(">II", 2, 3) + BITS.tobytes()
    yield Hostile("a good file", "t-ubyte", good, BITS)
    for n in range(len(good)):
        yield Hostile(f"cut off after {n} bytes", "t-ubyte", good[:n])
    for kind in range(16):
        truth = BITS if kind in (8, 9) else REFUSED
        yield Hostile(f"type {kind}", "t-ubyte", good[:2] + bytes([kind]) + good[3:], truth)
    for ndim in (0, 1, 3, 8, 9, 255):
        yield Hostile(f"{ndim} dimensions", "t-ubyte", good[:3] + bytes([ndim]) + good[4:])
    for shape in ((2**32 - 1, 2**32 - 1), (0, 3), (2, 0), (6, 1), (1, 6), (2**16, 2**16), (3, 3)):
        truth = BITS.reshape(shape) if shape in ((6, 1), (1, 6)) else REFUSED
        yield Hostile(f"shape {shape}", "t-ubyte", good[:4] + struct.pack(">II", *shape) + good[12:], truth)
    yield Hostile("more bytes than it says", "t-ubyte", good + b"\0")
    body = struct.pack(">6d", *([float("nan")] * 6))
    yield Hostile("a packed IDX file", "t-ubyte.gz", gzip.compress(good), BITS)
    yield Hostile("doubles", "t.idx", b"\0\0\x0e\2" + good[4:12] + struct.pack(">6d", *BITS.ravel().tolist()), BITS)
    yield Hostile("doubles, one too few", "t.idx", b"\0\0\x0e\2" + good[4:12] + body[:-8])
    for _ in range(10):
        yield Hostile("random bytes", "t-ubyte", rng.randbytes(rng.randrange(1, 60)))


# ---- FASTA


def _fastas(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    rows = np.array([[1, 2, 0], [1, 3, 2]])
    good = ">one\nAC-\n>two\nADC\n"
    same = {
        "plain": good,
        "Windows line ends": good.replace("\n", "\r\n"),
        "sequences over lines": ">one\nA\nC\n-\n>two\nAD\nC",
        "insertions": ">one\nAab.C-\n>two\nADC\n",
        "names that are alike": good.replace("two", "one"),
        "no names": ">\nAC-\n>\nADC\n",
        "unknown residues": ">one\nACX\n>two\nADC\n",
        "a name with HTML": good.replace("one", "<script>alert(1)</script>"),
        "a very long name": good.replace("one", "x" * 1_000_000),
        "blank lines": good.replace("\n", "\n\n"),
    }
    for label, text in same.items():
        yield Hostile(label, "a.fasta", text.encode(), rows)
        yield Hostile(f"{label}, packed", "a.fasta.gz", gzip.compress(text.encode()), rows)
    refused = {
        "empty": "",
        "blank": "\n\n",
        "a sequence without a name": "AC-\nADC\n",
        "names only": ">one\n>two\n",
        "an empty sequence": ">one\nAC-\n>two\n",
        "ragged": ">one\nAC-\n>two\nAD\n",
        "digits": ">one\nAC1\n>two\nADC\n",
        "a NUL byte": ">one\nAC\0\n>two\nADC\n",
        "Unicode letters": ">one\nACÅ\n>two\nADC\n",
        "Cyrillic letters": ">one\nAСC\n>two\nADC\n",  # noqa: RUF001
        "full-width letters": ">one\nＡＣ-\n>two\nADC\n",  # noqa: RUF001
        "only insertions": ">one\nacd\n>two\nacd\n",
        "HTML": "<html></html>",
    }
    for label, text in refused.items():
        yield Hostile(label, "a.fasta", text.encode())
    packed = gzip.compress(good.encode())
    for n in range(0, len(packed), 3):
        yield Hostile(f"packed and cut off after {n} bytes", "a.fasta.gz", packed[:n])
    yield Hostile("a bomb", "a.fasta.gz", lambda: _gzip_of_zeros(16 * CAP))
    yield Hostile("UTF-16", "a.fasta", good.encode("utf-16"))
    yield Hostile("random bytes", "a.fasta", rng.randbytes(500))


# ---- settings


def _config(**changed: Any) -> str:
    from minprobflow.train import Config

    return repr(Config.of(changed))


def _tomls(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    yield Hostile("plain", "c.toml", b"hidden = 7\n", _config(hidden=7))
    yield Hostile("empty", "c.toml", b"", _config())
    yield Hostile("a negative seed", "c.toml", b"seed = -1\n", REFUSED)
    yield Hostile("a byte order mark", "c.toml", "\ufeffhidden = 7\n".encode(), _config(hidden=7))
    yield Hostile("Windows line ends", "c.toml", b"hidden = 7\r\nseed = 3\r\n", _config(hidden=7, seed=3))
    for text in (
        "hidden",
        "hidden = ",
        "hidden = 7\nhidden = 8",
        "[hidden]\nx = 1",
        "hidden = 1979-05-27",
        "hidden = [7]",
        "hidden = '7'",
        "hidden = 7.0",
        "hidden = true",
        "hidden = nan",
        "hidden = -1",
        "hidden = 0",
        "epochs = -1",
        "batch_size = 0",
        "tau = nan",
        "tau = inf",
        "tau = -1.0",
        "learning_rate = nan",
        "learning_rate = 'x'",
        "seed = 1.5",
        "seed = 99999999999999999999999",
        "rule = ''",
        "rule = 'cd\\u0000'",
        "rule = '../cd'",
        "k = 0",
        "k = -1",
        "average = 'mean'",
        "average = 2.0",
        "optimizer = 'os.system'",
        "data = 7",
        "data_options = 'x'",
        "l1 = -1.0",
        "l2 = inf",
        "evaluate_every = 0",
        "min_ess = 2.0",
        "o = 'cos'",
        "централ = 1",
        '"" = 1',
        "a.b.c = 1",
        "x = " + "[" * 5000,
        "x = " + "{a=" * 5000,
        "#" * 1_000_000 + "\nx=1",
        "hidden = " + "9" * 5000,
        "\0",
    ):
        yield Hostile(text[:24].replace("\n", " "), "c.toml", text.encode())
    yield Hostile("Latin-1", "c.toml", "rule = 'é'".encode("latin-1"))
    yield Hostile("UTF-16", "c.toml", "hidden = 7".encode("utf-16"))
    yield Hostile("random bytes", "c.toml", rng.randbytes(300))


def _runs(rng: random.Random, marker: Path) -> Iterator[Hostile]:
    from minprobflow.train import Config

    for text in (
        "",
        "null",
        "[]",
        "1",
        '"x"',
        "{",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"hidden": NaN}',
        '{"hidden": Infinity}',
        '{"hidden": 1e999}',
        '{"hidden": "7"}',
        '{"hidden": null}',
        '{"hidden": [7]}',
        '{"hidden": true}',
        '{"hidden": 0}',
        '{"hidden": 7.5}',
        '{"epochs": -1}',
        '{"epochs": 1e300}',
        '{"batch_size": 0}',
        '{"tau": -1.0}',
        '{"tau": NaN}',
        '{"seed": 18446744073709551616}',
        '{"rule": "²"}',
        '{"rule": ""}',
        '{"rule": "cd", "o": "sign"}',
        '{"data": null}',
        '{"data_options": []}',
        '{"learning_rate": "fast"}',
        '{"average": "x"}',
        '{"optimizer": 3}',
        '{"unknown": 1}',
        '{"": 1}',
        '{"\\ud800": 1}',
        '{"rule": "\\ud800"}',
        '{"hidden": ' + "9" * 5000 + "}",
        '{"min_ess": -0.5}',
        '{"k": 0}',
        '{"l1": -1.0}',
        '{"centred": 1}',
    ):
        yield Hostile(text[:30], "run/config.json", text.encode())
    good = json.dumps({"run_format": 2, **Config.of(hidden=7).flat()})
    yield Hostile("plain", "run/config.json", good.encode(), _config(hidden=7))
    yield Hostile("a byte order mark", "run/config.json", ("\ufeff" + good).encode(), _config(hidden=7))
    yield Hostile("UTF-16", "run/config.json", good.encode("utf-16"), _config(hidden=7))
    yield Hostile("Latin-1", "run/config.json", b'{"rule": "\xe9"}')
    for _ in range(20):
        n = rng.randrange(len(good) - 2)
        yield Hostile(f"cut off after {n} bytes", "run/config.json", good[:n].encode())


GENERATORS: dict[str, Callable[[random.Random, Path], Iterator[Hostile]]] = {
    "model": _models,
    "array": _arrays,
    "text": _texts,
    "packed": _packed,
    "idx": _idx,
    "fasta": _fastas,
    "toml": _tomls,
    "run": _runs,
}
