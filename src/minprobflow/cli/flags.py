"""Flags made from settings: a command gets one for every field of the specs that are found, grouped in its help."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import InputError
from .endings import stoppable

if TYPE_CHECKING:
    from ..specs import Setting

Groups = Mapping[str, Mapping[str, list["Setting"]]]
"""by the title of a group: settings by name, each as the specs that have it define it"""

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress on standard error")]
Seed = Annotated[int, typer.Option(min=0, help="all random numbers follow from it")]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", rich_help_panel="Data", help="an option of the data, such as threshold=0.5 (see above); may be repeated"
    ),
]
Which = Annotated[str, typer.Option("--model", help="best or last model of a run")]


class GroupedCommand(TyperCommand):
    """Its help has a section per group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            title = "Arguments" if param.param_type_name == "argument" else getattr(param, "rich_help_panel", None) or "Options"
            if (told := param.get_help_record(ctx)) is not None:
                sections.setdefault(title, []).append(told)
        sections["Options"] = sections.pop("Options")  # the last
        for title, entries in sections.items():
            with formatter.section(title):
                formatter.write_dl(entries)


class Commands(TyperGroup):
    """The command line. A command with flags made from settings is built when it is used, so that `--help` is quick."""

    made: dict[str, Callable[[], object]] = {}  # noqa: RUF012

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # of click, or of the copy in newer typer
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.made[name]() if name in self.made else command, rest


def with_settings(command: Callable[..., None], help_text: str, groups: Callable[[], Groups]) -> Callable[[], object]:
    """Builds a command: `command(..., settings)` with a flag for every setting in `groups()`; those given come as `settings`."""

    def build() -> object:
        found = groups()
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
        flags = {name: having for settings in found.values() for name, having in settings.items()}

        def run(**given: object) -> None:
            settings = {name: _value(name, given.pop(name), having) for name, having in flags.items()}
            command(**given, settings={name: value for name, value in settings.items() if value is not None})

        made = [_parameter(name, having, title) for title, settings in found.items() for name, having in settings.items()]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *made)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app = typer.Typer(rich_markup_mode=None, add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
        app.command(cls=GroupedCommand, help=help_text)(stoppable(run))
        return typer.main.get_command(app)

    return build


def grouped(specs: Iterable[type], names: Iterable[str] | None = None) -> dict[str, list[Setting]]:
    """The settings of these specs by name, for a group of flags; `names` if not all."""
    from ..specs import settings_of

    found: dict[str, list[Setting]] = {}
    for spec in specs:
        for name, setting in settings_of(spec).items():
            if names is None or name in names:
                found.setdefault(name, []).append(setting)
    return found


def _parameter(name: str, having: list[Setting], title: str) -> inspect.Parameter:
    kinds = {kind for setting in having for kind in setting.kinds}
    annotation = next((kind for kind in (bool, int, float) if kinds == {kind}), str)
    if kinds == {int, float}:
        annotation = float
    metavar = "|".join(having[0].choices) or None
    option = typer.Option(help=_help(having), rich_help_panel=title, metavar=metavar)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation | None, option])


def _help(having: list[Setting]) -> str:
    """The sentences, and the default where it is one for all and is not stated in words."""
    told = "; or ".join(dict.fromkeys(setting.help for setting in having))
    defaults = {repr(setting.default): setting.default for setting in having}
    default = next(iter(defaults.values())) if len(defaults) == 1 else None
    return f"{told}  [default: {default}]" if default not in (None, {}) and not isinstance(default, bool) else told


def _value(name: str, value: object, having: list[Setting]) -> object:
    """What a flag states: text that may also be a number is one if it looks like one."""
    kinds = {kind for setting in having for kind in setting.kinds}
    if isinstance(value, str) and kinds - {str}:
        for kind in (int, float):
            try:
                return kind(value) if kind in kinds else float("")
            except ValueError:
                pass
        if str not in kinds:
            raise InputError(f"--{name.replace('_', '-')} {value}: expected a number")
    return value


def data_options(texts: Iterable[str] | None) -> dict[str, object]:
    """Options of data by name, from NAME=VALUE.

    >>> data_options(["threshold=0.5", "drop=id"])
    {'threshold': 0.5, 'drop': 'id'}
    """
    found: dict[str, object] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--data-option {text}: write it as NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
