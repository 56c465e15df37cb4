import pathlib

import pytest
from paper import figures, jobs, page
from tiny_tables import tiny


def pytest_collection_modifyitems(items):
    """On one worker: these tests train the same small models, and so share what is compiled."""
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("paper"))


@pytest.fixture
def small(monkeypatch):
    plan = tiny()
    for module in (jobs, page, figures):
        monkeypatch.setattr(module, "experiment", lambda table, profile: plan)
    return plan
