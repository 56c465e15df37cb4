import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# most of the suite's time is compilation of programs that then run for milliseconds: compiled with less effort, a third of it
os.environ["XLA_FLAGS"] = " ".join(
    (
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
        os.environ.get("XLA_FLAGS", ""),  # whoever runs the tests has the last word
    )
).strip()
# workers and the processes that tests start share what they compile
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parent.parent / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")  # a silent promotion is how uint8 data turn into garbage
MAPS = 20_000  # a process may have 65,530 memory maps, and compiled programs hold some each: beyond that they crash


@pytest.fixture(autouse=True)
def _room_for_compiled_programs():
    yield
    maps = pathlib.Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MAPS:
        jax.clear_caches()


@pytest.fixture
def float64():
    """Run in double precision: finite differences need it."""
    from minprobflow.numerics import double_precision  # not above: the type checks must be installed before the package is imported

    with double_precision():
        yield
