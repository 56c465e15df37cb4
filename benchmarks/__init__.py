"""Measurements behind the figures in the docs. `python -m benchmarks NAME` runs one and writes benchmarks/results/NAME.json."""
