"""Compiles the kernels of minprobflow.native where there is a C++ compiler; everything else is in pyproject.toml.

The library is loaded by ctypes and knows nothing of Python, so one wheel serves every Python version of a platform. Without a compiler
(or with MINPROBFLOW_NATIVE=0) the package is installed without it, and runs on XLA's own programs.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

FOLDER = Path("src/minprobflow/native")
X86 = platform.machine().lower() in ("x86_64", "amd64")
# the kernels once for each instruction set; which one is used is decided when the library is loaded
VERSIONS = {"portable": [], "avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4"]} if X86 else {"portable": []}


def include_folder() -> Path:
    """Of XLA's foreign function interface, which comes with jaxlib."""
    import jaxlib

    return Path(jaxlib.__file__).parent / "include"


def compile_library(target: Path) -> None:
    """Compile the kernels, and link them into one library."""
    compiler = shlex.split(os.environ.get("CXX", "")) or [shutil.which("c++") or shutil.which("g++") or shutil.which("clang++") or "c++"]
    common = [*compiler, "-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", *(["-DMPF_X86"] if X86 else [])]
    with tempfile.TemporaryDirectory() as folder:
        objects = {name: str(Path(folder) / f"{name}.o") for name in (*VERSIONS, "ffi")}
        commands = [
            [*common, *flags, *named(name), "-c", str(FOLDER / "src/kernels.cc"), "-o", objects[name]] for name, flags in VERSIONS.items()
        ]
        commands.append([*common, "-isystem", str(include_folder()), "-c", str(FOLDER / "src/ffi.cc"), "-o", objects["ffi"]])
        with ThreadPoolExecutor() as pool:
            list(pool.map(_run, commands))
        partial = Path(folder) / "libmpf.so"
        _run([*compiler, "-shared", "-o", str(partial), *objects.values()])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # a process that has it loaded keeps the old one
        shutil.copy(partial, target)


def named(version: str) -> list[str]:
    """What tells the versions of the kernels apart."""
    return [f'-DMPF_NAME="{version}"', f"-DMPF_TABLE={version}_kernels"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError((done.stderr or "the compiler failed").strip()[-2000:])


class BuildKernels(build_ext):
    """Builds the library instead of Python extensions; never fails the installation."""

    def run(self) -> None:
        target = FOLDER / "libmpf.so" if self.inplace or self.editable_mode else Path(self.build_lib) / "minprobflow/native/libmpf.so"
        if os.environ.get("MINPROBFLOW_NATIVE") == "0":
            return
        try:
            compile_library(target)
        except (OSError, ImportError) as problem:
            print(f"minprobflow: the compiled kernels were left out, XLA does their work: {problem}", file=sys.stderr)

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class Wheel(bdist_wheel):
    """One wheel for every Python: py3-none-PLATFORM."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class WithKernels(Distribution):
    """A distribution that is not the same on every platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    distclass=WithKernels,
    ext_modules=[Extension("minprobflow.native.kernels", [])],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": Wheel},
)
