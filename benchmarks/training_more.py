"""More cases of `training`: k = 25 and batches of 25, against the matrix products and plain PyTorch. Ten minutes."""

from benchmarks.training import one

CASES = [(25, hidden, 100) for hidden in (20, 200, 500)] + [(k, hidden, 25) for k in (1, 10, 25) for hidden in (20, 200, 500)]


def main():
    return {"lines": [one(*case, peers=("plain torch",), repeats=3) for case in CASES]}
