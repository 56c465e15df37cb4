"""`fit`: train a model on data with a rule."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Num

from .. import arguments, native
from ..arguments import flag, shown, whole
from ..errors import InputError, TrainingDiverged
from ..models import Trajectory
from ..models.base import Model, as_model
from ..numerics import all_finite
from ..progress import wanted
from ..random_bits import as_key
from ..rules import RuleSpec
from ..rules import rule as find_rule
from ..specs import documented
from .checkpoint import load_checkpoint, save_checkpoint
from .config import Config, Settings, fit_settings
from .control import climbed, climbing, controlled
from .epoch import arrangement, run_epoch, run_part, start
from .optimizer import Rate
from .progress import Figure, TrainingProgress
from .state import Metrics, TrainState
from .watching import in_one, watch, watched

MAX_SEEDS = 10_000


class Epoch(NamedTuple):
    """What a callback sees after each epoch."""

    number: int  # epochs done, from 1
    epochs: int
    model: Model  # the averaged model where averaging is on
    state: TrainState
    metrics: dict[str, Figure]  # means over the epoch's updates; one entry per replica where there are several
    seconds: float

    @property
    def trajectory(self) -> Trajectory | None:
        """Models kept on the way, where that is on and there is one seed; the last one is `model`."""
        return _trajectory(self.state)


class Fit(NamedTuple):
    """What training gives."""

    model: Model  # the averaged model where averaging is on; stacked along a first axis where there are several seeds
    state: TrainState
    history: list[dict[str, Figure]]  # per epoch: its number, the metrics' means, seconds
    trajectory: Trajectory | None = None  # models kept on the way, where that is on and there is one seed

    def __repr__(self) -> str:
        """Short: the arrays are in `model` and `state`."""
        n, replicas = len(self.history), np.size(self.state.step)
        done = f"{replicas} x " if np.ndim(self.state.step) else ""
        figures = ", ".join(f"{name} {np.mean(value):.4g}" for name, value in (self.history[-1] if n else {}).items() if name != "epoch")
        return f"Fit({done}{type(self.model).__name__}, {n} epochs to update {int(np.max(self.state.step))}{figures and ': ' + figures})"

    def replica(self, i: int) -> Model:
        """One of the models trained at once with `seeds`."""
        i = whole("i", i)
        n = len(np.atleast_1d(self.state.step))
        if not 0 <= i < n or np.ndim(self.state.step) == 0:
            raise InputError(f"there is no replica {i}: " + (f"there are {n}" if np.ndim(self.state.step) else "train with seeds="))
        return jax.tree.map(lambda leaf: leaf[i], self.model)


@documented(fit_settings())
def fit(
    model: Model | Callable[[jax.Array], Model],
    data: object,
    rule: str | RuleSpec = Config.rule,
    *,
    epochs: int = Config.epochs,
    batch_size: int | None = Config.batch_size,
    optimizer: str | optax.GradientTransformation = Config.optimizer,
    learning_rate: float | Rate | None = Config.learning_rate,
    schedule: Literal["linear", "constant"] = Config.schedule,
    centred: bool | None = Config.centred,
    l1: float = Config.l1,
    l2: float = Config.l2,
    average: float | str | None = Config.average,
    likelihood_chains: int | None = Config.likelihood_chains,
    trajectory: bool = Config.trajectory,
    kernels: Literal["auto", "native", "xla"] = Config.kernels,
    seed: int | jax.Array = Config.seed,
    seeds: int | None = None,
    callbacks: Sequence[Callable[[Epoch], object]] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    state: TrainState | None = None,
    progress: bool | None = None,
    **rule_settings: object,
) -> Fit:
    """Train `model` on `data`.

    Args:
        model: the model to start from, or a function key -> model, which gives each seed its own start.
        data: rows of 0 and 1 (or what the model's space holds: whole numbers, real numbers) of any dtype, shape (examples, units).
        {settings}
        seeds: train this many replicas at once, with seeds seed, seed+1, ...
        callbacks: called with an `Epoch` after each; returning True stops the run.
        checkpoint: file to write the training state to after each epoch.
        resume: continue from `checkpoint` if it exists, bit for bit as if never interrupted.
        state: continue from this state.
        progress: show the epochs on standard error; by default on a terminal.
        **rule_settings: settings of a rule given by name, such as k=10, refresh=5.

    Returns:
        A `Fit` with the trained model, its training state and a record of each epoch.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits")
    >>> rbm = mpf.BernoulliRBM.init(0, n_visible=64, n_hidden=8, data=digits.train)
    >>> mpf.fit(rbm, digits.train, rule="cd", k=1, epochs=2).model.weights.shape
    (64, 8)
    """
    _check_types(callbacks, resume, state)
    if resume and (checkpoint is None or state is not None):
        raise InputError("resume=True continues from the file named by checkpoint=: pass that, and no state=")
    config = Config(
        rule=find_rule(rule, **rule_settings),
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        schedule=schedule,
        centred=centred,
        l1=l1,
        l2=l2,
        average=average,
        likelihood_chains=likelihood_chains,
        trajectory=trajectory,
        kernels=kernels,
    )
    seeds = None if seeds is None else whole("seeds", seeds, 1, MAX_SEEDS)
    stated, keys = _keys(seed, seeds)
    starts = _starts(model, keys)
    checkpoint = None if checkpoint is None else arguments.path("checkpoint", checkpoint)
    rows = starts[0].space.check(data)
    config = config.checked(starts[0], rows)
    record = {**config.record(), "seed": stated, "seeds": seeds, "model": _description(starts[0]), "data": _digest(rows)}
    device_data, batches = jnp.asarray(rows), len(rows) // config.examples
    settings: Settings = {
        "rule": config.rule_spec(),
        "rate": config.rate(len(rows)),
        "optimizer": config.transformation(),
        "batch_size": config.examples,
        "average": config.average,
        "replicas": arrangement(seeds),
    }

    def epoch_of(state: TrainState) -> tuple[TrainState, Metrics]:
        if state.trajectory is None:
            return run_epoch(state, device_data, **settings)
        part_of = partial(run_part, data=device_data, **settings)
        return controlled(part_of, state, batches, config.transformation())

    if state is None:
        state = _begin(config, keys, starts, device_data, seeds)
        if checkpoint is not None and resume:
            state = load_checkpoint(checkpoint, state, record) or state
    elif (state.tracked is None) == bool(config.likelihood_chains):
        state = watched(state, rows, config, seeds is not None)
    if (state.trajectory is None) == config.trajectory:
        state = climbing(state, rows, config, seeds is not None)
    history: list[dict[str, Figure]] = []
    display = TrainingProgress(config.epochs, config.rule_spec().informative()) if wanted(progress) else nullcontext()
    with native.using(config.kernels), display as show:
        for number in range(int(np.max(state.step)) // batches + 1, config.epochs + 1):
            begun = time.perf_counter()
            new, metrics = epoch_of(state._replace(tracked=None))
            _stop_if_diverged(new, metrics, state, checkpoint, record)
            state, log_partition = watch(state, new, number, device_data)
            means = {name: np.asarray(values).mean(-1) for name, values in metrics._asdict().items()}
            means |= log_partition | climbed(state)
            event = Epoch(number, config.epochs, state.result, state, means, time.perf_counter() - begun)
            history.append({"epoch": number, **means, "seconds": event.seconds})
            if show is not None:
                show(event)
            answers = [callback(event) for callback in callbacks]
            if checkpoint is not None:  # after the callbacks: what they record of an epoch is never behind the checkpoint
                save_checkpoint(state, checkpoint, record)
            if any(answers):
                break
    return Fit(state.result, state, history, _trajectory(state))


def _starts(model: object, keys: list[jax.Array]) -> list[Model]:
    """The model to start from, or one for each key."""
    if isinstance(model, Model | type) or not callable(model):
        return [as_model(model)]
    try:
        models = [model(key) for key in keys]
    except TypeError as problem:
        raise InputError(f"model(key) failed: {problem}. Pass a model, or a function key -> model") from problem
    return [as_model(made, "model(key)") for made in models]


def _keys(seed: object, seeds: int | None) -> tuple[int | list[int], list[jax.Array]]:
    """The seed as a record states it, and one key for each replica: from consecutive seeds, or split from a JAX key."""
    if isinstance(seed, jax.Array) and not (seed.ndim == 0 and jnp.issubdtype(seed.dtype, jnp.integer)):
        key = as_key(seed, "seed")
        return np.asarray(jax.random.key_data(key)).tolist(), [key] if seeds is None else list(jax.random.split(key, seeds))
    seed = arguments.seed("seed", seed, seeds or 1)
    return seed, [as_key(seed + i) for i in range(seeds or 1)]


def _check_types(callbacks: object, resume: object, state: object) -> None:
    flag("resume", resume)
    if not isinstance(callbacks, Sequence) or not all(callable(callback) for callback in callbacks):
        raise InputError(f"callbacks={shown(callbacks)}: pass a list of functions of an Epoch")
    if state is not None and not isinstance(state, TrainState):
        raise InputError(f"state={shown(state)}: pass the state of a fit (fit.state), or one that mpf.load_state read")


def begin(model: Model, data: object, config: Config) -> TrainState:
    """The state that `fit` with this configuration starts from, for when it is needed apart: a saved one is read into it."""
    if not isinstance(config, Config):
        raise InputError(f"config is {shown(config)}: pass a configuration such as mpf.Config.of(rule='pcd')")
    rows = as_model(model).space.check(data)
    return _begin(config.checked(model, rows), [as_key(config.seed, "seed")], [model], jnp.asarray(rows), None)


def _begin(config: Config, keys: list[jax.Array], starts: list[Model], data: jax.Array, seeds: int | None) -> TrainState:
    rule, optimizer = config.rule_spec(), config.transformation()
    with native.using(config.kernels):
        states = [
            start(key, starts[i % len(starts)], data, rule, config.examples, optimizer, config.average is not None)
            for i, key in enumerate(keys)
        ]
    state = in_one(states, seeds is not None)
    return climbing(watched(state, np.asarray(data), config, seeds is not None), np.asarray(data), config, seeds is not None)


def _trajectory(state: TrainState) -> Trajectory | None:
    return None if state.trajectory is None or state.step.ndim else state.trajectory.trajectory(state.result)


def _stop_if_diverged(new: TrainState, metrics: Metrics, good: TrainState, checkpoint: str | None, record: dict[str, object]) -> None:
    finite = np.isfinite(np.asarray(metrics.objective)) & np.isfinite(np.asarray(metrics.gradient_norm))
    if finite.all() and bool(all_finite((new.model, new.average))):
        return
    per_update = finite.reshape(-1, finite.shape[-1]).all(0)
    first = int(np.argmin(per_update)) if not per_update.all() else len(per_update)
    step = int(np.max(good.step)) + first + 1
    before = slice(max(first - 20, 0), max(first, 1))
    ess = np.asarray(metrics.ess)[..., before]
    if np.nanmin(ess) < 0.1:
        cause = "the particles went stale (few effective ones): lower refresh or learning_rate"
    else:
        cause = f"the learning rate ({record['learning_rate']}) is too high for these data: lower it, for example by a factor of ten"
    kept = "the exception's .state"
    if checkpoint is not None:
        save_checkpoint(good, checkpoint, record)
        kept += f" and {checkpoint}"
    raise TrainingDiverged(
        f"training stopped: parameters or objective became non-finite at update {step}. Likely cause: {cause}. "
        f"The last good state (update {int(np.max(good.step))}) is in {kept}",
        step,
        good,
    )


def _description(model: Model) -> str:
    """What a checkpoint does not hold of a model: its class, shapes and fixed settings such as tau."""
    return repr(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), model)).split(" at 0x")[0]


def _digest(rows: Num[np.ndarray, "n d"]) -> str:
    packed = np.packbits(rows) if rows.dtype == np.uint8 and rows.max() < 2 else rows  # packing keeps one bit a value
    return hashlib.blake2b(packed.tobytes() + repr(rows.shape).encode(), digest_size=16).hexdigest()
