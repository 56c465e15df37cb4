"""Models along one training run, from independent units to the trained model: the rungs that replica exchange climbs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..arguments import shown, whole
from ..errors import InputError, ModelFileError
from ..numerics import all_finite, as_float64, double_precision
from ..random_bits import as_key
from . import files
from .base import Model, as_model

MADE = -1  # the step of a rung that no training run passed through
MAX_RUNGS = 10_000


class Trajectory(eqx.Module):
    """Models along one training run, from independent units to the trained one.

    Replica exchange along it crosses the transitions of training in small steps, where a path of temperatures has to jump. Use
    `Trajectory.of(models)` for models that you have, and `Trajectory.scaled(model)` for a model without a history. It has a length, and
    `trajectory[i]` is one rung.

    Args:
        rungs: all rungs in one model, whose arrays are stacked along a first axis.
        steps: the update at which each rung was kept; -1 for rungs made in another way.

    >>> import minprobflow as mpf
    >>> rbm = mpf.BernoulliRBM.init(0, 6, 4)
    >>> ladder = mpf.Trajectory.of([rbm.base(jnp.full(6, 0.5)), rbm], steps=[0, 100])
    >>> len(ladder), ladder.last.n_hidden, ladder.draw_first(0, 3).shape
    (2, 4, (3, 6))
    """

    rungs: Model
    steps: Int[Array, " rungs"]

    @classmethod
    def of(cls, models: Sequence[Model], steps: Sequence[int] | None = None) -> Trajectory:
        """A trajectory of these models.

        Args:
            models: two or more, of one family and shape; the first has independent units (weights or couplings of zero).
            steps: the update that each comes from; -1 (all, by default) where it comes from none.
        """
        if not isinstance(models, list | tuple) or len(models) < 2:
            raise InputError(f"models={shown(models)}: pass a list of two or more models, the first with independent units")
        for i, model in enumerate(models):
            as_model(model, f"rung {i}", finite=True)
            if reason := _difference(models[0], model):
                raise InputError(f"rung {i} {reason}: all rungs must be of one family, shape and precision")
        if not models[0].is_base():
            raise InputError(
                f"rung 0 is a {type(models[0]).__name__} whose units are not independent, so that its log Z is not known: begin with "
                "weights (or couplings) of zero, as model.base(means) has them"
            )
        return cls(jax.tree.map(lambda *leaves: jnp.stack(leaves), *models), _checked_steps(steps, len(models)))

    @classmethod
    def scaled(cls, model: Model, base_data: object = None, n: int = 20) -> Trajectory:
        """A ladder for a model without a history: from independent units to the model, in even steps of all parameters.

        Args:
            model: where the ladder ends.
            base_data: rows whose means the independent units have; by default all states are equally likely there.
            n: how many rungs.

        >>> import minprobflow as mpf
        >>> len(mpf.Trajectory.scaled(mpf.Ising.init(5), n=8))
        8
        """
        n, space = whole("n", n, 2, MAX_RUNGS, hint="it is the number of rungs"), as_model(model, finite=True).space
        means = space.even_means() if base_data is None else jnp.asarray(space.mean_features(space.check(base_data, "base data")))
        return cls.along(model, model.base(means.astype(float)), np.linspace(0.0, 1.0, n))

    @classmethod
    def along(cls, model: Model, base: Model, betas: Float[np.ndarray, " rungs"]) -> Trajectory:
        """The models at these places of the path from `base`, which came from `model.base`, at 0 to `model` at 1."""
        return cls.of([model.between(base, jnp.asarray(beta, float)) for beta in betas])

    def __len__(self) -> int:
        return self.steps.shape[0]

    def __getitem__(self, i: int) -> Model:
        """One rung."""
        at = whole("rung", i, -(2**31))
        if not -len(self) <= at < len(self):
            raise IndexError(f"rung {at} of a trajectory of {len(self)}")
        return cast(Model, jax.tree.map(lambda leaf: leaf[at], self.rungs))

    @property
    def last(self) -> Model:
        """The trained model."""
        return self[-1]

    def log_partition_first(self) -> Float[Array, ""]:
        """log Z of rung 0, exactly: its units are independent."""
        with double_precision():
            return as_float64(self[0]).base_log_partition()

    def draw_first(self, key: object, n: int) -> Float[Array, "n D"]:
        """Exact, independent samples of rung 0.

        Args:
            key: a JAX key or a seed.
            n: how many.
        """
        first = cast(Model, jax.tree.map(lambda leaf: leaf[0], self.rungs))
        logits = first.base_logits()
        return first.space.sample(as_key(key), jnp.broadcast_to(logits, (whole("n", n, 1), *logits.shape)))

    def ending_at(self, model: Model) -> Trajectory:
        """This trajectory, or where it ends at another model, the same with that model as one more rung."""
        as_model(model, finite=True)
        if reason := _difference(self[0], model):
            raise InputError(f"the model {reason}: pass the trajectory of a run that trained this model")
        if all(bool(jnp.array_equal(a, b)) for a, b in zip(jax.tree.leaves(self.last), jax.tree.leaves(model), strict=True)):
            return self
        rungs = jax.tree.map(lambda leaves, leaf: jnp.concatenate([leaves, leaf[None]]), self.rungs, model)
        return Trajectory(rungs, jnp.append(self.steps, MADE))

    def with_midpoints(self, links: Sequence[int]) -> Trajectory:
        """With a rung more in the middle of each of these links; link i joins rungs i and i + 1.

        Its parameters are the mean of its neighbours'. Where such a model would have no distribution, none is added.
        """
        if not isinstance(links, list | tuple):
            raise InputError(f"links={shown(links)}: pass a list of whole numbers from 0 to {len(self) - 2}")
        chosen = {whole("link", link, 0, len(self) - 2) for link in links}
        models, steps = [], []
        for i, model in enumerate(self[i] for i in range(len(self))):
            models.append(model)
            steps.append(int(self.steps[i]))
            if i in chosen:
                middle = cast(Model, jax.tree.map(lambda a, b: (a + b) / 2, model, self[i + 1]))
                if bool(all_finite(middle)) and middle.improper() is None:
                    models.append(middle)
                    steps.append(MADE)
        return Trajectory.of(models, steps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all rungs to one safetensors file with a digest, atomically.

        Args:
            path: the file.
        """
        files.save_stack([self[i] for i in range(len(self))], {"steps": np.asarray(self.steps)}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory that `save` wrote.

        Args:
            path: the file.

        >>> import tempfile, minprobflow as mpf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mpf.Trajectory.scaled(mpf.Ising.init(5), n=3).save(f"{folder}/trajectory.safetensors")
        ...     len(mpf.Trajectory.load(f"{folder}/trajectory.safetensors"))
        3
        """
        models, more = files.load_stack(path)
        try:
            return cls.of(models, more["steps"].tolist())
        except (InputError, KeyError) as problem:
            raise ModelFileError(f"{path} does not hold a valid trajectory: {problem}") from problem


def _difference(model: Model, other: Model) -> str | None:
    """In what another model cannot share a stack with this one."""
    if type(model) is not type(other):
        return f"is a {type(other).__name__}, rung 0 a {type(model).__name__}"
    structures = [jax.tree.structure(m) for m in (model, other)]
    if structures.count(structures[0]) < 2:
        return "has other settings (such as tau, or the types of its units) than rung 0"
    for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(other), strict=True):
        if a.shape != b.shape:
            return f"has an array of shape {b.shape} where rung 0 has {a.shape}"
        if a.dtype != b.dtype:
            return f"has an array of {b.dtype} where rung 0 has {a.dtype}"
    return None


def _checked_steps(steps: Sequence[int] | None, n: int) -> Int[Array, " rungs"]:
    if steps is None:
        return jnp.full(n, MADE)
    if not isinstance(steps, list | tuple) or len(steps) != n:
        raise InputError(f"steps={shown(steps)}: pass one number per rung, here {n}")
    return jnp.asarray([whole(f"steps[{i}]", step, MADE) for i, step in enumerate(steps)])
