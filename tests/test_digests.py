import json

import digests
import pytest


@pytest.fixture(scope="module")
def found():
    return digests.computed(all_of_mnist=False)


def test_results_are_those_on_record_bit_for_bit(found):
    known = json.loads(digests.FILE.read_text())["digests"].get(digests.machine())
    if known is None:
        pytest.skip("no digests are on record for this machine and these compiler flags (tests/digests.py)")
    on_record = found.keys() & known.keys()  # a new rule is not
    assert {name: found[name][0] for name in on_record} == {name: known[name] for name in on_record}


def test_figures_are_near_those_on_record_on_any_machine(found):
    figures = json.loads(digests.FILE.read_text())["figures"]
    for name in figures.keys() & found.keys():
        assert found[name][1] == pytest.approx(figures[name], rel=0.02, abs=0.5), name  # rounding that decides a bit sets chains apart
