"""The defaults of `fit`, and so of `minprobflow train`; [measured](docs/design-notes.md), `python -m benchmarks.defaults`.

What suits a rule is the rule's own: its learning rate (`RuleSpec.default_rate`) and the number of its sampling steps
(`ParticleRule.k`).
"""

RULE = "pcd"
EPOCHS = 50
OPTIMIZER = "sgd"
BATCH_SIZE = 50


def batch_size(n_rows: int) -> int:
    """50, or all rows where there are fewer: a default must work with any data.

    >>> batch_size(1000), batch_size(7)
    (50, 7)
    """
    return min(BATCH_SIZE, n_rows)
