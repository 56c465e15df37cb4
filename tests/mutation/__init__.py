"""Deliberate bugs, and the tests that must notice them: see `run.py`."""
