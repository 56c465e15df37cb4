"""The lowest versions that pyproject.toml allows, as requirements: `make lowest` tests with exactly these."""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def pinned(requirement: str) -> str:
    """`name>=1.2,<3` becomes `name==1.2`; a bound that is missing cannot be tested, so it is an error."""
    match = re.fullmatch(r"\s*([\w.-]+)\s*>=\s*([\w.]+)\s*(?:,.*)?", requirement)
    if match is None:
        raise SystemExit(f"{PYPROJECT.name}: {requirement!r} has no lower bound: write {requirement.strip()}>=version")
    return f"{match[1]}=={match[2]}"


if __name__ == "__main__":
    for requirement in tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]:
        print(pinned(requirement))
