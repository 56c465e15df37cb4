import gc
import itertools
import os
import pathlib
import re

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# workers and the processes that tests start share what they compile
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parent.parent / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")  # to write and read smaller programs takes as long
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS", "0")  # nobody reads them, and every operation would carry one

import jax
import jaxtyping
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")  # a silent promotion is how uint8 data turn into garbage
QUICK_TO_COMPILE = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
gc.set_threshold(50_000, 10, 10)  # to trace makes many objects that live: to look through them every 700 takes a twelfth of the time
MAPS = 20_000  # a process may have 65,530 memory maps, and compiled programs hold some each: beyond that they crash
TESTS = itertools.count(1)
# Checks of types and shapes are about an eighth of the time of tracing. These files trace for long, and call what the conformance suite,
# the doctests and the other files call with checks.
UNCHECKED = re.compile(
    r"test_(ais|along_trajectory|convex|convex_potts|digests|exact|exchange|flips|gaussian_rbm|ising|ladder|likelihood|native|particle_rules"
    r"|potts|rates|readme|recovery|samplers|settings_of_jax|tempered_rules|tracking|trajectory|units)\.py"
)


def pytest_configure(config):
    """Most tests compile for seconds what then runs for milliseconds: with less effort, that takes a third of the time.

    Those marked `heavy` compute for long, and are run on their own, with the compiler as users have it: pytest -m heavy.
    JAX reads the flags when it compiles first, which is later than this.
    """
    config.addinivalue_line("markers", "heavy: computes for longer than it compiles; `make test` runs these apart")
    if config.option.markexpr != "heavy":
        os.environ["XLA_FLAGS"] = " ".join((*QUICK_TO_COMPILE, os.environ.get("XLA_FLAGS", ""))).strip()


def pytest_ignore_collect(collection_path, config):
    """The run of the heavy tests does not import files without any: None leaves the decision to others."""
    if config.option.markexpr == "heavy" and collection_path.suffix == ".py" and "pytest.mark.heavy" not in collection_path.read_text():
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that trace the same programs run on the same worker: those of a file, and in the conformance suite those of a model."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and (group := _group(item)):
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    jaxtyping.config.update("jaxtyping_disable", UNCHECKED.fullmatch(item.path.name) is not None)


def _group(item):
    if item.get_closest_marker("heavy"):  # few and long: they are spread over the workers
        return None
    folder = item.path.parent.name
    if folder == "reproduction":
        return folder
    if folder != "conformance":
        return item.path.name
    of_model = re.search(r"([A-Z]\w*-\w+)(-tau[\d.]+)?]$", item.nodeid)
    return of_model and of_model[1]


@pytest.fixture(autouse=True)
def _room_for_compiled_programs():
    yield
    maps = pathlib.Path("/proc/self/maps")
    if next(TESTS) % 10 == 0 and maps.exists() and maps.read_bytes().count(b"\n") > MAPS:  # to count them takes milliseconds
        jax.clear_caches()


@pytest.fixture
def float64():
    """Run in double precision: finite differences need it."""
    from minprobflow.numerics import double_precision  # not above: the type checks must be installed before the package is imported

    with double_precision():
        yield
