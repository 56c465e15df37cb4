"""Figures as text to put into a page: curves and histograms as inline SVG, pictures as PNG.

Axes and letters are drawn in the page's own text colour and font, so they read well on light and dark paper. No figure holds text
that comes from files.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import MaxNLocator

from .. import pictures

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

COLOURS = ("#3b82e0", "#e0801f", "#27a567", "#a066d8", "#d94f70", "#1fa3b5", "#8f8a1c", "#8a7a70", "#c4419c", "#5f74a8")
INK = "#010203"  # stands for the page's text colour
SIZE = (4.4, 2.9)  # inches; a letter of 10 points is one of 10 pixels or more on a screen of 400
STYLE: dict[RcKeyType, object] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#808080",
    "grid.alpha": 0.22,
    "lines.linewidth": 1.7,
}
WIDTH = 960  # pixels that a picture has at least: browsers then scale it down, which looks better than up


@dataclass(frozen=True)
class Series:
    """One line, with an optional half width of the band around it."""

    x: Sequence[int]
    y: Sequence[float]
    colour: str = COLOURS[0]
    dashed: bool = False
    band: Sequence[float] | None = None


def colour(index: int) -> str:
    """Of a run among several."""
    return COLOURS[index % len(COLOURS)]


def curves(
    name: str,
    alt: str,
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    mark: int | None = None,
    log_x: bool = False,
    zero: bool = False,
) -> Markup:
    """Lines over a shared axis; `mark` draws a dotted upright line, `zero` a level one at zero."""

    def draw(axes: Axes) -> None:
        for line in series:
            marker = "o" if len(line.x) < 3 else ""
            axes.plot(line.x, line.y, color=line.colour, linestyle="--" if line.dashed else "-", marker=marker, markersize=4)
            if line.band is not None:
                y, half = np.asarray(line.y), np.asarray(line.band)
                axes.fill_between(line.x, y - half, y + half, color=line.colour, alpha=0.25, linewidth=0)
        if mark is not None:
            axes.axvline(mark, color=INK, linestyle=":", linewidth=1)
        if log_x:
            axes.set_xscale("log")
            axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        else:
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        if zero:
            axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)

    return _svg(name, alt, draw)


def histogram(name: str, alt: str, counts: np.ndarray, edges: np.ndarray, x_label: str, y_label: str) -> Markup:
    """Bars between edges."""

    def draw(axes: Axes) -> None:
        axes.stairs(counts, edges, fill=True, color=COLOURS[0], alpha=0.8)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=counts.dtype.kind == "i"))
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)

    return _svg(name, alt, draw)


def picture(alt: str, rows: np.ndarray, image_shape: tuple[int, int], columns: int, signed: bool = False) -> Markup:
    """Rows as a grid of images: ink on paper, or (signed) blue below and red above zero."""
    tiled = pictures.grid(rows, image_shape, columns)
    limit = float(np.nanmax(np.abs(tiled))) or 1.0
    times = max(1, -(-WIDTH // tiled.shape[1]))
    shown = np.ma.masked_invalid(tiled.repeat(times, 0).repeat(times, 1))
    buffer = io.BytesIO()
    low, high = (-limit, limit) if signed else (0, 1)
    imsave(buffer, shown, format="png", cmap="RdBu_r" if signed else "gray_r", vmin=low, vmax=high)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    height, width = tiled.shape
    return Markup(f'<img alt="{escape(alt)}" width="{width * times}" height="{height * times}" src="data:image/png;base64,{encoded}">')


def _svg(name: str, alt: str, draw: Callable[[Axes], None]) -> Markup:
    """Draw on axes of the page's style; `name` makes the figure's inner names differ from those of the page's others."""
    buffer = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[A-Za-z0-9.]+_[0-9]+"', "", text)  # the same in every figure, and used by none
    text = text.replace(INK, "currentColor")
    text = re.sub(r"'?DejaVu Sans'?[^;\"]*|sans-serif[^;\"]*(?=[;\"])", "inherit", text)
    text = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{escape(alt)}">', text, count=1)
    return Markup(text)
