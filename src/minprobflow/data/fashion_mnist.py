"""Fashion-MNIST: 50,000 / 10,000 / 10,000 images of 28x28, in MNIST's format."""

from __future__ import annotations

from typing import Literal

from .base import Dataset, DatasetSpec, register
from .loader_options import Seed
from .mnist import idx_files, load_idx

FILES = idx_files(
    "fashion-mnist",
    (
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    (
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
)


def load(binarise: Literal["threshold", "stochastic"] = "threshold", seed: Seed = 0) -> Dataset:
    """Thresholded at half intensity, or `binarise="stochastic"` with a seed.

    Args:
        binarise: 1 above half intensity ("threshold"), or with probability grey value / 255 ("stochastic").
        seed: of the stochastic binarisation.
    """
    return load_idx("fashion-mnist", FILES, binarise, seed, "the original IDX files of Fashion-MNIST")


register(DatasetSpec("fashion-mnist", "pieces of clothing, thresholded at half intensity", (50_000, 10_000, 10_000), 784, FILES, load))
