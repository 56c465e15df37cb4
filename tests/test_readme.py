"""The README's and the docs' Python examples run as they stand."""

import re
from pathlib import Path

import pytest
from benchmarks import docs
from paper.markers import filled

from minprobflow.data import datasets

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "docs/introduction.md",
    "docs/data.md",
    "docs/models.md",
    "docs/likelihood.md",
    "docs/trajectories.md",
    "docs/ising.md",
    "docs/potts.md",
    "docs/density.md",
    "docs/gaussian.md",
    "docs/scikit-learn.md",
]
NEEDED = {"docs/potts.md": ["ww-domain"], "docs/density.md": ["nltcs", "dna"]}
LONG = {"docs/likelihood.md"}  # AIS with thousands of temperatures
BLOCKS = {
    f"{page}-{i}": block
    for page in PAGES
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))
}


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.heavy if page in LONG else ()) for page in PAGES])
def test_examples_run(page, tmp_path, monkeypatch):
    """In order, in one namespace, as a reader would."""
    for name in NEEDED.get(page, ()):
        if not datasets()[name].is_present():
            pytest.skip(f"{name} is not in the data folder (set MINPROBFLOW_DATA)")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    blocks = [block for name, block in BLOCKS.items() if name.startswith(page)]
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


def test_the_first_example_is_short():
    assert len(BLOCKS["README.md-0"].strip().splitlines()) <= 15


def test_links_lead_somewhere():
    for page in ROOT.glob("**/*.md"):
        if any(part.startswith(".venv") for part in page.parts):
            continue
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_measured_figures_are_those_of_the_records():
    """`python -m benchmarks.docs` writes them."""
    for page in docs.PAGES:
        assert filled(page.read_text(), docs.part) == page.read_text()
