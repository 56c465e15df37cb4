"""Replica exchange on a ladder for as long as an estimate needs it, with rungs added where exchange is rare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..models import Trajectory
from ..models.base import Model
from ..samplers import ChainState, exchange
from ..samplers.engine import observe, trace
from ..samplers.exchange import Replicas, Round, placed
from .links import Weights, split

ROUNDS = 20  # in one compiled call
SIZES = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # of ladders: each size is compiled once
MOST_WORK = 60_000_000  # measurements kept


class Block(NamedTuple):
    """What `ROUNDS` rounds have measured."""

    turn: int  # the first of them
    work: Float[np.ndarray, "rounds chains rungs"]
    arrived: Int[np.ndarray, "rounds chains"]  # births of the states on the last rung
    replicas: Int[np.ndarray, "rounds rungs"]  # of the first column


class Climb:
    """A population of chains at all rungs, and what its last rounds have measured."""

    def __init__(self, key: Key[Array, ""], ladder: Trajectory, starts: Num[np.ndarray, "chains D"], steps: int):
        self.key, self.ladder, self.steps, self.turn = key, ladder, steps, 0
        self.state = placed(jnp.repeat(jnp.asarray(starts).astype(float)[:, None], len(ladder), 1))
        self.blocks: list[Block] = []
        self.unborn: dict[int, float] = {}
        self.thinned = 1

    def advance(self) -> None:
        """Make `ROUNDS` rounds."""
        key = jax.random.fold_in(self.key, self.turn)
        kernel = exchange(self.ladder, self.steps)
        self.state, seen = observe(key, self.ladder.last, self.state, ROUNDS, kernel, SEEN)
        if self.turn // ROUNDS % self.thinned == 0:
            self.blocks.append(Block(self.turn, *map(np.asarray, seen)))
        self.turn += ROUNDS
        self.unborn[self.turn] = float(np.mean(self.births() < 0))
        if sum(block.work.size for block in self.blocks) > MOST_WORK and len(self.blocks) > 20:
            self.blocks, self.thinned = self.blocks[::2], 2 * self.thinned

    def births(self) -> Int[np.ndarray, "chains rungs"]:
        """The round in which each state was drawn at rung 0; -1 where it was not."""
        return np.asarray(self.state.born)

    def remaining(self, since: int) -> float:
        """The mean share of states, from `since` on, that go back to where the run began and not to rung 0."""
        return float(np.mean([share for turn, share in self.unborn.items() if turn >= since]))

    def weights(self, since: int) -> list[Weights]:
        """The log weights of all links, measured in the rounds from `since` on."""
        links = [split(block.work, block.turn) for block in self.blocks if block.turn >= since]
        return [Weights(*(np.concatenate(parts) for parts in zip(*link, strict=True))) for link in zip(*links, strict=True)]

    def arrivals(self, since: int) -> int:
        """How many states that were drawn at rung 0 after `since` have reached the last rung."""
        seen = [block.arrived for block in self.blocks if block.turn >= since]
        births = np.concatenate(seen) if seen else np.zeros((0, 1), int)
        return sum(len(np.unique(column[column >= since])) for column in births.T)

    def paths(self, since: int, points: int = 100) -> list[list[int]]:
        """The rung of each replica of the first column, at up to `points` rounds."""
        seen = [block.replicas for block in self.blocks if block.turn >= since]
        if not seen:
            return []
        rungs = np.argsort(np.concatenate(seen), 1)
        return rungs[:: max(len(rungs) // points, 1)].T.tolist()

    def refine(self, links: Sequence[int], needed: int = 1) -> bool:
        """Add rungs in the middle of the first links, as many as are needed to give the ladder one of the usual sizes.

        Args:
            links: those that may be divided, the weakest first.
            needed: how many of them have to be.

        Returns:
            Whether there was room for more rungs.
        """
        if not links:
            return False
        size = next((size for size in SIZES if size >= len(self.ladder) + needed), SIZES[-1])
        chosen = sorted(links[: size - len(self.ladder)])
        finer = self.ladder.with_midpoints(chosen)
        if len(finer) != len(self.ladder) + len(chosen):
            return False
        below = np.searchsorted(np.asarray(chosen), np.arange(len(self.ladder)))  # how many new rungs are below each old one
        at = np.arange(len(self.ladder)) + below
        sources = np.zeros((2, len(finer)), int)
        sources[:, at] = np.arange(len(self.ladder))
        new = np.setdiff1d(np.arange(len(finer)), at)
        sources[:, new] = np.stack([sources[0, new - 1], sources[0, new + 1]])  # of its two neighbours in turn
        chains = self.state.states.shape[0]
        rows = jnp.asarray(sources[np.arange(chains) % 2])
        states, born = self.state.states[jnp.arange(chains)[:, None], rows], jnp.take_along_axis(self.state.born, rows, 1)
        self.ladder = finer
        self.state = placed(states)._replace(born=born, turn=self.state.turn)
        self.blocks, self.thinned = [], 1
        return True


def _seen(model: Model, state: ChainState, info: object) -> tuple[Array, Array, Array]:
    assert isinstance(state, Replicas) and isinstance(info, Round)
    return info.work, state.born[:, -1], state.replica[0]


SEEN = trace(_seen, ROUNDS)
