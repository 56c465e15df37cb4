"""What a data set is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8


class Dataset(NamedTuple):
    """Binary rows in three parts. Choose on `valid`, report on `test`."""

    name: str
    train: UInt8[np.ndarray, "train D"]
    valid: UInt8[np.ndarray, "valid D"]
    test: UInt8[np.ndarray, "test D"]
    image_shape: tuple[int, int] | None
    source: str
