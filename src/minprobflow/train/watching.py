"""The likelihood chains of a training state: begun, carried along after each epoch, and what they say."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Num

from .. import native
from ..random_bits import subkey
from .config import Config
from .epoch import WATCH
from .progress import Figure
from .state import TrainState
from .tracking import begin, follow, gone_back, steps_of, tracked_partition

Tree = TypeVar("Tree")
NAMES = ("log_partition", "log_partition_stderr", "log_partition_reverse")


def watched(state: TrainState, rows: np.ndarray, config: Config, replicas: bool) -> TrainState:
    """With chains that track the likelihood from here on, or without any, as the configuration says."""
    if not config.likelihood_chains:
        return state._replace(path=None, tracked=None)
    with native.using(config.kernels):
        each = replicas_of((state.key, state.result), replicas)
        begun = [begin(subkey(key, WATCH), model, rows, config.likelihood_chains) for key, model in each]
    return state._replace(path=state.model if state.average is None else None, tracked=in_one(begun, replicas))


def in_one(parts: list[Tree], several: bool) -> Tree:
    """Replicas along a first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts) if several else parts[0]


def replicas_of(tree: Tree, several: bool) -> list[Tree]:
    """Each replica's part."""
    n = len(jax.tree.leaves(tree)[0]) if several else 1
    return [jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(n)] if several else [tree]


def watch(old: TrainState, new: TrainState, epoch: int, data: Num[jax.Array, "N D"]) -> tuple[TrainState, dict[str, Figure]]:
    """The state after an epoch, whose chains have followed the path; and log Z of its model, one entry per replica if there are several."""
    if old.tracked is None:
        return new, {}
    replicas = new.step.ndim > 0
    on_path, to_model = (jnp.asarray(steps) for steps in steps_of(epoch, len(data), old.tracked.chains))
    keys = [(jax.vmap(_key, (0, 0, None)) if replicas else _key)(new.key, new.step, i) for i in range(4)]
    tracked = follow(keys[0], old.tracked, old.followed, new.followed, on_path, replicas)
    tracked = tracked._replace(reverse=tracked.reverse + gone_back(keys[1], data, old.followed, new.followed, (on_path + 1) // 2, replicas))
    seen, reverse = tracked, tracked.reverse
    if new.path is not None:
        seen = follow(keys[2], tracked, new.path, new.model, to_model, replicas)
        reverse = tracked.reverse + gone_back(keys[3], data, new.path, new.model, (to_model + 1) // 2, replicas)
    groups = seen.by_group()
    found = [tracked_partition(*one) for one in zip(groups.reshape(-1, groups.shape[-1]), np.ravel(reverse).tolist(), strict=True)]
    values = [np.asarray(each).reshape(groups.shape[:-1]) for each in zip(*found, strict=True)]
    return new._replace(tracked=tracked), dict(zip(NAMES, values, strict=True))


def _key(key: jax.Array, step: jax.Array, number: int) -> jax.Array:
    return subkey(subkey(subkey(key, WATCH), step), number)
