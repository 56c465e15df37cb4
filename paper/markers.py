"""Pages with parts that are made from records: what stands between `<!-- name -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable


def filled(text: str, make: Callable[[str], str | None]) -> str:
    """The page with each part replaced by what `make` returns for its name; None leaves a part as it is.

    Example:
        >>> filled("a <!-- sum -->\\nold\\n<!-- end --> z", lambda name: f"new {name}")
        'a <!-- sum -->\\nnew sum\\n<!-- end --> z'
    """

    def part(match: re.Match[str]) -> str:
        made = make(match[1])
        return match[0] if made is None else f"<!-- {match[1]} -->\n{made}\n<!-- end -->"

    return re.sub(r"<!-- (?!end )([\w-]+) -->\n.*?<!-- end -->", part, text, flags=re.DOTALL)
