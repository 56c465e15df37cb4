"""Parameters as callers pass them: any numbers become floats, and none changes its value on the way."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import files
from minprobflow.numerics import floating

BIG = 2**40  # 0 after JAX has wrapped it to 32 bits
MODELS = {
    "RBM": lambda x: mpf.BernoulliRBM(np.full((2, 2), x), np.full(2, x), np.full(2, x)),
    "Ising": lambda x: mpf.Ising(np.triu(np.full((2, 2), x), 1), np.full(2, x)),
    "Ising.from_spins": lambda x: mpf.Ising.from_spins(np.triu(np.full((2, 2), x), 1), np.full(2, x)),
    "Potts": lambda x: mpf.Potts(np.zeros((2, 3, 2, 3), np.asarray(x).dtype), np.full((2, 3), x)),
    "CategoricalRBM": lambda x: mpf.CategoricalRBM(np.full((2, 3, 2), x), np.full((2, 3), x), np.full(2, x)),
    "GaussianRBM": lambda x: mpf.GaussianRBM(np.full((2, 2), x), np.full(2, x), np.full(2, x), np.zeros(2)),
}


@pytest.mark.parametrize("family", MODELS)
def test_integers_beyond_32_bits_keep_their_value(family):
    whole, real = MODELS[family](BIG), MODELS[family](float(BIG))
    for found, expected in zip(jax.tree.leaves(whole), jax.tree.leaves(real), strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_array_equal(found, expected)
    assert max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(whole)) >= BIG


@pytest.mark.parametrize(
    ("given", "value", "dtype"),
    [
        (np.uint64(2**64 - 1), 2.0**64, np.float32),
        (np.asarray([-(2**62)]), -(2.0**62), np.float32),
        ([True], 1, np.float32),
        (np.float64(0.1), np.float32(0.1), np.float32),
        (np.float16(0.1), np.float16(0.1), np.float16),
        (np.longdouble(3), 3, np.float32),
        (np.asarray([1.5], ml_dtypes.bfloat16), 1.5, ml_dtypes.bfloat16),
        (jnp.asarray([3]), 3, np.float32),
        ([jnp.asarray(3), jnp.asarray(3)], 3, np.float32),
    ],
)
def test_any_real_number_becomes_a_float(given, value, dtype):
    found = floating(given)
    assert found.dtype == dtype and np.all(np.asarray(found) == value)


def test_double_precision_is_kept_where_jax_has_it():
    with jax.enable_x64(True):
        assert floating([1e39]).dtype == jnp.float64 and float(floating(2**53 - 1)) == 2.0**53 - 1


def test_traced_parameters_pass_through():
    doubled = jax.jit(lambda x: floating([x, 2 * x]))(3)
    np.testing.assert_array_equal(doubled, [3.0, 6.0])


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ([1e39], r"holds 1e\+39, which does not fit single precision \(up to 3\.4e\+38\)"),
        ([1j], "complex128"),
        (jnp.asarray([1j]), "complex64"),
        ("weights", "text 'weights'"),
        (None, "is None"),
        ([None], "object values"),
        ([[1.0], [1.0, 2.0]], "rows of different lengths"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), r"1 missing value \(masked\), the first at index \(1,\): fill them in"),
    ],
)
def test_what_is_not_a_real_number_is_refused(wrong, match):
    with pytest.raises(mpf.InputError, match=match):
        mpf.BernoulliRBM(wrong, np.zeros(1), np.zeros(1))


def test_states_of_64_bits_keep_their_value():
    model = mpf.GaussianRBM.init(0, 2, 1)
    assert float(model.free_energy(np.asarray([BIG, 0]))) == float(model.free_energy(np.asarray([float(BIG), 0.0])))


def test_a_model_file_of_integers_keeps_its_values(tmp_path):
    tensors = {"weights": np.full((2, 2), BIG), "visible_bias": np.zeros(2, int), "hidden_bias": np.zeros(2, int)}
    files.write_atomically(tmp_path / "whole.safetensors", files.pack(tensors, {"kind": "bernoulli_rbm", "tau": "1.0"}))
    np.testing.assert_array_equal(mpf.load(tmp_path / "whole.safetensors").weights, np.full((2, 2), BIG, np.float32))
