"""RBMs by the name of their visible units: short ways to build an `RBM`."""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments import shown
from ..errors import InputError
from ..units import (
    RELATIVE_FLOOR,
    Bernoulli,
    Binary,
    Categorical,
    Categories,
    Columns,
    Gaussian,
    Real,
    Signs,
    Space,
    Spin,
    kinds_of_columns,
)
from .base import layer_sizes, temperature
from .rbm import RBM


class BernoulliRBM:
    r"""An `RBM` whose visible and hidden units are bits.

    .. math::
        E(v,h) = -v'Wh - b'v - c'h, \qquad F(v) = -b'v/\tau - \sum_j \mathrm{softplus}((c_j + v'W_j)/\tau)

    Args:
        weights: W, shape (n_visible, n_hidden).
        visible_bias: b, shape (n_visible,).
        hidden_bias: c, shape (n_hidden,).
        tau: the temperature, positive.

    Returns:
        An `RBM`.

    >>> float(BernoulliRBM([[1.0]], [0.0], [0.0]).energy([1], [1]))
    -1.0
    """

    def __new__(cls, weights: object, visible_bias: object, hidden_bias: object, tau: float = 1.0) -> RBM:  # type: ignore[misc]
        return RBM(Bernoulli(visible_bias), Bernoulli(hidden_bias), weights, tau)

    @staticmethod
    def init(seed: object, n_visible: int, n_hidden: int, data: object = None, tau: float = 1.0) -> RBM:
        """Small Gaussian weights; with `data`, visible biases that give its means (else zero).

        Args:
            seed: a seed, or a JAX key.
            n_visible: the number of visible units.
            n_hidden: the number of hidden units.
            data: rows of 0 and 1.
            tau: the temperature.

        >>> BernoulliRBM.init(0, n_visible=6, n_hidden=4).weights.shape
        (6, 4)
        """
        n_visible, n_hidden = layer_sizes(n_visible, n_hidden)
        return RBM.init(seed, Binary(n_visible), Binary(n_hidden), data, tau)


class SpinRBM:
    r"""An `RBM` whose visible and hidden units are spins, -1 or +1.

    .. math::
        E(v,h) = -v'Wh - b'v - c'h, \qquad F(v) = -b'v/\tau - \sum_j \log 2\cosh((c_j + v'W_j)/\tau)

    Args:
        weights: W, shape (n_visible, n_hidden).
        visible_bias: b, shape (n_visible,).
        hidden_bias: c, shape (n_hidden,).
        tau: the temperature, positive.

    Returns:
        An `RBM`.

    >>> float(SpinRBM([[1.0]], [0.0], [0.0]).energy([1], [-1]))
    1.0
    """

    def __new__(cls, weights: object, visible_bias: object, hidden_bias: object, tau: float = 1.0) -> RBM:  # type: ignore[misc]
        return RBM(Spin(visible_bias), Spin(hidden_bias), weights, tau)

    @staticmethod
    def init(seed: object, n_visible: int, n_hidden: int, data: object = None, tau: float = 1.0) -> RBM:
        """Small Gaussian weights; with `data` (rows of -1 and +1), visible biases that give its means (else zero).

        Args: as in `BernoulliRBM.init`.

        >>> SpinRBM.init(0, n_visible=6, n_hidden=4).space
        Signs(size=6)
        """
        n_visible, n_hidden = layer_sizes(n_visible, n_hidden)
        return RBM.init(seed, Signs(n_visible), Signs(n_hidden), data, tau)


class CategoricalRBM:
    r"""An `RBM` whose visible units have the values 0, ..., q - 1, and whose hidden units are bits.

    .. math::
        E(v,h) = -\sum_{ij} W_{ij}(v_i) h_j - \sum_i b_i(v_i) - c'h

    Args:
        weights: W, shape (n_visible, q, n_hidden).
        visible_bias: b, shape (n_visible, q).
        hidden_bias: c, shape (n_hidden,).
        tau: the temperature, positive.

    Returns:
        An `RBM`.

    >>> CategoricalRBM.init(0, n_visible=4, n_values=3, n_hidden=2).free_energy([[0, 1, 2, 0]]).shape
    (1,)
    """

    def __new__(cls, weights: object, visible_bias: object, hidden_bias: object, tau: float = 1.0) -> RBM:  # type: ignore[misc]
        return RBM(Categorical(visible_bias), Bernoulli(hidden_bias), weights, tau)

    @staticmethod
    def init(seed: object, n_visible: int, n_values: int, n_hidden: int, data: object = None, tau: float = 1.0) -> RBM:
        """Small Gaussian weights; with `data`, visible biases that give its frequencies (else zero).

        Args:
            seed: a seed, or a JAX key.
            n_visible: the number of visible units.
            n_values: q, the number of values of a visible unit.
            n_hidden: the number of hidden units.
            data: rows of whole numbers from 0 to q - 1.
            tau: the temperature.
        """
        space = Categories(n_visible, n_values)
        _, n_hidden = layer_sizes(space.size, n_hidden, space.n_values)
        return RBM.init(seed, space, Binary(n_hidden), data, tau)


class GaussianRBM:
    r"""An `RBM` whose visible units are real, with a learned variance each, and whose hidden units are bits.

    .. math::
        p(v|h) = \mathcal N(b + Wh, \sigma^2\tau), \qquad F(v) = \sum_i \frac{(v_i - b_i)^2}{2\sigma_i^2\tau}
        - \sum_j \mathrm{softplus}\Big(\Big(c_j + \sum_i \frac{v_i - b_i}{\sigma_i^2} W_{ij}\Big)/\tau\Big)

    p(v) is a density: its logarithm (in nats) can be positive, and depends on the units of v. See `Gaussian` for the form.

    Args:
        weights: W, shape (n_visible, n_hidden), in the units of v.
        visible_bias: b, shape (n_visible,).
        hidden_bias: c, shape (n_hidden,).
        log_variance: z, shape (n_visible,), with sigma^2 = exp(z) + min_variance.
        min_variance: the finest that a visible unit is resolved: no variance falls below it.
        tau: the temperature, positive.

    Returns:
        An `RBM`.

    >>> rbm = GaussianRBM([[2.0]], [1.0], [0.0], [0.0], min_variance=0.0)
    >>> float(rbm.energy([3.0], [1]))  # (3 - 1)^2 / 2 - (3 - 1) * 2
    -2.0
    """

    def __new__(  # type: ignore[misc]
        cls,
        weights: object,
        visible_bias: object,
        hidden_bias: object,
        log_variance: object,
        min_variance: float = RELATIVE_FLOOR,
        tau: float = 1.0,
    ) -> RBM:
        return RBM(Gaussian(visible_bias, log_variance, min_variance), Bernoulli(hidden_bias), weights, tau)

    @staticmethod
    def init(seed: object, n_visible: int, n_hidden: int, data: object = None, min_variance: float | None = None, tau: float = 1.0) -> RBM:
        """Small weights; with `data`, its means and variances (else 0 and 1).

        Args:
            seed: a seed, or a JAX key.
            n_visible: the number of visible units.
            n_hidden: the number of hidden units.
            data: rows of numbers.
            min_variance: by default a thousandth of the data's mean variance. Columns in different units: standardise them first.
            tau: the temperature.

        >>> GaussianRBM.init(0, n_visible=6, n_hidden=4).visible.variance.round(3).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        n_visible, n_hidden = layer_sizes(n_visible, n_hidden)
        return RBM.init(seed, Real(n_visible).layer(data, temperature(tau), min_variance), Binary(n_hidden), tau=tau)


class MixedRBM:
    """An `RBM` for tables whose columns are of several kinds, with hidden bits.

    >>> MixedRBM.init(0, [Binary(2), Real(1)], n_hidden=4).space.size
    3
    """

    @staticmethod
    def init(seed: object, columns: Sequence[Space] | Columns | None, n_hidden: int, data: object = None, tau: float = 1.0) -> RBM:
        """Small weights; with `data`, visible units that fit each column alone.

        Args:
            seed: a seed, or a JAX key.
            columns: the unit types from left to right, such as [mpf.Binary(3), mpf.Categories(2, 5), mpf.Real(4)]; or None to tell
                them from the data (bits, spins, whole numbers from 0 to 31 as categories, else real numbers).
            n_hidden: the number of hidden units.
            data: rows of numbers.
            tau: the temperature.

        >>> table = [[0, 2, 0.5], [1, 0, 1.5], [1, 1, -0.5]]
        >>> [type(part).__name__ for part in MixedRBM.init(0, None, n_hidden=2, data=table).visible.parts]
        ['Bernoulli', 'Categorical', 'Gaussian']
        """
        if columns is None and data is None:
            raise InputError("columns=None without data: pass the unit types of the columns, or data to tell them from")
        if not isinstance(columns, Columns | list | tuple | None):
            raise InputError(f"columns={shown(columns)}: pass the unit types of the columns, such as [mpf.Binary(3), mpf.Real(4)]")
        space = kinds_of_columns(data) if columns is None else columns if isinstance(columns, Columns) else Columns(tuple(columns))
        _, n_hidden = layer_sizes(space.size, n_hidden)
        return RBM.init(seed, space, Binary(n_hidden), data, tau)
