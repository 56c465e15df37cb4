"""The tree that the density benchmark compares with."""

import numpy as np
import pytest
from benchmarks.chow_liu import best_tree, log_likelihoods


def test_it_is_a_distribution_and_finds_a_chain():
    rng = np.random.default_rng(0)
    rows = np.zeros((4000, 5), np.uint8)
    rows[:, 3] = rng.random(4000) < 0.4
    for child, parent in ((1, 3), (0, 1), (4, 0), (2, 4)):  # each copies its parent but for one time in five
        rows[:, child] = rows[:, parent] ^ (rng.random(4000) < 0.2)
    edges = {frozenset(edge) for edge in enumerate(best_tree(rows).tolist()) if edge[1] >= 0}
    assert edges == {frozenset(edge) for edge in ((1, 3), (0, 1), (4, 0), (2, 4))}
    states = np.indices((2,) * 5).reshape(5, -1).T
    for tree in (True, False):
        assert np.exp(log_likelihoods(rows, states, tree)).sum() == pytest.approx(1, abs=1e-12)
    entropy = np.mean(log_likelihoods(rows, rows))
    flips = 4 * (0.8 * np.log(0.8) + 0.2 * np.log(0.2))
    assert entropy == pytest.approx(flips + 0.4 * np.log(0.4) + 0.6 * np.log(0.6), abs=0.05)
