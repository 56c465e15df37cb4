"""`minprobflow datasets`: what can be trained on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .endings import stoppable
from .flags import AsJson, DataOption, Quiet, data_options

if TYPE_CHECKING:
    from ..data import DatasetSpec

app = typer.Typer(
    help="List the data sets, describe one, or download one.", add_completion=False, rich_markup_mode=None, invoke_without_command=True
)
Name = Annotated[str, typer.Argument(help="a data set's name; for info also a file")]


@app.callback()
def list_datasets(context: typer.Context, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Name, size, whether its files are in the data folder."""
    if context.invoked_subcommand is not None:
        return
    from ..data import datasets
    from ..data.folder import VARIABLE, data_folder

    if as_json:
        print(json.dumps({"folder": str(data_folder()), "datasets": [_record(spec) for spec in datasets().values()]}))
        return
    for spec in datasets().values():
        sizes = " / ".join(f"{n:,}" for n in spec.sizes)
        print(f"{spec.name:24} {sizes:>24} x {spec.width:<4}  {_state(spec):8}  {spec.about}")
    if not quiet:
        print(f"\nfiles are looked for in {data_folder()} (set {VARIABLE} to change that)")


@app.command()
def info(name: Name, data_option: DataOption = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """What it is, its options, its files and their checksums; of a file of your own, what is understood of it."""
    from ..data import options
    from ..data.folder import data_folder
    from ..data.registry import is_file

    if is_file(name):
        return _about_file(name, data_options(data_option), as_json)
    if data_option:
        raise InputError(f"--data-option is for files, and {name} is a data set: leave it out")
    spec, known = _spec(name), options(name)
    if as_json:
        listed = [
            [{"path": str(data_folder() / file.name), "sha256": file.sha256, "urls": file.urls} for file in files]
            for files in (spec.files, *spec.alternatives)
        ]
        print(json.dumps({**_record(spec), "options": [option._asdict() for option in known], "files": listed}, default=str))
        return
    print(f"{spec.name}: {spec.about}")
    print(f"train / valid / test: {' / '.join(f'{n:,}' for n in spec.sizes)}, {spec.width} units; {_state(spec)}")
    for option in known:
        print(f"  --data-option {option.name}=...  {option.meaning}\n    {option.type}; default {option.default}")
    for i, files in enumerate(() if quiet else (spec.files, *spec.alternatives)):
        if i > 0:
            print("or")
        for file in files:
            print(f"  {data_folder() / file.name}\n    sha256 {file.sha256}")
            for url in file.urls:
                print(f"    {url}")


@app.command()
@stoppable
def fetch(name: Name, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Download its files if they are not there, and check them."""
    from ..data import load_dataset

    data = load_dataset(_spec(name).name)
    sizes = len(data.train), len(data.valid), len(data.test)
    if as_json:
        print(json.dumps({"name": name, "sizes": sizes, "sha256": data.sha256}))
    elif not quiet:
        print(f"{name}: {' / '.join(f'{n:,}' for n in sizes)} examples, files checked")


def _about_file(name: str, options: dict[str, object], as_json: bool) -> None:
    from ..data import describe, load_dataset

    data = load_dataset(name, **options)
    if as_json:
        sizes = len(data.train), len(data.valid), len(data.test)
        print(json.dumps({"name": name, "sizes": sizes, "width": data.train.shape[1], "columns": data.columns, "words": data.words}))
    else:
        first, *more = describe(data)
        print("\n  ".join([f"{name}: {first}", *more]))


def _spec(name: str) -> DatasetSpec:
    from ..data import datasets

    known = datasets()
    if name not in known:
        raise InputError(f"unknown data set {name!r}: the known ones are {', '.join(known)}")
    return known[name]


def _record(spec: DatasetSpec) -> dict[str, object]:
    return {"name": spec.name, "about": spec.about, "sizes": spec.sizes, "width": spec.width, "state": _state(spec)}


def _state(spec: DatasetSpec) -> str:
    return "embedded" if not spec.files else "present" if spec.is_present() else "absent"
