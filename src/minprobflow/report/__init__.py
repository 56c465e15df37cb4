"""One page about one or several runs, from what their folders hold. Nothing is computed here."""

from .page import page
from .records import RunRecord, read_run

__all__ = ["RunRecord", "page", "read_run"]
