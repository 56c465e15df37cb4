"""Small models with known parameters, which the conformance suite tests every family on. Plug-ins register theirs here.

from minprobflow import testing

@testing.examples(MyModel)
def small_ones() -> dict[str, MyModel]:
    return {"weak": MyModel(...), "strong": MyModel(...)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .arguments import shown
from .errors import InputError
from .models import RBM, BernoulliRBM, CategoricalRBM, EnergyModel, GaussianRBM, Ising, Model, Potts, SpinRBM
from .models.files import model_families
from .units import Bernoulli, Binary, Categorical, Categories, Gaussian, Mixed

AnyModel = TypeVar("AnyModel", bound=Model)
Examples = Callable[[], Mapping[str, Model]]

_REGISTERED: dict[type[Model], Examples] = {}


def examples(family: type[AnyModel]) -> Callable[[Callable[[], Mapping[str, AnyModel]]], Callable[[], Mapping[str, AnyModel]]]:
    """Register what a function returns as the examples of a family: models with 4 to 8 visible units, by name.

    Args:
        family: the class of the models.

    Returns:
        A decorator.
    """

    def register(make: Callable[[], Mapping[str, AnyModel]]) -> Callable[[], Mapping[str, AnyModel]]:
        _REGISTERED[family] = make
        return make

    return register


def examples_of(family: type[Model]) -> Mapping[str, Model]:
    """The examples of a family, by name; none if nobody registered any.

    Args:
        family: the class of the models.

    >>> sorted(examples_of(Ising))
    ['0-tau0.5', '1-tau1.0', '2-tau2.0']
    """
    if not isinstance(family, type):
        raise InputError(f"family is {shown(family)}: pass a class of models, such as mpf.Ising")
    return _REGISTERED[family]() if family in _REGISTERED else {}


def all_examples() -> dict[str, Model]:
    """The examples of every family, by the names of family and example, those of plug-ins included."""
    return {
        name if "RBM-" in name else f"{family.__name__}-{name}": model  # RBMs are named after their unit types
        for family in model_families()
        for name, model in examples_of(family).items()
    }


def _normal(seed: int, *shape: int) -> Float[Array, ...]:
    return jax.random.normal(jax.random.key(seed), shape)


@examples(RBM)
def _rbms() -> dict[str, RBM]:
    """Each unit type as visible units; all pairs of types are in tests/conformance/test_every_rbm.py."""
    found = {}
    for i, (seed, tau) in enumerate(((10, 0.5), (20, 1.0), (30, 2.0))):
        found[f"{i}-tau{tau}"] = BernoulliRBM(0.8 * _normal(seed, 5, 3), 0.5 * _normal(seed + 1, 5), 0.5 * _normal(seed + 2, 3), tau)
    for i, (seed, tau) in enumerate(((90, 0.5), (100, 1.0), (110, 2.0))):
        parts = 1.2 * _normal(seed, 5, 3, 2), 0.5 * _normal(seed + 1, 5, 3), 0.5 * _normal(seed + 2, 2)
        weights, visible, hidden = (tau * part for part in parts)
        found[f"CategoricalRBM-{i}-tau{tau}"] = CategoricalRBM(weights, visible, hidden, tau)
    found["SpinRBM-0-tau1.0"] = SpinRBM(0.5 * _normal(130, 5, 3), 0.3 * _normal(131, 5), 0.3 * _normal(132, 3))
    found["GaussianRBM-0-tau1.0"] = _gaussian()
    table = Mixed(Bernoulli(0.5 * _normal(141, 2)), Categorical(0.5 * _normal(142, 2, 3)), Gaussian(_normal(143, 1), [-1.0], 0.01))
    found["MixedRBM-0-tau1.0"] = RBM(table, Bernoulli(0.5 * _normal(144, 3)), 0.7 * _normal(145, 9, 3))
    return found


def _gaussian() -> RBM:
    keys = jax.random.split(jax.random.key(120), 3)
    weights, hidden = 0.4 * jax.random.normal(keys[0], (5, 3)), 0.5 * jax.random.normal(keys[2], (3,))
    variance = jnp.asarray([0.1, 0.2, 0.15, 0.4, 0.25])
    at_mean = weights @ jnp.full(3, 0.5)
    odds = (at_mean / (variance + 0.01)) @ weights  # else most hidden states would be rare
    return GaussianRBM(weights, 1 + 0.5 * jax.random.normal(keys[1], (5,)) - at_mean, hidden - odds, jnp.log(variance), min_variance=0.01)


@examples(Ising)
def _ising() -> dict[str, Ising]:
    return {
        f"{i}-tau{tau}": Ising(jnp.triu(_normal(seed, 5, 5), 1), 0.5 * _normal(seed + 1, 5), tau)
        for i, (seed, tau) in enumerate(((60, 0.5), (70, 1.0), (80, 2.0)))
    }


@examples(Potts)
def _potts() -> dict[str, Potts]:
    found = {}
    for i, (seed, tau) in enumerate(((60, 0.5), (70, 1.0), (80, 2.0))):
        pairs = tau * _normal(seed, 5, 3, 5, 3) * (1 - jnp.eye(5))[:, None, :, None]
        found[f"{i}-tau{tau}"] = Potts((pairs + pairs.transpose(2, 3, 0, 1)) / 2, 0.5 * tau * _normal(seed + 1, 5, 3), tau)
    return found


@examples(EnergyModel)
def _energies() -> dict[str, EnergyModel]:
    letters = Categories(5, 3)

    def third_order(params: dict[str, Array], v: Array) -> Array:
        return -(v @ params["pairs"] @ v) - params["triple"] * v[0] * v[1] * v[2]

    def nearest_neighbours(bonds: Array, v: Array) -> Array:
        x = letters.features(v)
        return -jnp.sum(x[:-1, :, None] * x[1:, None, :] * bonds)

    return {
        "0": EnergyModel(third_order, {"pairs": 0.7 * _normal(40, 5, 5), "triple": jnp.asarray(0.8)}, Binary(5)),
        "1": EnergyModel(nearest_neighbours, _normal(41, 4, 3, 3), letters),
    }
