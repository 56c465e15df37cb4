import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# workers and the processes that tests start share what they compile
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parent.parent / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")  # a silent promotion is how uint8 data turn into garbage


@pytest.fixture
def float64():
    """Run in double precision: finite differences need it."""
    with jax.enable_x64(True):
        yield
