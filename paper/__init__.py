"""The paper's tables and figures: experiments, their search, their records and the page made of them.

One finished (row, seed) is one JSON record, and one finished trial of a search is one entry of a row's JSON file, so that
everything accumulates: running again only adds what is missing.
"""

from .experiments import PROFILES, TABLES, Row, experiment
from .jobs import reproduce
from .page import write_page

__all__ = ["PROFILES", "TABLES", "Row", "experiment", "reproduce", "write_page"]
