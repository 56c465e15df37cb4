"""The conservative sampling-based log-likelihood (Bengio, Yao & Cho 2013), as the paper uses it.

    CSL(v) = log mean_h p(v | h)   over hidden samples h of Markov chains of the model

A lower bound in expectation: with too few or badly mixed samples it is too low, never (on average) too high.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from .. import native
from ..arguments import LARGEST, choice, whole
from ..errors import InputError
from ..models.base import Latent, Model
from ..random_bits import as_key, subkey
from ..samplers import block_gibbs
from ..samplers.engine import run
from ..units import Binary
from .base import MAX_CHAINS, LikelihoodEstimator, Progress, Rows, phase
from .estimate import Estimate, Verdict
from .rows import over_examples
from .verdict import Z95

GROUPS = 10  # of chains, for the jackknife
ENTRIES = 200_000  # examples x chains at a time, whatever their numbers


@dataclass(frozen=True)
class CSL(LikelihoodEstimator):
    """The conservative sampling-based log-likelihood. The number of hidden samples is chains x samples."""

    name: ClassVar[str] = "csl"

    chains: int = 100
    """number of chains"""
    samples: int = 100
    """kept from each chain"""
    burn_in: int = 1000
    """steps before the first one is kept"""
    thinning: int = 10
    """steps between two kept samples"""
    start: str = "noise"
    """noise or data"""

    def __post_init__(self) -> None:
        for name, low, high in (("chains", 2, MAX_CHAINS), ("samples", 1, LARGEST), ("burn_in", 0, LARGEST), ("thinning", 1, LARGEST)):
            object.__setattr__(self, name, whole(name, getattr(self, name), low, high))
        choice("start", self.start, ("noise", "data"))

    def log_likelihood(
        self, model: Model, rows: Rows, key: Key[Array, ""], base_data: Rows | None = None, progress: Progress | None = None
    ) -> Estimate:
        result = csl(model, rows, self, key, base_data, phase(progress, "CSL"))
        if not np.isfinite(result.value):
            raise InputError("CSL is not finite: the model's weights are too large for single precision")
        reasons = ["CSL is a lower bound: the likelihood is at or above it"]
        if self.start == "data" and base_data is None:
            reasons = ["CSL is a lower bound only once the chains have forgotten the rows they started at, those evaluated: pass base_data"]
        verdict: Verdict = "wide"
        if result.ess < 5:
            reasons.append(f"few effective samples ({result.ess:.1f} for half of the examples): it may be many nats too low, add samples")
            verdict = "do not trust"
        settings = {**dataclasses.asdict(self), "chains": n_chains(self), **over_examples(result.per_example)}
        lower = result.value - Z95 * result.stderr
        return Estimate(result.value, result.stderr, lower, float("inf"), result.ess, "csl", verdict, settings, tuple(reasons))


class Result(NamedTuple):
    """Mean over the examples, its jackknife error over groups of chains, and the median effective number of samples."""

    value: float
    stderr: float
    ess: float
    per_example: Float[np.ndarray, " n"]


def csl(
    model: Model,
    rows: Num[np.ndarray, "n D"],
    settings: CSL,
    key: Key[Array, ""],
    start_rows: Num[np.ndarray, "m D"] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """CSL of every row under one set of hidden samples; chains that start at data start at `start_rows`."""
    if not isinstance(model, Latent):
        raise InputError(f"CSL needs a hidden layer, {type(model).__name__} has none: use exact or ais")
    key_start, key_run = jax.random.split(as_key(key))
    groups = min(GROUPS, settings.chains)
    chains = n_chains(settings)
    if settings.start == "data":
        begin = rows if start_rows is None else start_rows
        chosen = np.random.default_rng(np.asarray(jax.random.key_data(key_start))).integers(len(begin), size=chains)
        v = jnp.asarray(begin[chosen]).astype(float)
    else:
        v = model.space.noise(key_start, chains)
    n_rows = max(ENTRIES // chains, 1)
    sums = np.full((2, groups, len(rows)), -np.inf)  # log of the sums of p(v|h) and of its square
    steps = settings.burn_in
    for i in range(settings.samples):
        v, h = _advance(jax.random.fold_in(key_run, i), model, v, jnp.asarray(steps))
        steps = settings.thinning
        for first in range(0, len(rows), n_rows):
            part = slice(first, first + n_rows)
            new = _log_conditionals(model, h.reshape(groups, -1, h.shape[-1]), jnp.asarray(rows[part]))
            sums[:, :, part] = np.logaddexp(sums[:, :, part], np.asarray(new, np.float64))
        if progress:
            progress((i + 1) / settings.samples)
    return _summary(sums, chains * settings.samples)


def n_chains(settings: CSL) -> int:
    """Chains that are run: whole groups for the jackknife."""
    groups = min(GROUPS, settings.chains)
    return -(-settings.chains // groups) * groups


def _summary(sums: Float[np.ndarray, "2 groups n"], count: int) -> Result:
    first, second = np.logaddexp.reduce(sums, axis=1)
    per_example = first - np.log(count)
    groups = sums.shape[1]
    left_out = []
    for g in range(groups):
        kept = np.logaddexp.reduce(np.delete(sums[0], g, axis=0), axis=0)
        left_out.append(np.mean(kept - np.log(count * (groups - 1) / groups)))
    stderr = float(np.sqrt((groups - 1) * np.var(left_out)))
    return Result(float(per_example.mean()), stderr, float(np.median(np.exp(2 * first - second))), per_example)


@jax.jit
def _advance(key: Key[Array, ""], model: Latent, v: Float[Array, "chains D"], steps: Int[Array, ""]) -> tuple[Array, Array]:
    v = run(key, model, block_gibbs.init(key, model, v), steps, block_gibbs).v
    return v, model.sample_hidden(subkey(key, steps), v)


@jax.jit
def _log_conditionals(model: Latent, h: Float[Array, "groups chains H"], rows: Num[Array, "n D"]) -> Float[Array, "2 groups n"]:
    """log sum_h p(v|h) and log sum_h p(v|h)^2 over the chains of each group."""
    logits = model.visible_logits(h)
    by_feature = logits.reshape(h.shape[0] * h.shape[1], -1).T
    features = model.space.features(rows.astype(logits.dtype)).reshape(rows.shape[0], -1)
    products = native.product(features, by_feature) if isinstance(model.space, Binary) else features @ by_feature
    log_p = products.reshape(-1, *h.shape[:2]) - model.space.log_norm(logits)[None]
    largest = jnp.max(log_p, -1)
    top = jnp.where(jnp.isfinite(largest), largest, 0)
    p = jnp.exp(log_p - top[..., None])
    return jnp.stack([(top + jnp.log(jnp.sum(p, -1))).T, (2 * top + jnp.log(jnp.sum(p**2, -1))).T])
