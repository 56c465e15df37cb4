"""The settings of a run, in one frozen dataclass.

`fit`'s arguments, the flags of `minprobflow train`, its TOML file, the estimator's parameters, the records of runs and checkpoints
and the table of settings in the documentation are all made from it and from the specs of the rule and the model that it names.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .. import arguments, native, rules
from ..arguments import choice, flag, number, room, whole
from ..data import Dataset
from ..errors import InputError
from ..flow.trajectory import check_path
from ..model_specs import ModelSpec, chosen_for, completed, model_spec
from ..models.base import Centrable, Model, as_model
from ..rules import RuleSpec
from ..samplers import KernelSpec, as_kernel
from ..specs import Setting, near, settings_of, union
from .optimizer import OPTIMIZERS, Rate, build, constant_rate, decaying_rate
from .tracking import GROUPS

BATCH_SIZE = 50
Settings = dict[str, Any]
"""settings by name, each of the type that its field has"""
FAMILIES = {"rule_settings": "rule", "model_settings": "model"}  # fields that hold the settings of a spec, and what names it


@dataclass(frozen=True)
class Config:
    """What a run is made of. None means: what suits the rule, the model or the data.

    The defaults are [measured](docs/design-notes.md), by `python -m benchmarks.defaults`.

    >>> config = Config.of(rule="cd", k=3, hidden=8)
    >>> config.rule_spec().k, config.epochs
    (3, 50)
    """

    data: str = "digits"
    """a data set (see minprobflow datasets) or a file"""
    data_options: Mapping[str, object] = field(default_factory=dict)
    """options of the data, such as threshold or split"""
    model: str | None = None
    """what to train; by default what suits the data"""
    model_settings: Mapping[str, object] = field(default_factory=dict)
    """settings of the model"""
    rule: str | RuleSpec = "pcd"
    """how to train: a name, in Python also an object such as mpf.FPMPF(k=10, refresh=5)"""
    rule_settings: Mapping[str, object] = field(default_factory=dict)
    """settings of the rule"""
    epochs: int = 50
    """times to go through the data"""
    batch_size: int | None = None
    """examples per update, by default 50, or all if there are fewer; what is left over at the end of a shuffled epoch is skipped"""
    optimizer: str | optax.GradientTransformation = "sgd"
    """sgd, momentum or adam; in Python any optax optimizer"""
    learning_rate: float | Rate | None = None
    """a number, in Python also an optax schedule; by default what suits the rule: 0.2 for contrasts, 0.4 for probability flow, whose
    gradient is half as large"""
    schedule: Literal["linear", "constant"] = "linear"
    """how a learning rate given as a number changes: linear (it decays to zero over the run) or constant"""
    centred: bool | None = None
    """take the centred gradient; by default where the model supports it, except under adam"""
    l1: float = 0.0
    """penalty l1 * sum |W| on the weights (not the biases)"""
    l2: float = 0.0
    """penalty l2 * sum W^2 on the weights (not the biases)"""
    average: float | str | None = None
    """decay of an exponential average of the parameters, such as 0.999, or polyak for their mean"""
    likelihood_chains: int | None = None
    """extra chains, in tens, that follow the parameters from epoch to epoch and tell log Z on the way, with its error (trajectory AIS);
    0 for none; by default 200 in runs whose log Z is not summed exactly, none in fit"""
    trajectory: bool = False
    """keep models on the way whenever exchange of states with the last one kept would become rare, and go back to that one at half the
    learning rate when the model jumps: such models can be sampled and evaluated along their trajectory"""
    kernels: Literal["auto", "native", "xla"] = "auto"
    """how layers of bits are computed with: native (compiled kernels, on the CPU), xla, or by default native where that is possible"""
    seed: int = 0
    """all random numbers follow from it; in Python also a JAX key"""
    evaluate_every: int = 1
    """epochs between two looks at the likelihood; the last epoch always has one"""
    looks: int | None = None
    """look at the likelihood this many times instead, evenly spread; 0 for never"""
    score: Literal["auto", "exact", "trajectory", "ais", "interval", "sides"] = "auto"
    """validation score by which the best model is kept: exact; trajectory (by the likelihood_chains); ais (a short run); interval or sides
    (AIS in both directions, the safe end of its interval or the larger log Z of its directions); by default exact where that is cheap, else
    trajectory; trajectory and ais are optimistic"""
    stop_when: Literal["plateau"] | None = None
    """plateau: stop when the validation likelihood has not risen by more than its error for `patience` looks; by default never. It suits
    a constant schedule: under a decaying one the likelihood rises to the end"""
    patience: int = 5
    """looks at the likelihood without a rise after which a run with stop_when ends"""

    def __post_init__(self) -> None:
        for name in ("data_options", *FAMILIES):
            settings_by_name(getattr(self, name), name)

    @classmethod
    def of(cls, values: Mapping[str, object] | None = None, source: str = "the settings", **more: object) -> Config:
        """A configuration from settings by name, those of rule and model among them; what cannot work whatever the data is refused."""
        given = _by_family({**settings_by_name({} if values is None else values, source), **more}, source)
        config = cls(**{**given.pop(""), **given})
        config.rule_spec()
        if config.model is not None:
            model_spec(config.model, **config.model_settings)
        arguments.seed("seed", config.seed)
        return config

    @classmethod
    def read(cls, file: str | None, changes: Mapping[str, object] | None = None) -> Config:
        """A configuration from a TOML file, if any; `changes` that are not None win."""
        return cls.of(stated(file, settings_by_name({} if changes is None else changes, "the changes")), file or "the command line")

    def flat(self) -> Settings:
        """All settings by name, those of rule and model among them: what `of` takes."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in FAMILIES}
        return {**own, **self.model_settings, **self.rule_settings}

    def rule_spec(self) -> RuleSpec:
        """The rule with its settings."""
        return rules.rule(self.rule, **self.rule_settings)

    def model_spec(self, data: Dataset) -> ModelSpec:
        """The model with its settings; without a name, the one that suits the data."""
        return completed(model_spec(self.model or chosen_for(data), **self.model_settings), data)

    def resolved(self, data: Dataset) -> Config:
        """The same with the model named and every setting of rule and model stated: what a run records."""
        rule, model = self.rule_spec(), self.model_spec(data)
        return dataclasses.replace(self, rule=rule.name, rule_settings=rule.settings(), model=model.name, model_settings=model.settings())

    def resumed(self, wanted: Mapping[str, object], place: str) -> Config:
        """The configuration to resume this recorded run with. The number of epochs may change, other settings must be the same."""
        recorded = self.flat()
        asked = {name: value for given in _by_family(wanted, "the command line").values() for name, value in given.items()}
        others = {name: value for name, value in asked.items() if name != "epochs" and value != recorded.get(name)}
        differ = "; ".join(f"{name} is {recorded.get(name)!r} there, not {value!r}" for name, value in others.items())
        if differ:
            raise InputError(
                f"{place} was started with other settings: {differ}. Leave them out to resume it, or start another run with another --out"
            )
        return dataclasses.replace(self, epochs=asked.get("epochs", self.epochs))

    def checked(self, model: Model, rows: np.ndarray) -> Config:
        """This configuration with the defaults filled in; raises on what cannot work with this model and these rows."""
        size = min(BATCH_SIZE, len(rows)) if self.batch_size is None else self.batch_size
        plain: Settings = {
            "epochs": whole("epochs", self.epochs, 1),
            "batch_size": whole("batch_size", size, 1, len(rows), hint=f"there are {len(rows)} examples"),
            "l1": number("l1", self.l1, 0, hint="it is the strength of a penalty"),
            "l2": number("l2", self.l2, 0, hint="it is the strength of a penalty"),
            "evaluate_every": whole("evaluate_every", self.evaluate_every, 1),
            "looks": None if self.looks is None else whole("looks", self.looks),
            "likelihood_chains": self._watching(),
            "patience": whole("patience", self.patience, 1, hint="it is a number of looks at the likelihood"),
        }
        for name in ("schedule", "score"):
            choice(name, getattr(self, name), run_settings()[name].choices)
        if self.stop_when is not None:
            choice("stop_when", self.stop_when, run_settings()["stop_when"].choices)
        as_model(model, finite=True)
        self.rule_spec().check(model)
        if plain["likelihood_chains"]:
            room("the likelihood chains", plain["likelihood_chains"], model.space.size)
            as_kernel("auto", model)
        return dataclasses.replace(
            self,
            **plain,
            learning_rate=self._rate(),
            centred=self._centred(model),
            average=self._average(),
            kernels=native.path(self.kernels),
            trajectory=self._climbing(model),
        )

    def _climbing(self, model: Model) -> bool:
        wanted = flag("trajectory", self.trajectory) or self.rule_spec().keeps_trajectory
        if wanted:
            as_kernel("auto", model)
            check_path(model)
        return wanted

    def _watching(self) -> int:
        """The number of likelihood chains; in whole groups."""
        chains = 0 if self.likelihood_chains is None else whole("likelihood_chains", self.likelihood_chains, hint="0 is for none")
        if chains == 0 and self.score == "trajectory":
            raise InputError("score=trajectory needs chains: leave likelihood_chains out, or pass a number such as 200")
        return 0 if chains == 0 else max(-(-chains // GROUPS), 2) * GROUPS

    @property
    def examples(self) -> int:
        """Examples per update (after `checked`)."""
        return cast(int, self.batch_size)

    def _rate(self) -> float | Rate | None:
        if isinstance(self.optimizer, optax.GradientTransformation):
            if self.learning_rate is not None:
                raise InputError("an optax optimizer brings its own learning rate: drop learning_rate=, or name the optimizer")
            return None
        choice("optimizer", self.optimizer, OPTIMIZERS, hint=", or an optax optimizer")
        if self.learning_rate is None:
            return OPTIMIZERS[self.optimizer].rate(self.rule_spec().default_rate)
        if not callable(self.learning_rate) or isinstance(self.learning_rate, type):
            return number("learning_rate", self.learning_rate, above=0, hint="or an optax schedule")
        try:
            rate = jax.eval_shape(self.learning_rate, jax.ShapeDtypeStruct((), jnp.result_type(int)))
            scalar = rate.shape == () and not jnp.issubdtype(rate.dtype, jnp.complexfloating)
        except Exception as problem:
            raise InputError(f"learning_rate(step) failed: {problem}. Pass a number, or an optax schedule") from problem
        if not scalar:
            raise InputError(f"learning_rate(step) returned shape {rate.shape}: it must return one number")
        return self.learning_rate

    def _centred(self, model: Model) -> bool:
        if self.centred is None:
            return isinstance(model, Centrable) and self.optimizer != "adam"
        centred = flag("centred", self.centred)
        if centred and not isinstance(model, Centrable):
            raise InputError(f"{type(model).__name__} has no centred gradient: pass centred=False, or leave it out")
        return centred

    def _average(self) -> float | None:
        if self.average is None or (isinstance(self.average, str) and self.average == "polyak"):
            return None if self.average is None else 1.0
        return number("average", self.average, high=1, above=0, hint='it is a decay such as 0.999, or "polyak"')

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The gradient transformation (after `checked`)."""
        return build(self.optimizer, cast(bool, self.centred), self.l1, self.l2)

    def rate(self, n_examples: int) -> Rate | None:
        """The learning rate as a function of the update's number; None where the optimizer brings its own."""
        if self.learning_rate is None:
            return None
        if self.schedule == "constant" and not callable(self.learning_rate):
            return constant_rate(self.learning_rate)
        return decaying_rate(self.learning_rate, self.epochs * (n_examples // self.examples))

    def record(self) -> dict[str, object]:
        """What a resumed `fit` must share, as plain values (after `checked`). The number of epochs may be raised."""
        shared = {name: _plain(getattr(self, name)) for name in fit_settings() if name not in ("rule", "epochs", "seed")}
        return {"rule": {self.rule_spec().name: {name: _plain(value) for name, value in self.rule_spec().settings().items()}}, **shared}

    def arguments(self) -> Settings:
        """What to call `fit` with, beside the model and the data."""
        return {**{name: getattr(self, name) for name in fit_settings()}, **self.rule_settings}

    def look_epochs(self) -> set[int]:
        """The epochs after which a run looks at the likelihood."""
        if self.looks is None:
            return {*range(self.evaluate_every, self.epochs + 1, self.evaluate_every), self.epochs}
        spread = np.linspace(0, self.epochs, min(self.looks, self.epochs) + 1).round().astype(int).tolist()
        return set(spread) if self.looks else set()


def run_settings() -> dict[str, Setting]:
    """The settings that are the run's own."""
    return {name: setting for name, setting in settings_of(Config).items() if name not in FAMILIES}


def fit_settings() -> dict[str, Setting]:
    """The settings of a run that `fit` takes: all but what it is handed ready-made and what it leaves to runs."""
    names = list(run_settings())
    return {name: run_settings()[name] for name in names[names.index("rule") : names.index("seed") + 1]}


def spec_settings() -> dict[str, dict[str, list[type]]]:
    """For rule (with its kernel) and model: every setting that one of them has, and those that have it."""
    found = {
        "rule_settings": union([*RuleSpec.specs().values(), *KernelSpec.specs().values()]),
        "model_settings": union(ModelSpec.specs().values()),
    }
    taken = dict.fromkeys(run_settings(), "the run's")
    for family, settings in found.items():
        for name, having in settings.items():
            if name in taken:
                raise InputError(f"{having[0].__name__} has a setting {name!r}, which is {taken[name]} already: rename it")
        taken |= dict.fromkeys(settings, f"a {FAMILIES[family]}'s")
    return found


def stated(file: str | None, changes: Mapping[str, object]) -> dict[str, object]:
    """The settings that a TOML file, if any, and `changes` state; `changes` that are not None win."""
    values: dict[str, object] = {}
    if file is not None:
        path = Path(arguments.path("the config file", file))
        if not path.is_file():
            raise InputError(f"there is no config file {file}: check the path")
        try:
            values = tomllib.loads(path.read_text())
        except (ValueError, RecursionError) as problem:  # also of a number with thousands of digits
            raise InputError(f"{file} is not valid TOML: {str(problem)[:200]}") from problem
    return {**values, **{name: value for name, value in changes.items() if value is not None}}


def settings_by_name(values: object, source: str) -> Mapping[str, object]:
    """Settings by name, if they are that."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise InputError(f"{source} is {arguments.shown(values)}: pass a dict of settings by name")
    return values


def _by_family(values: Mapping[str, object], source: str) -> dict[str, Settings]:
    """Settings sorted by whose they are: under "" the run's own, else the rule's or the model's; each of the right type."""
    own, known = run_settings(), spec_settings()
    given: dict[str, Settings] = {"": {}, **{name: {} for name in FAMILIES}}
    for name, value in values.items():
        family = next((family for family in FAMILIES if name in known[family]), "")
        if name not in own and not family:
            raise InputError(f"{source} has an unknown setting {name!r}{near(name, [*own, *(n for f in known.values() for n in f)])}")
        setting = own[name] if name in own else settings_of(known[family][name][0])[name]
        given["" if name in own else family][name] = setting.check(value, source)
    return given


def _plain(value: object) -> object:
    if isinstance(value, jax.tree_util.Partial):  # a schedule with its numbers
        return f"{value.func.__name__.strip('_')}({', '.join(str(argument) for argument in value.args)})"
    return getattr(value, "__name__", type(value).__name__) if callable(value) or isinstance(value, tuple) else value
