import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")  # a silent promotion is how uint8 data turn into garbage


@pytest.fixture
def float64():
    """Run in double precision: finite differences need it."""
    with jax.enable_x64(True):
        yield
