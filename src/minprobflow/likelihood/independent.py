"""The baseline every model should beat: units that know nothing of each other."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Num

from ..arguments import shown
from ..errors import InputError
from ..numerics import double_precision
from ..units import Space


def independent_units(space: Space, train: Num[np.ndarray, "n d"], rows: Num[np.ndarray, "m d"]) -> float:
    r"""Mean log-likelihood of `rows` under independent units fitted to `train`, in nats per row.

    $\log p(v) = \theta \cdot f(v) - \log Z(\theta)$ is linear in the features $f$, so their means over `rows` are enough.
    Bits and letters are counted with a pseudocount of one, so that a value missing from `train` is not impossible. Real units
    are Gaussian, with variances of at least a thousandth of their mean.

    Args:
        space: of the model that is compared with this baseline, `model.space`.
        train: the rows whose means (and variances, for real units) the units get.
        rows: the rows to evaluate.

    Returns:
        The baseline, in double precision.

    >>> from minprobflow.units import Binary
    >>> train, rows = np.array([[1], [1]], np.uint8), np.array([[1]], np.uint8)
    >>> round(float(np.exp(independent_units(Binary(1), train, rows))), 6)  # (2 + 1) / (2 + 2)
    0.75
    """
    if not isinstance(space, Space):
        raise InputError(f"space is {shown(space)}: pass that of the model to compare with, model.space")
    train, rows = space.check(train, "train"), space.check(rows, "rows")
    with double_precision():
        logits = space.fitted_logits(train)
        return float(jnp.sum(logits * space.mean_features(rows, pseudocount=0.0)) - space.log_norm(logits))
