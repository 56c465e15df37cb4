"""Where chains start whose samples of the model are to be trusted: from several places.

If chains from all these places agree in the end they have mixed. Noise matters: a model can have most of its mass far from the
data and from their base, in a wide region that uniform noise falls into (CD-1 leaves such regions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Key, Num

from ..models.base import Latent, Model
from .ais import Side, base_samples

Draw = Callable[[int], np.ndarray]
"""as many states as asked for"""


def starts(
    key: Key[Array, ""], model: Model, lows: dict[str, Side], base: Model, rows: np.ndarray | None, chains: int
) -> dict[str, Num[np.ndarray, "n D"]]:
    """At the ends of AIS chains by weight, and where `places` says."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    ends: dict[str, Draw] = {f"AIS from {path}": partial(_ends, rng, low) for path, low in lows.items()}
    return places(key, model, base, rows, chains, ends, rng)


def places(
    key: Key[Array, ""],
    model: Model,
    base: Model,
    rows: np.ndarray | None,
    chains: int,
    more: Mapping[str, Draw] | None = None,
    rng: np.random.Generator | None = None,
) -> dict[str, Num[np.ndarray, "n D"]]:
    """At data (or the base), at noise in either layer, and at `more` places; about as many chains each."""
    keys = jax.random.split(key, 3)
    rng = rng or np.random.default_rng(np.asarray(jax.random.key_data(key)))
    named: dict[str, Draw] = dict(more or {})
    if rows is None:
        named["base"] = lambda n: base_samples(keys[0], base, n)
    else:
        named["data"] = lambda n: rows[rng.integers(len(rows), size=n)]
    named["noise"] = lambda n: np.asarray(model.space.noise(keys[1], n))
    if isinstance(model, Latent):
        hidden = model.transposed().space
        named["hidden noise"] = lambda n: np.asarray(model.sample_visible(keys[2], hidden.random_rows(rng, n)))
    sizes = [len(part) for part in np.array_split(np.arange(chains), len(named))]
    return {name: start(size).astype(model.space.dtype) for (name, start), size in zip(named.items(), sizes, strict=True)}


def _ends(rng: np.random.Generator, low: Side, n: int) -> Num[np.ndarray, "n D"]:
    p = np.exp(low.annealed.log_weights - low.annealed.log_weights.max())
    return low.annealed.states[rng.choice(len(p), size=n, p=p / p.sum())]
