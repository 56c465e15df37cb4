"""`minprobflow datasets`: what can be trained on."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="List the data sets, describe one, or download one.", add_completion=False, rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def list_datasets(context: typer.Context) -> None:
    """Name, size, whether its files are in the data folder."""
    if context.invoked_subcommand is not None:
        return
    from ..data import datasets
    from ..data.folder import VARIABLE, data_folder

    for spec in datasets().values():
        sizes = " / ".join(f"{n:,}" for n in spec.sizes)
        print(f"{spec.name:24} {sizes:>24} x {spec.width:<4}  {_state(spec.name):8}  {spec.about}")
    print(f"\nfiles are looked for in {data_folder()} (set {VARIABLE} to change that)")


@app.command()
def info(name: Annotated[str, typer.Argument(help="a data set's name")]) -> None:
    """What it is, its options, its files and their checksums."""
    from ..data import options
    from ..data.folder import data_folder

    spec = _spec(name)
    print(f"{spec.name}: {spec.about}")
    print(f"train / valid / test: {' / '.join(f'{n:,}' for n in spec.sizes)}, {spec.width} units; {_state(name)}")
    for option in options(name):
        print(f"  --data-option {option.name}=...  {option.meaning}\n    {option.type}; default {option.default}")
    for i, files in enumerate((spec.files, *spec.alternatives)):
        if i > 0:
            print("or")
        for file in files:
            print(f"  {data_folder() / file.name}\n    sha256 {file.sha256}")
            for url in file.urls:
                print(f"    {url}")


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="a data set's name")]) -> None:
    """Download its files if they are not there, and check them."""
    from ..data import load_dataset

    _spec(name)
    data = load_dataset(name)
    print(f"{name}: {len(data.train):,} / {len(data.valid):,} / {len(data.test):,} examples, files checked")


def _spec(name: str):  # type: ignore[no-untyped-def]
    from ..data import datasets
    from ..errors import InputError

    known = datasets()
    if name not in known:
        raise InputError(f"unknown data set {name!r}: the known ones are {', '.join(known)}")
    return known[name]


def _state(name: str) -> str:
    spec = _spec(name)
    return "embedded" if not spec.files else "present" if spec.is_present() else "absent"
