"""The generator is Threefry-2x32, bit for bit."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minprobflow import random_bits
from minprobflow.random_bits import bernoulli, bits, subkey, threefry2x32

ZEROS, ONES, PI = ((0, 0), (0, 0)), ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2), ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3))


@pytest.mark.parametrize(
    ("rounds", "key_and_counter", "expected"),
    [  # the known-answer vectors published with Random123
        (20, ZEROS, (0x6B200159, 0x99BA4EFE)),
        (20, ONES, (0x1CB996FC, 0xBB002BE7)),
        (20, PI, (0xC4923A9C, 0x483DF7A0)),
        (13, ZEROS, (0x9D1C5EC6, 0x8BD50731)),
        (13, ONES, (0xFD36D048, 0x2D17272C)),
        (13, PI, (0xBA3E4725, 0xF27D669E)),
    ],
)
def test_known_answers(rounds, key_and_counter, expected):
    key, counter = key_and_counter
    out = threefry2x32(tuple(jnp.uint32(k) for k in key), *(jnp.uint32(c) for c in counter), rounds)
    assert tuple(int(x) for x in out) == expected


def test_subkeys_are_not_bits_of_units(monkeypatch):
    """Where units take as many rounds of the cipher as keys, only the counter keeps them apart."""
    monkeypatch.setattr(random_bits, "UNIT_ROUNDS", 20)
    key = jax.random.key(3)
    of_units = np.asarray(bits(key, (50,)))
    of_keys = np.asarray([jax.random.key_data(subkey(key, number)) for number in range(50)])
    assert not set(of_units.tolist()) & set(of_keys.ravel().tolist())


def test_subkeys_differ_from_each_other_and_from_units_bits():
    key = jax.random.key(3)
    words = np.concatenate([np.asarray(jax.random.key_data(subkey(key, i))) for i in range(1000)])
    assert len(np.unique(words)) == words.size
    assert not set(words.tolist()) & set(np.asarray(bits(key, (1000,))).tolist())
    first = jax.random.key_data(subkey(key, jnp.asarray(7)))
    np.testing.assert_array_equal(first, jax.jit(lambda k: jax.random.key_data(subkey(k, 7)))(key))


@pytest.mark.parametrize(("wanted", "answer"), [("20", "20"), ("13", "13"), ("7", "InputError")])
def test_rounds_are_an_option(wanted, answer):
    code = "from minprobflow import random_bits; print(random_bits.UNIT_ROUNDS)"
    environment = {**os.environ, "MINPROBFLOW_ROUNDS": wanted}
    out = subprocess.run([sys.executable, "-c", code], check=False, env=environment, capture_output=True, text=True)
    assert answer in (out.stdout if wanted != "7" else out.stderr)


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


def test_no_uniform_number_is_zero_or_one(monkeypatch):
    """Else one draw in eight million would be infinite."""
    for word, expected in ((0, 2.0**-24), (2**32 - 1, 1 - 2.0**-24)):
        monkeypatch.setattr(random_bits, "bits", lambda key, shape, word=word: jnp.full(shape, word, jnp.uint32))
        assert float(random_bits.uniform(jax.random.key(0), jnp.zeros(1))[0]) == expected
        assert np.isfinite(random_bits.normal(jax.random.key(0), jnp.zeros(1))).all()
