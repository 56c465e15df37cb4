"""Spikes of 50 neurons: the example recording of the maxent_toolbox (Maoz & Schneidman), a row a time bin."""

from __future__ import annotations

import io

import numpy as np

from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .folder import locate

FILE = SourceFile("spikes/maxent_example50.npz", "22078615fb62c491339a146e92870e6362aa5502eac6ceb9cb98eab45ea52d88")


def load() -> Dataset:
    """40,000 time bins in the order of the recording (neighbouring bins are alike, so they are not shuffled): 30,000 / 5,000 / 5,000."""
    with np.load(io.BytesIO(locate(FILE).read_bytes())) as arrays:
        spikes = np.asarray(arrays["spikes"], np.uint8)
    source = "spikes50 of example50.mat in orimaoz/maxent_toolbox (MIT licence); 1 is a spike"
    return in_three("spikes", np.split(spikes, [30_000, 35_000]), None, source, [FILE])


register(DatasetSpec("spikes", "spikes of 50 neurons, a row a time bin", (30_000, 5_000, 5_000), 50, (FILE,), load))
