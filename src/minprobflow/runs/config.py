"""All settings of a run: one frozen dataclass that is the command's flags, the config file and the record."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..rules import RuleSpec, rule
from ..train import defaults

RULE_SETTINGS = ("k", "refresh", "n_particles", "min_ess", "o")


@dataclass(frozen=True)
class RunConfig:
    """What a run is made of. None means: what suits the rule, the model or the data."""

    data: str = "digits"
    data_options: dict[str, Any] = field(default_factory=dict)
    rule: str = defaults.RULE
    k: int | None = None
    refresh: int | None = None
    n_particles: int | None = None
    min_ess: float | None = None
    o: str | None = None
    hidden: int = 16
    tau: float = 1.0
    epochs: int = defaults.EPOCHS
    batch_size: int | None = None
    optimizer: str = defaults.OPTIMIZER
    learning_rate: float | None = None
    centred: bool | None = None
    l1: float = 0.0
    l2: float = 0.0
    average: float | str | None = None
    evaluate_every: int = 1
    seed: int = 0

    def rule_spec(self) -> RuleSpec:
        """The rule with those of its settings that are given."""
        return rule(self.rule, **{name: getattr(self, name) for name in RULE_SETTINGS if getattr(self, name) is not None})

    def checked(self) -> RunConfig:
        """Raise on what cannot work whatever the data."""
        self.rule_spec()
        for name in ("hidden", "evaluate_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)}: it must be at least 1")
        return self


def from_mapping(values: dict[str, Any], source: str) -> RunConfig:
    """Settings by name; an unknown name is an error that suggests the nearest."""
    types = {f.name: f for f in dataclasses.fields(RunConfig)}
    for name in values:
        if name not in types:
            near = difflib.get_close_matches(name, types, 1)
            hint = f": did you mean {near[0]!r}?" if near else f": the known ones are {', '.join(types)}"
            raise InputError(f"{source} has an unknown setting {name!r}{hint}")
    for name, value in values.items():
        _check_type(name, value, str(types[name].type), source)
    return RunConfig(**values).checked()


def _check_type(name: str, value: Any, wanted: str, source: str) -> None:
    kinds = {"int": int, "float": (int, float), "str": str, "bool": bool, "None": type(None), "dict[str, Any]": dict}
    allowed = [kinds[part] for part in wanted.split(" | ")]
    if not any(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for kind in allowed):  # type: ignore[arg-type]
        raise InputError(f"{source}: {name} is {value!r}, expected {wanted}")


def resolve(file: str | None, flags: dict[str, Any]) -> RunConfig:
    """Settings from a TOML file, if any; flags that are given win."""
    return from_mapping(given(file, flags), file or "the command line")


def given(file: str | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The settings that a TOML file, if any, and flags state; flags win."""
    values: dict[str, Any] = {}
    if file is not None:
        path = Path(file)
        if not path.is_file():
            raise InputError(f"there is no config file {file}: check the path")
        try:
            values = tomllib.loads(path.read_text())
        except (ValueError, RecursionError) as problem:  # also of a number with thousands of digits
            raise InputError(f"{file} is not valid TOML: {str(problem)[:200]}") from problem
    return {**values, **{name: value for name, value in flags.items() if value is not None}}


def resumed(recorded: RunConfig, wanted: dict[str, Any], place: str) -> RunConfig:
    """The settings to resume a run with: as recorded, but the number of epochs may change. Others that are given must be the same."""
    whole = dataclasses.asdict(recorded)
    from_mapping({**whole, **wanted}, "the command line")
    others = {name: value for name, value in wanted.items() if name != "epochs" and value != whole[name]}
    differ = "; ".join(f"{name} is {whole[name]!r} there, not {value!r}" for name, value in others.items())
    if differ:
        raise InputError(
            f"{place} was started with other settings: {differ}. Leave them out to resume it, or start another run with another --out"
        )
    return dataclasses.replace(recorded, epochs=wanted.get("epochs", recorded.epochs))
