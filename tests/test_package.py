"""What is published: the source distribution, its metadata, the version, the lower bounds."""

import ctypes
import email
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import minprobflow as mpf

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEFT_OUT = {".gitignore"}
WRITTEN_BY_SETUPTOOLS = re.compile(r"PKG-INFO|setup\.cfg|src/minprobflow\.egg-info/.*")
LINK = re.compile(r"\]\(([^)]+)\)|(?:href|src)=[\"']([^\"']+)")


@pytest.fixture(scope="module")
def tracked():
    """The files that git knows, or would with the next `git add`."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return {name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def sdist(tracked, tmp_path_factory):
    """The source distribution of a copy of the tracked files: name to content."""
    if int(importlib.metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools is older than the build needs: make .venv/.installed")
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in tracked:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    build = f"import setuptools.build_meta; setuptools.build_meta.build_sdist({str(out)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=tree, check=True, capture_output=True)
    (archive,) = out.iterdir()
    with tarfile.open(archive) as packed:
        return {member.name.partition("/")[2]: packed.extractfile(member).read() for member in packed if member.isfile()}


def test_the_source_distribution_holds_every_tracked_file(sdist, tracked):
    assert {name for name in sdist if not WRITTEN_BY_SETUPTOOLS.fullmatch(name)} == tracked - LEFT_OUT


def test_the_description_on_a_package_index_has_no_relative_links(sdist):
    metadata = email.message_from_bytes(sdist["PKG-INFO"])
    assert metadata["Version"] == mpf.__version__
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = [a or b for a, b in LINK.findall(metadata.get_payload())]
    assert links and all(link.startswith("https://") for link in links)


def test_the_description_names_files_that_exist_and_shows_the_readmes_example():
    description = (ROOT / PROJECT["readme"]).read_text()
    assert all((ROOT / name).is_file() for name in re.findall(r"`([\w/-]+\.md)`", description))
    first = r"```python\n.*?```"
    assert re.search(first, description, re.DOTALL)[0] == re.search(first, (ROOT / "README.md").read_text(), re.DOTALL)[0]


def test_the_version_is_that_of_the_project(monkeypatch):
    assert mpf.__version__ == PROJECT["version"]

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)  # a source tree that is not installed
    assert mpf.__version__ == PROJECT["version"]


def test_every_dependency_has_a_lower_bound_that_can_be_pinned():
    script = subprocess.run([sys.executable, ROOT / ".ci" / "lowest.py"], capture_output=True, text=True, check=True)
    assert script.stdout.split() == [requirement.replace(">=", "==") for requirement in PROJECT["dependencies"]]


def built(tree, out, **environment):
    """The wheel of a source tree, and what was said while it was built."""
    out.mkdir()
    code = f"import setuptools.build_meta; setuptools.build_meta.build_wheel({str(out)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    (wheel,) = out.glob("*.whl")
    return wheel, zipfile.ZipFile(wheel).namelist(), done.stderr


@pytest.fixture
def tree(sdist, tmp_path):
    for name, content in sdist.items():
        if name.startswith(("src/minprobflow/", "docs/")) or "/" not in name:
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "tree" / name).write_bytes(content)
    return tmp_path / "tree"


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_wheel_has_the_kernels_and_serves_every_python(tree, tmp_path):
    hasty = tmp_path / "hasty-c++"  # whether the kernels are fast is not the question here
    hasty.write_text('#!/bin/sh\nexec c++ "$@" -O0\n')
    hasty.chmod(0o755)
    wheel, names, _ = built(tree, tmp_path / "dist", CXX=str(hasty))
    assert re.fullmatch(r"minprobflow-[\w.]+-py3-none-\w+\.whl", wheel.name) and "none-any" not in wheel.name
    assert "minprobflow/native/libmpf.so" in names
    with zipfile.ZipFile(wheel) as packed:
        packed.extract("minprobflow/native/libmpf.so", tmp_path)
    library = ctypes.CDLL(str(tmp_path / "minprobflow/native/libmpf.so"))
    library.mpf_instructions.restype = ctypes.c_char_p
    assert library.mpf_instructions().decode() in ("avx512", "avx2", "portable")


def test_without_a_compiler_the_package_is_installed_without_its_kernels(tree, tmp_path):
    _, names, said = built(tree, tmp_path / "dist", CXX="/bin/false")
    assert "minprobflow/native/libmpf.so" not in names and "minprobflow/native/door.py" in names
    assert said.count("the compiled kernels were left out, XLA does their work") == 1
