"""What is published: the source distribution, its metadata, the version, the lower bounds."""

import email
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
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
