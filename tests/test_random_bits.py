"""The generator is Threefry-2x32-20, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minprobflow.random_bits import bernoulli, bits, threefry2x32


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # the known-answer vectors published with Random123
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(key, counter, expected):
    out = threefry2x32(tuple(jnp.uint32(k) for k in key), *(jnp.uint32(c) for c in counter))
    assert tuple(int(x) for x in out) == expected


def test_elements_keys_and_shapes_do_not_collide():
    a, b = (np.asarray(bits(jax.random.key(i), (40, 3, 50))) for i in (0, 1))
    assert len(np.unique(a)) > 0.999 * a.size  # about n^2 / 2^33 repeats by chance
    assert np.mean(a == b) < 1e-3
    np.testing.assert_array_equal(a.ravel(), bits(jax.random.key(0), (6000,)))


@pytest.mark.parametrize("logit", [-12.0, -3.0, 0.0, 0.5, 9.0])
def test_frequencies(logit):
    n = 4_000_000
    p = 1 / (1 + np.exp(-logit))
    share = float(np.mean(np.asarray(bernoulli(jax.random.key(5), jnp.full(n, logit))), dtype=np.float64))
    assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / n) + 1e-7


def test_saturated_logits():
    x = jnp.asarray([-1e4, -100.0, 100.0, 1e4])
    for seed in range(20):
        np.testing.assert_array_equal(bernoulli(jax.random.key(seed), jnp.tile(x, (500, 1))), np.tile([0, 0, 1, 1], (500, 1)))
