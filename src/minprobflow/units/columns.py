"""Tables whose columns are of several kinds: spaces side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..arguments import shown, whole
from ..columns import Kind, Words, column_kinds
from ..errors import InputError
from ..random_bits import subkey
from ..tables import refuse_missing, table
from .base import Discrete, Space
from .bernoulli import Binary
from .categorical import Categories
from .gaussian import Real
from .spin import Signs

if TYPE_CHECKING:
    from .mixed import Mixed

Values = TypeVar("Values", Array, np.ndarray)
Places = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Columns(Space):
    """Spaces side by side. Features, logits and means have one flat axis: those of the first part, then those of the second, ...

    Args:
        parts: the unit types.
        columns: which columns of the table each part has; by default one part after the other.

    >>> table = Columns((Binary(2), Categories(1, 5), Real(3)))
    >>> table.size, table.feature_shape
    (6, (13,))
    """

    parts: tuple[Space, ...]
    columns: Places = ()

    def __post_init__(self) -> None:
        if (
            not isinstance(self.parts, list | tuple)
            or not self.parts
            or not all(isinstance(part, Space) and not isinstance(part, Columns) for part in self.parts)
        ):
            raise InputError("a mixed table is made of unit types: pass such as (mpf.Binary(2), mpf.Real(3))")
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "columns", places([part.size for part in self.parts], self.columns))

    def __new__(cls, parts: Sequence[Space] = (), columns: Places = ()) -> Columns:
        countable = isinstance(parts, list | tuple) and bool(parts) and all(isinstance(part, Discrete) for part in parts)
        return object.__new__(DiscreteColumns if countable else Columns)

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many columns there are."""
        return sum(part.size for part in self.parts)

    @property
    def dtype(self) -> type[np.generic]:  # type: ignore[override]
        """The smallest type that holds the rows of all parts."""
        return np.result_type(*(part.dtype for part in self.parts)).type

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return (sum(math.prod(part.feature_shape) for part in self.parts),)

    @property
    def n_states(self) -> int | float:
        return math.prod(part.n_states for part in self.parts)

    def of_parts(self, x: Values) -> list[Values]:
        """The columns of each part."""
        return [x[..., list(columns)] for columns in self.columns]

    def joined(self, parts: Sequence[Values]) -> Values:
        """Columns of the parts in the table's order."""
        arrays = np if isinstance(parts[0], np.ndarray) else jnp
        return arrays.concatenate(parts, -1)[..., np.argsort(np.concatenate(self.columns))]

    def split(self, joined: Values) -> Iterator[tuple[Space, Values]]:
        """Each part with its share of a flat axis of features."""
        first = 0
        for part in self.parts:
            last = first + math.prod(part.feature_shape)
            yield part, joined[..., first:last].reshape(*joined.shape[:-1], *part.feature_shape)
            first = last

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        return self.joined([part.noise(subkey(key, i), n) for i, part in enumerate(self.parts)])

    def random_rows(self, rng: np.random.Generator, n: int) -> Num[np.ndarray, "n size"]:
        return self.joined([part.random_rows(rng, n) for part in self.parts])

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch F"]:
        return flat([part.features(x) for part, x in zip(self.parts, self.of_parts(v), strict=True)], v.ndim - 1)

    def log_norm(self, logits: Float[Array, "*batch F"]) -> Float[Array, "*batch"]:
        return total([part.log_norm(x) for part, x in self.split(logits)])

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch F"]) -> Float[Array, "*batch size"]:
        return self.joined([part.sample(subkey(key, i), x) for i, (part, x) in enumerate(self.split(logits))])

    def logits(self, means: Float[Array, " F"]) -> Float[Array, " F"]:
        return flat([part.logits(x) for part, x in self.split(means)])

    def even_means(self) -> Float[Array, " F"]:
        return flat([part.even_means() for part in self.parts])

    def mean_features(self, rows: Num[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " F"]:
        return np.concatenate([part.mean_features(x, pseudocount).ravel() for part, x in self._rows_of_parts(rows)])

    def fitted_logits(self, rows: Num[np.ndarray, "n size"]) -> Float[Array, " F"]:
        return flat([part.fitted_logits(x) for part, x in self._rows_of_parts(rows)])

    def mistakes(self, logits: Float[Array, "*batch F"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return self.joined([part.mistakes(x, y) for (part, x), y in zip(self.split(logits), self.of_parts(v), strict=True)])

    def best_guess(self, means: Float[np.ndarray, "*batch F"]) -> Float[np.ndarray, "*batch size"]:
        return self.joined([part.best_guess(x) for part, x in self.split(means)])

    def layer(self, data: object = None, tau: float = 1.0) -> Mixed:
        from .mixed import Mixed

        parts = self._parts(data, "data") if data is not None else [None] * len(self.parts)
        return Mixed(*(part.layer(x, tau) for part, x in zip(self.parts, parts, strict=True)), columns=self.columns)

    def _rows(self, data: object, name: str) -> Num[np.ndarray, "n width"]:
        return self.joined(self._parts(data, name)).astype(self.dtype)

    def _parts(self, data: object, name: str) -> list[Num[np.ndarray, "n part"]]:
        rows = table(data, name)
        refuse_missing(rows, name)
        if rows.shape[1] != self.size:
            raise InputError(f"{name} has {rows.shape[1]} columns but the model has {self.size} units: pass rows of width {self.size}")
        return [
            part.check(x, f"{name} (columns {_listed(columns)}, counted from 0 among these)")
            for part, x, columns in zip(self.parts, self.of_parts(rows), self.columns, strict=True)
        ]

    def _rows_of_parts(self, rows: Num[np.ndarray, "n size"]) -> Iterator[tuple[Space, np.ndarray]]:
        return ((part, x.astype(part.dtype)) for part, x in zip(self.parts, self.of_parts(rows), strict=True))


class DiscreteColumns(Columns, Discrete):  # type: ignore[override]
    """Columns of countable values. The layouts of values and neighbours have room for those of the unit with most values."""

    @property
    def n_values(self) -> int:  # type: ignore[override]
        """That of the column with most values."""
        return max(part.n_values for part in self._countable)

    @property
    def n_states(self) -> int:
        return math.prod(part.n_states for part in self._countable)

    @property
    def neighbours(self) -> tuple[int, ...]:
        return (self.size, self.n_values - 1)

    @property
    def _countable(self) -> list[Discrete]:
        return [part for part in self.parts if isinstance(part, Discrete)]

    @property
    def value_table(self) -> Float[np.ndarray, "size values"]:
        """The values of each column, filled up with its first one."""
        table = np.zeros((self.size, self.n_values), np.float32)
        for part, columns in zip(self._countable, self.columns, strict=True):
            values = np.asarray([-1, 1] if isinstance(part, Signs) else range(part.n_values), np.float32)
            table[list(columns)] = np.pad(values, (0, self.n_values - len(values)), constant_values=values[0])
        return table

    @property
    def counts(self) -> Int[np.ndarray, " size"]:
        """How many values each column has."""
        counts = np.zeros(self.size, int)
        for part, columns in zip(self._countable, self.columns, strict=True):
            counts[list(columns)] = part.n_values
        return counts

    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        digits, rest = [], index
        for count in self.counts.tolist():
            digits.append(rest % count)
            rest = rest // count
        return jnp.asarray(self.value_table)[jnp.arange(self.size)[None], jnp.stack(digits, axis=1)]

    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        return jax.vmap(v.at[..., site].set)(jnp.asarray(self.value_table, v.dtype)[site])

    def others(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "others *batch size"]:
        numbers = site * (self.n_values - 1) + jnp.arange(self.n_values - 1, dtype=site.dtype)
        return jax.vmap(lambda number: self.neighbour(v, number))(numbers)

    def neighbour(self, v: Float[Array, "*batch size"], number: Int[Array, ""]) -> Float[Array, "*batch size"]:
        site, place = number // (self.n_values - 1), number % (self.n_values - 1)
        values = jnp.asarray(self.value_table, v.dtype)[site]
        own = v[..., site]
        other = jnp.where(values[place] < own, values[place], values[place + 1])
        return v.at[..., site].set(jnp.where(place < jnp.asarray(self.counts)[site] - 1, other, own))

    def only_present(self, log_weights: Float[Array, "values ..."], site: Int[Array, ""]) -> Float[Array, "values ..."]:
        missing = self.n_values - log_weights.shape[0]  # one, for the other values
        present = jnp.arange(log_weights.shape[0]) < jnp.asarray(self.counts)[site] - missing
        return jnp.where(present.reshape(-1, *(1,) * (log_weights.ndim - 1)), log_weights, -jnp.inf)

    def missing(self) -> np.ndarray | None:
        return np.arange(self.n_values - 1)[None] >= self.counts[:, None] - 1


SPACES: dict[str, Callable[[int], Space]] = {"binary": Binary, "signs": Signs, "real": Real}


def kinds_of_columns(data: object, words: Words | None = None) -> Columns:
    """What the columns of a table hold: bits, spins, categories (words, or whole numbers from 0 to 31), else real numbers.

    >>> kinds_of_columns([[0, 2, 0.5], [1, 0, 1.5]]).parts
    (Binary(size=1), Categories(size=1, n_values=3), Real(size=1))
    """
    rows = table(data, "data")
    refuse_missing(rows, "data")
    found: dict[Kind, list[int]] = {}
    for column, kind in enumerate(column_kinds(rows, words)):
        found.setdefault(kind, []).append(column)
    spaces = [
        Categories(len(columns), kind.n_values) if kind.kind == "categories" else SPACES[kind.kind](len(columns))
        for kind, columns in found.items()
    ]
    return Columns(tuple(spaces), tuple(tuple(columns) for columns in found.values()))


def places(sizes: Sequence[int], columns: object) -> Places:
    """The columns of parts of these sizes, if they are all columns of a table once; by default one part after the other."""
    if isinstance(columns, tuple) and not columns:
        ends = np.cumsum([0, *sizes]).tolist()
        return tuple(tuple(range(first, last)) for first, last in itertools.pairwise(ends))
    try:
        found = tuple(tuple(whole("columns", c) for c in part) for part in columns)  # type: ignore[attr-defined]
    except TypeError:
        raise InputError(f"columns={shown(columns)}: pass the numbers of the columns of each part") from None
    if [len(part) for part in found] != list(sizes) or sorted(sum(found, ())) != list(range(sum(sizes))):
        raise InputError(f"columns={found} do not share out {sum(sizes)} columns among parts of {', '.join(map(str, sizes))} units")
    return found


def flat(parts: Sequence[Array], batch: int = 0) -> Array:
    """Features of parts along one axis, the first after those of a batch."""
    return jnp.concatenate([part.reshape(*part.shape[:batch], -1) for part in parts], -1)


def total(parts: Sequence[Array]) -> Array:
    """The sum of what the parts give."""
    return sum(parts[1:], start=parts[0])


def _listed(columns: tuple[int, ...]) -> str:
    together = columns == tuple(range(columns[0], columns[-1] + 1)) and len(columns) > 2
    return f"{columns[0]} to {columns[-1]}" if together else ", ".join(map(str, columns[:8])) + (", ..." if len(columns) > 8 else "")
