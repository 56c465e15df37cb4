"""Sums of softplus by products, effective shares: against the plain float64 formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minprobflow.numerics import effective_share, sum_softplus, sum_softplus_difference


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("n", [1, 16, 37])
def test_sums_of_softplus(scale, n):
    a, b = (scale * np.asarray(jax.random.normal(jax.random.key(i), (50, n)), np.float64) for i in range(2))

    def plain(x):
        return np.logaddexp(0, x).sum(-1)

    eps = np.finfo(np.float32).eps
    bound = 4 * eps * (np.abs(a).sum(-1) + np.abs(b).sum(-1) + n)  # a rounding of each term, twice
    assert np.all(np.abs(sum_softplus(jnp.asarray(a, jnp.float32)) - plain(a)) <= bound)
    assert np.all(np.abs(sum_softplus_difference(*(jnp.asarray(x, jnp.float32) for x in (a, b))) - (plain(a) - plain(b))) <= bound)


def test_gradient_of_softplus_sum_is_the_sigmoid_everywhere():
    x = jnp.asarray([-200.0, -3.0, 0.0, 1e-3, 4.0, 200.0])
    np.testing.assert_allclose(jax.grad(sum_softplus)(x), 1 / (1 + np.exp(-np.asarray(x, np.float64))), rtol=1e-6, atol=1e-30)
    second = jax.jacfwd(jax.grad(sum_softplus))(x)
    s = np.asarray(jax.nn.sigmoid(x), np.float64)
    np.testing.assert_allclose(second, np.diag(s * (1 - s)), atol=1e-6)


def test_effective_share():
    assert float(effective_share(jnp.full(8, -1e4))) == pytest.approx(1)
    assert float(effective_share(jnp.asarray([0.0, -500.0, -500.0, -500.0]))) == pytest.approx(1 / 4)
    w = np.asarray([0.1, 2.0, 3.0])
    assert float(effective_share(jnp.log(jnp.asarray(w)) + 300)) == pytest.approx(w.sum() ** 2 / (3 * (w**2).sum()), rel=1e-4)
