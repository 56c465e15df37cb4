"""log Z along a trajectory: replica exchange on a ladder of models, Bennett's ratio on each link, and a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..arguments import number, shown, whole
from ..errors import InputError
from ..models import Trajectory
from ..models.base import Model
from ..random_bits import as_key
from . import schedules
from .ais import forward
from .base import MAX_CHAINS, LogPartitionEstimator, Progress
from .checks import SHARE_OF_CHECKS, checked, passed
from .climb import ROUNDS, SIZES, Climb
from .estimate import Estimate
from .ladder_verdict import Found, judged
from .links import Links, measured
from .starts import places
from .verdict import Targets

PILOT_CHAINS, PILOT_BETAS = 50, 401
STEP = 1.0  # spread of log weights between neighbouring rungs of a scaled ladder: about half of the exchanges are accepted
WEAK = 0.25  # acceptance below which a rung is added
DIVIDED = 0.6  # a Crooks slope below this tells of columns on either side of a transition within the link
MOST_FOR_DIVIDED = 4  # times that rungs are added for that reason
FIRST_ROUNDS = 200  # before the first look
LOOKS = 1.4  # the next look is after this many times as many rounds
HOPELESS = 4  # give up when this many times the budget would be needed


@dataclass(frozen=True)
class AlongTrajectory(LogPartitionEstimator):
    """Replica exchange along a trajectory, with exact draws at its first rung."""

    name: ClassVar[str] = "trajectory"

    trajectory: Trajectory | None = None
    """the rungs; by default the model's weights are scaled"""
    chains: int = 60
    """number of columns, each a chain at all rungs"""
    steps: int = 1
    """sampler steps between exchanges"""
    target_stderr: float = 0.1
    """standard error of log Z to reach"""
    target_gap: float = 0.5
    """how far apart the two sides may be"""
    max_rungs: int = 256
    """rungs at which no more are added"""
    max_rounds: int = 10_000
    """rounds of exchange at which to stop"""
    max_seconds: float | None = None
    """stop when this time is used up, compilation and all; at least one look is made"""

    def __post_init__(self) -> None:
        if self.trajectory is not None and not isinstance(self.trajectory, Trajectory):
            raise InputError(f"trajectory is {shown(self.trajectory)}: pass an mpf.Trajectory, such as mpf.Trajectory.load(file)")
        few = "the error comes from the differences between columns, so it takes at least 10"
        checks: dict[str, Callable[[str, object], float]] = {
            "chains": partial(whole, low=10, high=MAX_CHAINS, hint=few),
            "steps": partial(whole, low=1),
            "max_rungs": partial(whole, low=2, high=SIZES[-1]),
            "max_rounds": partial(whole, low=ROUNDS),
            **dict.fromkeys(("target_stderr", "target_gap"), partial(number, above=0)),
        }
        if self.max_seconds is not None:
            checks["max_seconds"] = partial(number, above=0)
        for name, check in checks.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    def log_partition(self, model: Model, key: Key[Array, ""], base_data: object = None, progress: Progress | None = None) -> Estimate:
        begun, key = time.perf_counter(), as_key(key)
        rows = None if base_data is None else model.space.check(base_data, "base data")
        scaled = self.trajectory is None
        ladder = scaled_ladder(jax.random.fold_in(key, 0), model, rows) if self.trajectory is None else self.trajectory.ending_at(model)
        groups = places(jax.random.fold_in(key, 1), ladder.last, ladder[0], rows, self.chains)
        climb = Climb(jax.random.fold_in(key, 2), ladder, np.concatenate(list(groups.values())), self.steps)
        targets = Targets(self.target_stderr, self.target_gap)
        next_look, changed, refined = FIRST_ROUNDS, 0, 0
        while True:
            climb.advance()
            seconds = time.perf_counter() - begun
            out_of_time = self.max_seconds is not None and seconds * (1 + ROUNDS / climb.turn) > (1 - SHARE_OF_CHECKS) * self.max_seconds
            last = out_of_time or climb.turn >= self.max_rounds
            if progress:
                progress("exchange between rungs", min(climb.turn / self.max_rounds, 1.0))
            if climb.turn - changed < next_look and not last:
                continue
            since = changed + (climb.turn - changed) // 3 // ROUNDS * ROUNDS
            links = measured(climb.weights(since))
            if not last and self._refined(climb, links, refined):
                changed, next_look, refined = climb.turn, FIRST_ROUNDS, refined + 1
                continue
            found = Found(climb, links, since, [len(group) for group in groups.values()], scaled)
            estimate = judged(found, targets)
            if estimate.verdict == "trusted" or last or _hopeless(climb, changed, self.max_rounds):
                break
            next_look = int(LOOKS * (climb.turn - changed))
        if estimate.verdict != "trusted":
            used_up = "the time was used up" if out_of_time else "it was stopped"
            reason = f"{used_up} after {climb.turn:,} rounds" if last else f"given up after {climb.turn:,} rounds: more would not help"
            estimate = replace(estimate, warnings=(*estimate.warnings, reason))
        left = SHARE_OF_CHECKS * max(seconds, 1.0)
        samples = np.asarray(climb.state.v).astype(model.space.dtype)
        checks = checked(jax.random.fold_in(key, 3), model, samples, rows, left)
        how = {"chains": self.chains, "steps": self.steps, "seconds": time.perf_counter() - begun}
        estimate = passed(estimate, checks)
        return replace(estimate, settings={**how, **estimate.settings})

    def _refined(self, climb: Climb, links: Links, times: int) -> bool:
        """Whether rungs had to be added: where exchange is rare, or where columns are on either side of a transition."""
        divided = (links.slopes < DIVIDED) & (links.slopes + 4 * links.slope_errors < 1) if times < MOST_FOR_DIVIDED else False
        need = np.where(divided, links.acceptance / 10, links.acceptance)
        order = np.argsort(need)
        if need[order[0]] >= WEAK:
            return False
        room = min(self.max_rungs, SIZES[-1]) - len(climb.ladder)
        return climb.refine([int(i) for i in order][: max(room, 0)], int((need < WEAK).sum()))


def scaled_ladder(key: Key[Array, ""], model: Model, rows: np.ndarray | None) -> Trajectory:
    """From units with the data's means (or even noise) to the model, with rungs where a pilot run says that they are needed."""
    means = model.space.even_means() if rows is None else jnp.asarray(model.space.mean_features(rows))
    base = model.base(means.astype(float))
    betas = schedules.three_piece(PILOT_BETAS)
    lengths = np.sqrt(forward(key, model, base, betas, PILOT_CHAINS).annealed.variances)
    needed = 1 + int(np.ceil(lengths.sum() / STEP))
    n = next((size for size in SIZES if size >= needed), SIZES[-1])
    return Trajectory.along(model, base, schedules.adaptive(n, betas, lengths**2))


def _hopeless(climb: Climb, changed: int, max_rounds: int) -> bool:
    """Whether the states that the run began with leave too slowly: at their pace, not within several times the budget."""
    rounds = climb.turn - changed
    if rounds < 5 * FIRST_ROUNDS:
        return False
    before, now = (climb.unborn[turn] for turn in (changed + rounds // 2 // ROUNDS * ROUNDS, climb.turn))
    if now == 0:
        return False
    pace = np.log(before / now) / (rounds / 2)
    return bool(np.log(now * climb.state.born.size) > pace * HOPELESS * max_rounds)
