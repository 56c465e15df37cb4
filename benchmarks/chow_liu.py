"""The best tree of pairwise dependencies between bits (Chow & Liu 1968): a simple model that others are measured against."""

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree


def log_likelihoods(train: np.ndarray, rows: np.ndarray, tree: bool = True) -> np.ndarray:
    """Of each row, under the tree fitted to `train`, or under independent units. Probabilities get one pseudo-count a state."""
    size = train.shape[1]
    parents = best_tree(train) if tree else np.full(size, -1)
    total = np.zeros(len(rows))
    for unit, parent in enumerate(parents):
        for value in (0, 1):
            for condition in (0, 1) if parent >= 0 else (None,):
                seen = train if condition is None else train[train[:, parent] == condition]
                meant = (rows[:, unit] == value) & (condition is None or rows[:, parent] == condition)
                total[meant] += np.log((np.sum(seen[:, unit] == value) + 1) / (len(seen) + 2))
    return total


def best_tree(train: np.ndarray) -> np.ndarray:
    """The parent of each unit in the spanning tree with the most mutual information; -1 for the root."""
    x = train.astype(np.float64)
    shares = {1: x, 0: 1 - x}
    information = np.zeros((x.shape[1],) * 2)
    for a in (0, 1):
        for b in (0, 1):
            both = (shares[a].T @ shares[b] + 1) / (len(x) + 4)
            first, second = ((shares[v].sum(0) + 2) / (len(x) + 4) for v in (a, b))
            information += both * np.log(both / np.outer(first, second))
    weights = information.max() + 1 - information  # positive, so that no edge counts as absent
    np.fill_diagonal(weights, 0)
    _, parents = breadth_first_order(minimum_spanning_tree(weights), 0, directed=False)
    return np.where(parents < 0, -1, parents)
