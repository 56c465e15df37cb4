"""The one-flip product form: memory, saturated weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.numerics import double_precision

B, D, H = 40, 96, 24


def loss(model, v):
    return mpf.MPF1Flip().build(B).loss(model, (), v)[0]


def test_memory_is_linear_in_the_batch():
    """No B x D x D or B x D x H array, in value or gradient: the compiled program's scratch space says so."""
    model, v = mpf.BernoulliRBM.init(0, D, H), jnp.zeros((B, D))
    compiled = jax.jit(jax.value_and_grad(loss)).lower(model, v).compile()
    scratch = compiled.memory_analysis().temp_size_in_bytes
    assert scratch < 4 * (12 * B * D + 16 * D * H)
    assert scratch < 4 * B * D * H / 2  # what the dense form would need at the least, halved
    dense = jax.jit(jax.value_and_grad(dense_loss)).lower(model, v).compile()
    assert dense.memory_analysis().temp_size_in_bytes > 4 * B * D * H / 2  # the measure does see it


def dense_loss(model, v):
    flipped = jnp.abs(v[:, None, :] - jnp.eye(v.shape[1], dtype=v.dtype))
    differences = model.free_energy(v)[:, None] - model.free_energy(flipped)
    return mpf.flow.probability_flow(mpf.flow.NeighbourFlow(differences))


fast_form, dense_form = (jax.jit(jax.value_and_grad(form)) for form in (loss, dense_loss))


@pytest.mark.parametrize("scale", [0.003, 3.0, 20.0, 300.0])
@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_saturated_weights_equal_the_dense_form_in_float64(scale, tau):
    keys = jax.random.split(jax.random.key(int(scale)), 4)
    parts = [scale * jax.random.normal(k, s) for k, s in zip(keys, [(20, 11), (20,), (11,)], strict=False)]
    v = jax.random.bernoulli(keys[3], shape=(B, 20)).astype(float)
    fast, fast_gradient = fast_form(mpf.BernoulliRBM(*parts, tau), v)
    with double_precision():
        doubled = mpf.BernoulliRBM(*(p.astype(np.float64) for p in parts), tau)
        slow, slow_gradient = dense_form(doubled, v.astype(np.float64))
        assert float(fast) == pytest.approx(float(slow), rel=1e-4)
        for a, b in zip(jax.tree.leaves(fast_gradient), jax.tree.leaves(slow_gradient), strict=True):
            assert np.all(np.isfinite(a))
            np.testing.assert_allclose(a, b, atol=1e-4 * float(jnp.abs(b).max()) * max(1.0, scale / 5))


def test_the_flow_itself_has_a_gradient_j_times_as_large():
    model, v = mpf.BernoulliRBM.init(0, 6, 3), jnp.asarray(np.random.default_rng(0).integers(2, size=(5, 6)), jnp.float32)
    (log_j, slope), (j, steep) = (
        jax.value_and_grad(lambda m, log=log: mpf.MPF1Flip(log=log).build(5).loss(m, (), v)[0])(model) for log in (True, False)
    )
    assert float(j) == pytest.approx(np.exp(float(log_j)), rel=1e-5)
    np.testing.assert_allclose(steep.weights, float(j) * slope.weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(v.shape[1], float(j), rtol=0.5)  # of the order of the number of flips
