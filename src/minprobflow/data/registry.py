"""Data sets by name, or from a user's file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from ..arguments import meant
from ..errors import InputError
from ..frames import is_frame
from ..plugins import discover
from ..tables import within_memory
from .base import REGISTRY, Dataset, DatasetSpec
from .files import shown, text_path
from .from_file import from_file
from .loader_options import Option, converted, declared


def datasets() -> dict[str, DatasetSpec]:
    """Every data set known by name."""
    discover(sys.modules[__package__])
    return dict(sorted(REGISTRY.items()))


def load_dataset(name: object, **options: object) -> Dataset:
    """Load a data set by its name, or the rows of a file or a data frame.

    Packed files (.gz, .npz, .mat, .parquet) may unpack to at most 4 GiB or half of the memory, whichever is smaller; the environment
    variable MINPROBFLOW_MAX_BYTES changes that.

    Args:
        name: one of `mpf.data.datasets()`; the path of a .csv, .tsv, .parquet, .npy, .npz, .mat, IDX or text file; or a data frame of
            pandas or polars (docs/data.md says how columns are read).
        **options: those that `mpf.data.options(name)` lists. They are converted to the type of each option, so that text will do:
            `grey="false"` is `grey=False`.

    Returns:
        A `Dataset`: train, valid and test rows; labels, names of the columns and words for their values where there are any; and where
        they come from.

    >>> load_dataset("digits").train.shape
    (1200, 64)
    """
    load, what = (partial(from_file, name), "the frame") if is_frame(name) else _loader(name)
    given = converted(load, options, what)
    with within_memory(what, "use a machine with more memory, or a file with fewer rows"):
        return load(**given)


def options(name: str | os.PathLike[str] | None = None) -> list[Option]:
    """The options of a data set, or of a file (None, or its path): name, type in words, default, meaning.

    >>> [(option.name, option.type, option.default) for option in options("digits")]
    [('grey', 'true or false', False)]
    """
    return declared(partial(from_file, "") if name is None else _loader(name)[0])


def is_file(name: object) -> bool:
    """Whether this names a file, not a data set."""
    text = text_path(name)
    return not isinstance(name, str) or (text not in datasets() and (any(mark in text for mark in "./\\:\0") or _exists(text)))


def _loader(name: object) -> tuple[Callable[..., Dataset], str]:
    """What loads it, and what messages call it."""
    known, text = datasets(), text_path(name)
    if isinstance(name, str) and name in known:
        return known[name].load, f"data set {name!r}"
    if is_file(name):
        return partial(from_file, text), shown(text)
    raise InputError(
        f"unknown data set {shown(repr(text))}{meant(text, known)}: the known ones are {', '.join(known)}; or give the path of a file"
    )


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False
