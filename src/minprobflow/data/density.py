"""Three of the sets that density estimators are compared on: nltcs and plants (Lowd & Davis 2010), dna (Van Haaren & Davis 2012).

The mirror has them as text; the data folder may hold them gzipped too.
"""

from __future__ import annotations

import gzip
from functools import partial

import numpy as np

from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .folder import is_present, locate

MIRROR = "https://raw.githubusercontent.com/arranger1044/DEBD/master/datasets/"
FOLDER = "density_estimation/"
SUMS = {  # sha256 of train, valid and test as text, then of the three gzipped
    "nltcs": (
        "e547a7aedad1dd2f7177030881ab1b92c7e24ae5464c71a0f1f89daecaf52b30",
        "93bbbf5c6febdc9bc6e5b5bfab636f4dc0685ab2896d24b23dd267794c3bfcf6",
        "f9ffa6b74b27dc03bee3203d157ee31079e80b13be40d0c0093d635c25aed523",
        "2be073001ac5cbde0f18b492b687d017be2b3b024061cc18471524d5713f58c1",
        "3b13ea28c59856aa885158900f2014929c2d92fafc4a4e46cc45fc4d7cbfa5ba",
        "8882faf41ca2a81aef8035125d11930d2a0cf6487e824c473881b25f0ab2764c",
    ),
    "plants": (
        "1fb1219ff94068d12a563f9e81f8889a1885f41e867884cff608669300c6848f",
        "47834ed318b2d74f48e4b083226ef47fd446d41986012ceae19d230574821b34",
        "95f53c033cd1d86467aec2610dc5bfe014534206c2da4919f73bcab246ab8755",
        "f4928404fed2bbe4dccc4c79eed8d569006c09d857faf4ccba85b4de573ccc42",
        "7a1a3714ffca4cd5c7974706b34110bfba1626d6a711b92224ecf0febfd1aa7b",
        "e6f9765e15a43c8d33dcdde19719fccced26375b8f164cfc18e3919dd37c0c66",
    ),
    "dna": (
        "bb8de0ca4b6ad9b610036b7a302962ebecd4b504354b14c02c7d0bee48d207d9",
        "4b0fc89cda5eaf5c75926e281afb6af99de194a546070d5b81b524ba251f4f3f",
        "fec3ae7b26804020a9c43c99828441c5e08bb76b23719368a74ad2b09af99100",
        "f4604d439ef34dab79e3a5ec3f1df32bcbe833be265b00ba257ad5ac1a7c4d3a",
        "e77e8cb650533e36c5d07ca3ca51e2120cb38d9bce6bfc58d585ffd9c145dced",
        "fd251fdfbc5f0456a9d3103bcac0c7da3b440ab80e739e1e19e93b8b0f6eb9df",
    ),
}


WIDTHS = {"nltcs": 16, "plants": 69, "dna": 180}
SIZES = {"nltcs": (16_181, 2_157, 3_236), "plants": (17_412, 2_321, 3_482), "dna": (1_600, 400, 1_186)}
ABOUT = {
    "nltcs": "what elderly people can no longer do by themselves, from a survey",
    "plants": "in which states and provinces a plant grows",
    "dna": "60 letters of DNA around a splice site, 3 bits each",
}


def files(name: str) -> tuple[tuple[SourceFile, ...], tuple[SourceFile, ...]]:
    """The three parts as text, and gzipped."""
    texts = [f"{name}.{part}.data" for part in ("train", "valid", "test")]
    sums = SUMS[name]
    plain = [SourceFile(f"{FOLDER}{text}", s, (f"{MIRROR}{name}/{text}",)) for text, s in zip(texts, sums[:3], strict=True)]
    packed = [SourceFile(f"{FOLDER}{text}.gz", s) for text, s in zip(texts, sums[3:], strict=True)]
    return tuple(plain), tuple(packed)


def load(name: str) -> Dataset:
    """The published parts, rows in the order of the files."""
    plain, packed = files(name)
    chosen = packed if all(map(is_present, packed)) else plain
    parts = []
    for file in chosen:
        content = locate(file).read_bytes()
        text = gzip.decompress(content) if chosen is packed else content
        bits = np.frombuffer(text, np.uint8)[::2] - ord("0")  # "0,1,...,0\n": every second byte is a digit
        parts.append(bits.reshape(-1, WIDTHS[name]))
    return in_three(name, parts, None, f"{name} of arranger1044/DEBD, published split", chosen)


for _name in SUMS:
    _plain, _packed = files(_name)
    register(DatasetSpec(_name, ABOUT[_name], SIZES[_name], WIDTHS[_name], _plain, partial(load, _name), (_packed,)))
