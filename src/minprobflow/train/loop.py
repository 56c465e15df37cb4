"""`fit`: train a model on data with a rule."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Num

from .. import arguments
from ..arguments import flag, shown, whole
from ..errors import InputError, TrainingDiverged
from ..models.base import Model, as_model
from ..numerics import all_finite
from ..random_bits import as_key
from ..rules import RuleSpec
from ..rules import rule as find_rule
from . import defaults
from .callbacks import Progress
from .checkpoint import load_checkpoint, save_checkpoint
from .epoch import arrangement, run_epoch, start
from .settings import Settings
from .state import Metrics, TrainState

MAX_SEEDS = 10_000


class Epoch(NamedTuple):
    """What a callback sees after each epoch."""

    number: int  # epochs done, from 1
    epochs: int
    model: Model  # the averaged model where averaging is on
    state: TrainState
    metrics: dict[str, np.ndarray]  # means over the epoch's updates; one entry per replica where there are several
    seconds: float


class Fit(NamedTuple):
    """What training gives."""

    model: Model  # the averaged model where averaging is on; stacked along a first axis where there are several seeds
    state: TrainState
    history: list[dict[str, Any]]  # per epoch: its number, the metrics' means, seconds

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


def fit(
    model: Model | Callable[[jax.Array], Model],
    data: Any,
    rule: str | RuleSpec = defaults.RULE,
    *,
    epochs: int = defaults.EPOCHS,
    batch_size: int | None = None,
    optimizer: str | optax.GradientTransformation = defaults.OPTIMIZER,
    learning_rate: float | Callable[..., Any] | None = None,
    seed: int = 0,
    seeds: int | None = None,
    callbacks: Sequence[Callable[[Epoch], Any]] = (),
    centred: bool | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    average: float | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    state: TrainState | None = None,
    progress: bool | None = None,
    **rule_settings: Any,
) -> Fit:
    """Train `model` on `data`.

    Args:
        model: the model to start from, or a function key -> model, which gives each seed its own start.
        data: rows of 0 and 1 (or what the model's space holds: whole numbers, real numbers) of any dtype, shape (examples, units).
        rule: a name (see `mpf.rules.names()`) or an object such as `mpf.FPMPF(k=10, refresh=5)`; by default PCD with k=5.
        epochs: times to go through the data, by default 50.
        batch_size: examples an update; what is left over at the end of a shuffled epoch is skipped.
            By default 50, or all of them if there are fewer.
        optimizer: "sgd", "momentum", "adam" or any optax optimiser.
        learning_rate: a number, which decays linearly to zero over the run, or an optax schedule.
            By default what suits the rule: 0.2 for contrasts, 0.4 for probability flow, whose gradient is half as large.
        seed: all random numbers follow from it.
        seeds: train this many replicas at once, with seeds seed, seed+1, ...
        callbacks: called with an `Epoch` after each; returning True stops the run.
        centred: take the centred gradient. By default where the model supports it, except under Adam.
        l1, l2: penalties l1 * sum|W| + l2 * sum W^2 on the weights (not the biases).
        average: decay of an exponential average of the parameters (for example 0.999), or "polyak" for their mean.
        checkpoint: file to write the training state to after each epoch.
        resume: go on from `checkpoint` if it exists, bit for bit as if never interrupted.
        state: go on from this state.
        progress: show a progress bar; by default on a terminal.
        **rule_settings: settings of a rule given by name, such as k=10, refresh=5.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits")
    >>> rbm = mpf.BernoulliRBM.init(0, n_visible=64, n_hidden=8, data=digits.train)
    >>> mpf.fit(rbm, digits.train, rule="cd", k=1, epochs=2).model.weights.shape
    (64, 8)
    """
    _check_types(callbacks, resume, state, progress)
    if resume and (checkpoint is None or state is not None):
        raise InputError("resume=True goes on from the file named by checkpoint=: pass that, and no state=")
    spec = find_rule(rule, **rule_settings)
    seeds = None if seeds is None else whole("seeds", seeds, 1, MAX_SEEDS)
    seed = arguments.seed("seed", seed, seeds or 1)
    keys = [as_key(seed + i) for i in range(seeds or 1)]
    starts = _starts(model, keys)
    checkpoint = None if checkpoint is None else arguments.path("checkpoint", checkpoint)
    rows = starts[0].space.check(data)
    settings = Settings(spec, epochs, batch_size, optimizer, learning_rate, centred, l1, l2, average, seed, seeds)
    settings = settings.checked(starts[0], rows)
    record = {**settings.record(), "model": _description(starts[0]), "data": _digest(rows)}
    epochs = settings.epochs
    device_data, batches = jnp.asarray(rows), len(rows) // settings.examples
    epoch_of = partial(
        run_epoch,
        rule=spec,
        rate=settings.rate(len(rows)),
        optimizer=settings.transformation(),
        batch_size=settings.examples,
        average=settings.average,
        replicas=arrangement(seeds),
    )
    if state is None:
        state = _begin(settings, keys, starts, device_data)
        if checkpoint is not None and resume:
            state = load_checkpoint(checkpoint, state, record) or state
    history: list[dict[str, Any]] = []
    bar = Progress(epochs, spec.informative()) if progress or (progress is None and sys.stderr.isatty()) else None
    try:
        for number in range(int(np.max(state.step)) // batches + 1, epochs + 1):
            begun = time.perf_counter()
            new, metrics = epoch_of(state, device_data)
            _stop_if_diverged(new, metrics, state, checkpoint, record)
            state = new
            means = {name: np.asarray(values).mean(-1) for name, values in metrics._asdict().items()}
            event = Epoch(number, epochs, state.average or state.model, state, means, time.perf_counter() - begun)
            history.append({"epoch": number, **means, "seconds": event.seconds})
            answers = [callback(event) for callback in ([bar] if bar else []) + list(callbacks)]
            if checkpoint is not None:  # after the callbacks: what they record of an epoch is never behind the checkpoint
                save_checkpoint(state, checkpoint, record)
            if any(answers):
                break
    finally:
        if bar:
            bar.close()
    return Fit(state.average or state.model, state, history)


def _starts(model: Any, keys: list[jax.Array]) -> list[Model]:
    """The model to start from, or one for each key."""
    if isinstance(model, Model | type) or not callable(model):
        return [as_model(model)]
    try:
        models = [model(key) for key in keys]
    except TypeError as problem:
        raise InputError(f"model(key) failed: {problem}. Pass a model, or a function key -> model") from problem
    return [as_model(made, "model(key)") for made in models]


def _check_types(callbacks: Any, resume: Any, state: Any, progress: Any) -> None:
    flag("resume", resume)
    if progress is not None:
        flag("progress", progress)
    if not isinstance(callbacks, Sequence) or not all(callable(callback) for callback in callbacks):
        raise InputError(f"callbacks={shown(callbacks)}: pass a list of functions of an Epoch")
    if state is not None and not isinstance(state, TrainState):
        raise InputError(f"state={shown(state)}: pass the state of a fit (fit.state), or one that mpf.load_state read")


def begin(
    model: Model, data: Any, rule: RuleSpec, *, batch_size: int | None = None, centred: bool | None = None, l2: float = 0.0, seed: int = 0
) -> TrainState:
    """The state that `fit` with these settings starts from, for when it is needed apart: a saved one is read into it."""
    rows = as_model(model).space.check(data)
    settings = Settings(rule, 1, batch_size, "sgd", None, centred, 0.0, l2, None, seed, None).checked(model, rows)
    return _begin(settings, [as_key(seed, "seed")], [model], jnp.asarray(rows))


def _begin(settings: Settings, keys: list[jax.Array], starts: list[Model], data: jax.Array) -> TrainState:
    optimizer = settings.transformation()
    states = [
        start(key, starts[i % len(starts)], data, settings.rule, settings.examples, optimizer, settings.average is not None)
        for i, key in enumerate(keys)
    ]
    return states[0] if settings.seeds is None else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def _stop_if_diverged(new: TrainState, metrics: Metrics, good: TrainState, checkpoint: Any, record: dict[str, Any]) -> None:
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
