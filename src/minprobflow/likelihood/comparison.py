"""Models side by side on the same rows, by paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..models.base import Model, as_model
from ..progress import Report
from .estimate import Estimate
from .evaluate import log_partition
from .rows import free_energies, from_log_partition


class Compared(NamedTuple):
    """A model beside the first one, in nats per row."""

    log_likelihood: Estimate
    difference: float
    """mean log-likelihood less that of the first model"""
    stderr: float
    """of the difference; zero for the first model itself"""


def compare(
    models: Sequence[Model],
    data: object,
    method: str = "auto",
    *,
    base_data: object = None,
    progress: bool | Report | None = None,
    **settings: object,
) -> list[Compared]:
    r"""Log-likelihoods of the same rows under several models, and their paired differences to the first model.

    The difference is taken row by row, $d_i = \log p(v_i) - \log p_1(v_i)$, so what the choice of rows adds to both cancels. Its error
    joins that of the mean difference with those of both estimates of log Z: $s^2 = \mathrm{var}(d) / n + s_Z^2 + s_{Z_1}^2$.

    Args:
        models: two or more models over the same space.
        data: rows, none of which was used to train or to choose a model.
        method: exact, ais or auto, as for `log_partition`.
        base_data: as for `log_partition`; by default `data`.
        progress: as for `log_partition`.
        **settings: of `log_partition`, such as seed, chains or betas.

    Returns:
        One `Compared` per model, in their order.

    >>> import minprobflow as mpf
    >>> fair, biased = mpf.BernoulliRBM([[0.0]], [0.0], [0.0]), mpf.BernoulliRBM([[0.0]], [1.0], [0.0])
    >>> first, second = mpf.compare([fair, biased], [[1], [1], [0], [1]])
    >>> f"{second.difference:.3f} +- {second.stderr:.3f}"
    '0.130 +- 0.250'
    """
    if not isinstance(models, Sequence) or len(models) < 2:
        raise InputError("pass at least two models to compare")
    each: list[Float[np.ndarray, " n"]] = []
    found: list[Compared] = []
    for model in models:
        rows = as_model(model).space.check(data)
        log_z = log_partition(model, method, base_data=rows if base_data is None else base_data, progress=progress, **settings)
        each.append(-free_energies(model, rows) - log_z.value)
        apart = each[-1] - each[0]
        errors = log_z.stderr**2 + (found[0].log_likelihood.stderr ** 2 if found else 0.0)
        choice = apart.var(ddof=1) / len(apart) if len(apart) > 1 else 0.0
        stderr = float(np.sqrt(choice + errors)) if found else 0.0
        found.append(Compared(from_log_partition(model, rows, log_z), float(apart.mean()), stderr))
    return found
