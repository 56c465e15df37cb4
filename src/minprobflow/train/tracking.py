"""The likelihood of a model while it is trained: trajectory AIS, annealed importance sampling along the training run itself.

Beside the rule's particles there are chains that only watch. On the way from one epoch's parameters to the next one's, theta to theta',
a chain first makes a sampler's step under theta and then gains the log weight F(v; theta) - F(v; theta'). (In the other order the weights
are wrong.) The chains start at independent units, whose log Z is known, so at any time log Z = log Z_0 + log of the mean weight. The mean
weight is unbiased; its log is too low on average.

Single updates wander about at usual learning rates, and the weights' variance adds up over all that wandering, however often or seldom the
chains are weighed. So the chains follow a smooth path: the averaged model, or else a running mean of the parameters over about an epoch;
from epoch to epoch in small steps along a straight line. To look at the model itself, copies of them go on from the path to the model.

Chains are resampled within groups that know nothing of each other, so the spread of the groups' estimates is an honest error of what the
chains have seen. Mass that they never found is another matter. So in each epoch other chains start at the data, settle, and go the same
way back. Their figure is not a bound, because training rows are not samples of the model. It is a warning: where it is higher, the data are
in places that chains from independent units did not reach.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num

from ..likelihood.ais import base_log_partition, base_samples
from ..likelihood.annealing import anneal
from ..models.base import Model
from ..numerics import any_replica, effective_share, log_mean_exp
from ..random_bits import subkey, uniform
from ..samplers import default_kernel
from ..samplers.engine import run

GROUPS = 10
BRIDGE = 101  # temperatures from independent units to the model that training starts from
RENEW = 0.5  # resample a group when the effective share of its chains is below this
SHARE = 0.08  # least number of steps that all chains together make in an epoch, for each example of it
FEWEST = 10  # steps per epoch
FIRST = 25  # times as many in the first epoch
T95 = 2.26  # of Student's distribution with GROUPS - 1 degrees of freedom
FAR, WIDE = 0.3, 0.1  # standard errors from which the verdicts are "do not trust" and "wide"
OPEN, APART = 0.5, 2.0  # and the same for the distance between the two sides
RETURNING, SETTLE = 50, 20  # chains from the data, and steps that they make before they go back


class Tracked(NamedTuple):
    """Chains that are weighed along a training run."""

    v: Float[Array, "*replicas groups chains D"]
    log_weights: Float[Array, "*replicas groups chains"]  # gained since the group was last resampled
    log_partition: Float[Array, "*replicas groups"]  # log Z as the group had it then
    reverse: Float[Array, "*replicas"]  # log Z from the other side

    @property
    def chains(self) -> int:
        """How many there are, in all groups."""
        return self.log_weights.shape[-2] * self.log_weights.shape[-1]

    def by_group(self) -> Float[np.ndarray, "*replicas groups"]:
        """Each group's log Z."""
        gained = np.logaddexp.reduce(np.asarray(self.log_weights, np.float64), -1) - np.log(self.log_weights.shape[-1])
        return np.asarray(self.log_partition, np.float64) + gained


class TrackedPartition(NamedTuple):
    """log Z from groups of weighed chains.

    Few groups may hold most of the mean, so the interval is Student's; and it reaches further up, since the log of a mean is too low by
    about half its variance.
    """

    value: float
    stderr: float
    reverse: float  # by chains from the data that went back

    @property
    def lower(self) -> float:
        """Lower end of the 95% interval."""
        return self.value - T95 * self.stderr

    @property
    def upper(self) -> float:
        """Its upper end."""
        return max(self.value + T95 * self.stderr + GROUPS * self.stderr**2 / 2, self.reverse)

    @property
    def verdict(self) -> Literal["trusted", "wide", "do not trust"]:
        """How far to trust it: chains that lose the model disagree with each other, or with those from the data."""
        apart = self.reverse - self.value  # chains from the data that know of less mass tell nothing
        if not (self.stderr < FAR and apart < APART):
            return "do not trust"
        return "trusted" if self.stderr < WIDE and apart < OPEN else "wide"


def tracked_partition(by_group: Float[np.ndarray, " groups"], reverse: float) -> TrackedPartition:
    """log of the groups' mean Z; its error is that of the groups' Z relative to their mean, or of their logs if that is larger.

    >>> found = tracked_partition(np.log([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0, 0.98, 1.02]), reverse=0.1)
    >>> round(abs(found.value), 3), round(found.stderr, 3), found.verdict
    (0.0, 0.017, 'trusted')
    """
    value = float(np.logaddexp.reduce(by_group) - math.log(len(by_group)))
    spread = max(np.std(np.exp(by_group - value), ddof=1), np.std(by_group, ddof=1))
    return TrackedPartition(value, float(spread / math.sqrt(len(by_group))), float(reverse))


def begin(key: Key[Array, ""], model: Model, data: Num[np.ndarray, "N D"], chains: int) -> Tracked:
    """Exact draws of independent units with the data's means, annealed to the model that training starts from."""
    base = model.base(jnp.asarray(model.space.mean_features(data)).astype(float))
    annealed = anneal(subkey(key, 1), model, base, base_samples(subkey(key, 0), base, chains), np.linspace(0, 1, BRIDGE))
    log_weights = jnp.asarray(annealed.log_weights).astype(float).reshape(GROUPS, -1)
    states = jnp.asarray(annealed.states).astype(float).reshape(GROUPS, -1, model.space.size)
    tracked = Tracked(states, log_weights, jnp.full(GROUPS, base_log_partition(base), float), jnp.zeros(()))
    return tracked._replace(reverse=jnp.asarray(tracked_partition(tracked.by_group(), 0.0).value).astype(float))


def steps_of(epoch: int, examples: int, chains: int) -> tuple[int, int]:
    """In how many steps the chains follow the path in this epoch, and go from there to the model: few beside the epoch's own.

    The path moves most at first: the number of its steps falls like 1 / epoch.
    """
    per_epoch = max(FEWEST, round(SHARE * examples / chains))
    return max(per_epoch, FIRST * per_epoch // epoch), per_epoch


@partial(jax.jit, static_argnames="replicas")
def follow(key: Key[Array, "*replicas"], tracked: Tracked, before: Model, after: Model, steps: int | Array, replicas: bool) -> Tracked:
    """The chains at `after`, which were at `before`, in this many steps along the straight line."""
    if replicas:
        return jax.lax.map(lambda one: _followed(one[0], one[1], one[2], one[3], steps), (key, tracked, before, after))
    return _followed(key, tracked, before, after, steps)


def _followed(key: Key[Array, ""], tracked: Tracked, before: Model, after: Model, steps: int | Array) -> Tracked:
    def at(i: Array) -> Model:
        return jax.tree.map(lambda a, b: a + (i / steps).astype(a.dtype) * (b - a), before, after)

    return jax.lax.fori_loop(0, steps, lambda i, chains: weighed(subkey(key, i), chains, at(i), at(i + 1)), tracked)


@partial(jax.jit, static_argnames="replicas")
def gone_back(
    key: Key[Array, "*replicas"], data: Num[Array, "N D"], before: Model, after: Model, steps: int | Array, replicas: bool
) -> Float[Array, "*replicas"]:
    """log Z of `after` less that of `before`, by chains that start at the data, settle at `after` and go to `before`."""

    def one(key: Key[Array, ""], before: Model, after: Model) -> Float[Array, ""]:
        rows = jax.random.randint(subkey(key, 0), (RETURNING,), 0, data.shape[0])
        kernel = default_kernel(after)
        v = run(subkey(key, 1), after, kernel.init(key, after, data[rows].astype(float)), SETTLE, kernel).v
        start = Tracked(v.reshape(GROUPS, -1, v.shape[-1]), *(jnp.zeros(n) for n in ((GROUPS, RETURNING // GROUPS), GROUPS, ())))
        back = _followed(subkey(key, 2), start, after, before, steps)
        return -log_mean_exp(back.log_partition + jax.vmap(log_mean_exp)(back.log_weights))

    return jax.lax.map(lambda each: one(each[0], each[1], each[2]), (key, before, after)) if replicas else one(key, before, after)


def weighed(key: Key[Array, ""], tracked: Tracked, before: Model, after: Model) -> Tracked:
    """The chains after a step under `before`, with the weight that leads from there to `after`; resampled where that is due."""
    kernel, shape = default_kernel(before), tracked.v.shape
    moved = kernel.step(subkey(key, 0), before, kernel.init(key, before, tracked.v.reshape(-1, shape[-1])))[0].v
    gains = before.free_energy(moved) - after.free_energy(moved)
    heavier = tracked._replace(v=moved.reshape(shape), log_weights=tracked.log_weights + gains.reshape(shape[:-1]))
    due = jax.vmap(effective_share)(heavier.log_weights) < RENEW
    return jax.lax.cond(any_replica(jnp.any(due)), resampled, lambda key, chains, due: chains, subkey(key, 1), heavier, due)


def resampled(key: Key[Array, ""], tracked: Tracked, due: Bool[Array, " groups"]) -> Tracked:
    """In groups that are due, copies of the chains in proportion to their weights; what these amount to is kept in log Z."""
    chosen = jax.vmap(systematic)(uniform(key, tracked.log_partition), tracked.log_weights)
    copies = jnp.take_along_axis(tracked.v, chosen[..., None], 1)
    level = tracked.log_partition + jax.vmap(log_mean_exp)(tracked.log_weights)
    v, log_weights, log_partition = (
        jnp.where(due.reshape(-1, *[1] * (new.ndim - 1)), new, old)
        for new, old in zip((copies, jnp.zeros_like(tracked.log_weights), level), tracked[:3], strict=True)
    )
    return Tracked(v, log_weights, log_partition, tracked.reverse)


def systematic(u: Float[Array, ""], log_weights: Float[Array, " n"]) -> Int[Array, " n"]:
    """Which chains to copy: chain i as often as n w_i / sum w, rounded up or down, with one random number u in (0, 1) for all."""
    n = log_weights.shape[0]
    sums = jnp.cumsum(jnp.exp(log_weights - jnp.max(log_weights)))
    marks = (jnp.arange(n).astype(sums.dtype) + u) * (sums[-1] / n)
    return jnp.minimum(jnp.searchsorted(sums, marks, side="right"), n - 1)
