"""`minprobflow sample`: draw from a model."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .endings import write_output
from .flags import AsJson, Quiet, Seed, Which

if TYPE_CHECKING:
    import numpy as np

    from ..columns import ColumnNames
    from ..data import Dataset
    from ..models import Trajectory
    from ..models.base import Model

HELP = """Draw samples from a run folder or a model file, as a picture (.png), a table (.csv), rows of numbers (.npy) or sequences
(.fasta). A table has the names of the columns and the words that the data had.

Examples:

  minprobflow sample runs/mnist -n 64 --steps 1000 --out samples.png

  minprobflow sample runs/mnist --start data --clamp top --steps 500 --out inpainted.png

  minprobflow sample runs/survey -n 1000 --out samples.csv

  minprobflow sample runs/mnist --equilibrium --steps 2000 --out samples.png

  minprobflow sample runs/family -n 1000 --out family.fasta
"""
HALVES = ("top", "bottom", "left", "right")


def sample(
    place: Annotated[str, typer.Argument(metavar="RUN", help="a run folder or a .safetensors file")],
    n: Annotated[int, typer.Option("-n", help="number of chains")] = 64,
    steps: Annotated[int, typer.Option(help="Gibbs steps")] = 1000,
    start: Annotated[str, typer.Option(help="noise, data or particles (of the training run)")] = "noise",
    equilibrium: Annotated[
        bool,
        typer.Option(
            "--equilibrium", help="exchange states along the run's trajectory, or else along a ladder of scaled weights; steps are rounds"
        ),
    ] = False,
    clamp: Annotated[str | None, typer.Option(metavar="MASK", help="units held: top, bottom, left, right, or a .npy mask")] = None,
    which: Which = "best",
    out: Annotated[str | None, typer.Option(metavar="FILE", help=".png, .csv, .npy or .fasta; by default what suits the data")] = None,
    alphabet: Annotated[
        str | None, typer.Option(metavar="LETTERS", help="of sequences, the gap first; by default that of the run's data, or of proteins")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw samples."""
    from ..progress import phases
    from ..runs.open import open_columns, open_data, open_model
    from ..samplers import sample as draw

    if out is not None and Path(out).suffix not in (".png", ".csv", ".npy", ".fasta"):
        raise InputError(f"--out {out}: end it in .png, .csv, .npy or .fasta")
    model = open_model(place, which)
    is_run = Path(place).is_dir()
    data = open_data(place) if is_run else None
    columns = open_columns(place, which)
    shape = data.image_shape if data else _square(model, columns)
    letters = alphabet or (data and data.alphabet)
    if out is None:
        out = "samples.fasta" if letters else "samples.png" if shape else "samples.csv" if columns else "samples.npy"
    if shape is None and out.endswith(".png"):
        raise InputError(f"{place} is about rows of {model.space.size} units that are not images: write --out samples.csv")
    if out.endswith(".fasta"):
        letters = _alphabet(place, model, letters)
    begin = None if start == "noise" else _start(place, start, n, seed, is_run)
    held = None if clamp is None else _mask(clamp, shape, model)
    if held is not None and begin is None:
        raise InputError("--clamp holds units of given rows: add --start data")
    unit = "rounds of exchange" if equilibrium else "steps"
    with phases(None if not quiet else False) as progress:
        if progress:
            progress(f"{n} chains of {steps:,} {unit}", 0.0)
        along = _ladder(place, model, data, seed) if equilibrium else None
        rows = draw(model, n=n, steps=steps, seed=seed, start=begin, held=held, along=along)
    title = f"after {steps:,} {unit} from {start}" + (f", {clamp} held" if clamp else "")
    write_output(out, _content(out, rows, shape, letters, columns, title))
    print(json.dumps({"out": out, "n": n, "steps": steps, "units": model.space.size, "seed": seed}) if as_json else out)


def _ladder(place: str, model: Model, data: Dataset | None, seed: int) -> Trajectory:
    """The trajectory of the run; without one, a ladder of scaled weights."""
    from ..likelihood.trajectory import scaled_ladder
    from ..random_bits import as_key
    from ..runs.open import open_trajectory

    return open_trajectory(place, model) or scaled_ladder(as_key(seed), model, None if data is None else data.train)


def _content(
    out: str, rows: np.ndarray, shape: tuple[int, int] | None, letters: str | None, columns: ColumnNames | None, title: str
) -> bytes:
    import numpy as np

    from .. import pictures
    from ..data import csv_text, fasta_text

    if out.endswith(".fasta"):
        assert letters is not None
        return fasta_text(rows, letters).encode()
    if out.endswith(".csv"):
        return csv_text(rows, columns).encode()
    if out.endswith(".npy"):
        buffer = io.BytesIO()
        np.save(buffer, rows)
        return buffer.getvalue()
    assert shape is not None
    return pictures.png(pictures.grid(rows, shape), title)


def _alphabet(place: str, model: Model, letters: str | None) -> str:
    from ..data import AMINO_ACIDS

    n_values = getattr(model.space, "n_values", 0)
    letters = letters or AMINO_ACIDS
    if len(letters) != n_values:
        raise InputError(f"{place} has units with {n_values or 'real'} values, and {letters} has {len(letters)} letters: pass --alphabet")
    return letters


def _start(place: str, start: str, n: int, seed: int, is_run: bool) -> np.ndarray:
    import numpy as np

    from ..runs.open import open_data, open_state

    if start not in ("data", "particles") or not is_run:
        raise InputError(f"--start {start}: use noise; or data or particles with a run folder")
    if start == "data":
        rows = open_data(place).test
    else:
        particles = getattr(open_state(place).rule, "states", None)
        if particles is None:
            raise InputError(f"the rule of {place} keeps no particles: use --start noise or data")
        rows = np.asarray(particles)
    return rows[np.random.default_rng(seed).choice(len(rows), size=n, replace=n > len(rows))]


def _mask(clamp: str, shape: tuple[int, int] | None, model: Model) -> np.ndarray:
    import numpy as np

    from ..data.files import read_array

    if clamp not in HALVES:
        if not clamp.endswith(".npy"):
            raise InputError(f"--clamp {clamp}: use {', '.join(HALVES)}, or a .npy file with one flag per unit")
        mask = read_array(clamp)
        if mask.size == model.space.size or mask.shape[1:] == (model.space.size,):
            return mask.ravel() if mask.size == model.space.size else mask
        raise InputError(
            f"{clamp} has shape {mask.shape}: give one flag for each of the {model.space.size} units, as a row, as an image, "
            "or as a table with one row per sample"
        )
    if shape is None:
        raise InputError(f"--clamp {clamp} needs images: give a .npy mask with one flag for each of {model.space.size} units")
    rows, columns = np.indices(shape)
    held = {
        "top": rows < shape[0] // 2,
        "bottom": rows >= shape[0] // 2,
        "left": columns < shape[1] // 2,
        "right": columns >= shape[1] // 2,
    }
    return held[clamp].ravel()


def _square(model: Model, columns: ColumnNames | None) -> tuple[int, int] | None:
    from ..data.cells import are_numbered

    if columns is not None and (columns.words is not None or not are_numbered(columns.names or ())):
        return None
    side = int(model.space.size**0.5)
    return (side, side) if side * side == model.space.size and getattr(model.space, "n_values", 2) == 2 else None
