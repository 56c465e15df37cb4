"""The paper's tables and figures: plans, searches, records, and the page and pictures made of them.

`python -m paper --help` shows the commands. Nothing of this is part of the library. One finished (row, seed), or one finished
trial of a search, is one line of a JSON-lines file in results/, so that everything accumulates: running again only adds what is
missing.
"""
