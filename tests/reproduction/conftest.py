import pytest
from paper import figures, jobs, page
from tiny_tables import tiny


@pytest.fixture
def small(monkeypatch):
    plan = tiny()
    for module in (jobs, page, figures):
        monkeypatch.setattr(module, "experiment", lambda table, profile: plan)
    return plan
