"""What is to be run: the tables' rows, and each profile's settings for them (experiments.toml)."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from minprobflow.errors import InputError

TABLES = ("table1", "table2", "table3")
PROFILES = ("best", "paper", "quick")
AIS = {"chains": 100, "first_betas": 4000, "max_betas": 16_000}  # in the end, unless a table or row says otherwise


@dataclass(frozen=True)
class Row:
    """A line of a table. A setting that is a list is to be searched over."""

    table: str
    profile: str
    name: str  # as the paper prints it: CD10, PCD1, MPF-1flip, ...
    rule: str
    rule_settings: dict[str, Any]
    settings: dict[str, Any]
    published: dict[str, Any]
    like: Row | None = None  # the row of a smaller k whose choice this one takes over
    ais: dict[str, int] = field(default_factory=dict)  # where its models are evaluated otherwise than those of the table

    @property
    def searched(self) -> Row:
        """The row whose search decides on this one's settings: mostly itself."""
        return self.like or self

    def candidates(self) -> list[dict[str, Any]]:
        """All choices of the settings that are searched over: one empty choice if there is nothing to choose."""
        lists = {name: values for name, values in self.settings.items() if isinstance(values, list)}
        return [dict(zip(lists, choice, strict=True)) for choice in itertools.product(*lists.values())]

    def resolved(self, choice: dict[str, Any], trial: bool = False) -> dict[str, Any]:
        """All settings of a run (or of a trial of the search) with this choice, as they are recorded: a record is current if they agree."""
        settings = {**self.settings, **self.rule_settings, "rule": self.rule, **choice}
        trial_epochs = settings.pop("search_epochs", None)
        if isinstance(settings["epochs"], dict):  # a length for each rate
            settings["epochs"] = settings["epochs"][settings["learning_rate"]]
        if not trial:
            settings.pop("search_seeds", None)
        shorter = trial and trial_epochs is not None and "epochs" not in choice
        return settings | ({"epochs": trial_epochs} if shorter else {})


@dataclass(frozen=True)
class Experiment:
    """One table under one profile."""

    table: str
    profile: str
    title: str
    data: str
    hidden: int
    estimators: tuple[str, ...]
    looks: int  # at the validation likelihood in a run whose curve is drawn
    score: str  # of a model on the validation split by AIS: a `score` of `minprobflow.train.Config`
    ais: dict[str, int]  # chains and temperatures, at first and at most, for the evaluation of finished models
    seeds: int
    rows: tuple[Row, ...]

    def ais_of(self, row: Row) -> dict[str, int]:
        """What AIS gets for the finished models of a row."""
        return {**self.ais, **row.ais}

    def selected(self, names: list[str] | None) -> tuple[Row, ...]:
        """The rows of these names."""
        known = {row.name: row for row in self.rows}
        for name in names or []:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise InputError(
                    f"{self.table} has no row {name!r}: " + (f"did you mean {near[0]}?" if near else f"use {', '.join(known)}")
                )
        return self.rows if names is None else tuple(known[name] for name in names)


@cache
def published() -> dict[str, list[dict[str, Any]]]:
    """The figures printed in the paper, by table."""
    return json.loads(resources.files(__package__).joinpath("published.json").read_text())["tables"]


@cache
def _settings() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("experiments.toml").read_text())


def experiment(table: str, profile: str) -> Experiment:
    """A table under a profile."""
    for value, known, what in ((table, TABLES, "table"), (profile, PROFILES, "profile")):
        if value not in known:
            raise InputError(f"unknown {what} {value!r}: use {', '.join(known)}")
    about = _settings()[table]
    return Experiment(
        table,
        profile,
        about["title"],
        about["data"],
        about["hidden"],
        tuple(about["estimators"]),
        about.get("looks", 8),
        about.get("score", "interval"),
        {**AIS, **about.get("ais", {})},
        about[profile]["seeds"],
        _rows(table, profile, about[profile]),
    )


def _rows(table: str, profile: str, about: dict[str, Any]) -> tuple[Row, ...]:
    rows = [_row(table, profile, about, line) for line in published()[table]]
    k = about.get("search_k")
    searched = {row.rule: row for row in rows if row.rule_settings.get("k") == k}
    return tuple(replace(row, like=searched[row.rule]) if k and row.rule_settings.get("k", 0) > k else row for row in rows)


def _row(table: str, profile: str, about: dict[str, Any], line: dict[str, Any]) -> Row:
    name = line["method"]
    rule, k = _rule(name)
    common = {key: value for key, value in about.items() if key not in ("rules", "rows", "seeds", "search_k")}
    settings = {**common, **about["rules"][rule], **about.get("rows", {}).get(name, {})}
    ais = settings.pop("ais", {})
    if settings["batch_size"] == "paper":
        settings["batch_size"] = line["batch_size"]
    return Row(table, profile, name, rule, {} if k is None else {"k": k}, settings, line, ais=ais)


def _rule(name: str) -> tuple[str, int | None]:
    if name == "MPF-1flip":
        return "mpf-1flip", None
    match = re.fullmatch(r"([A-Z]+)(\d*)", name)
    assert match, name
    return match[1].lower(), int(match[2] or 1)
