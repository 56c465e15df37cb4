"""The matrix products of an update of CD-k or PCD-k, and nothing else: what no implementation can go below.

2k products of k Gibbs steps, two for the hidden means of data and particles, two for the gradient.
"""

import jax
import jax.numpy as jnp
import numpy as np
import torch


def floors(n_visible, n_hidden, batch, k, updates):
    """Functions that do `updates` updates' products in NumPy, PyTorch and JAX."""
    rng = np.random.default_rng(0)
    weights = rng.normal(scale=0.05, size=(n_visible, n_hidden)).astype(np.float32)
    v = (rng.random((batch, n_visible)) < 0.2).astype(np.float32)
    h = rng.random((batch, n_hidden)).astype(np.float32)

    def loop(v, weights, h):
        for _ in range(updates):
            for _ in range(k):
                (v @ weights) @ weights.T
            v @ weights
            v @ weights
            v.T @ h
            v.T @ h

    tensors = [torch.from_numpy(x) for x in (v, weights, h)]
    arrays = [jnp.asarray(x) for x in (v, weights)]
    compiled = jax.jit(_updates, static_argnums=(2, 3))
    return {
        "floor numpy": lambda: loop(v, weights, h),
        "floor torch": lambda: loop(*tensors),
        "floor jax": lambda: compiled(*arrays, k, updates).block_until_ready(),
    }


def _updates(v, weights, k, updates):
    def update(_, weights):  # tiny factors keep the products from being optimised away or overflowing
        x = jax.lax.fori_loop(0, k, lambda _, x: (x @ weights) @ weights.T * 1e-3, v)
        return weights + 1e-9 * (v.T @ (v @ weights) - x.T @ (x @ weights))

    return jax.lax.fori_loop(0, updates, update, weights)
