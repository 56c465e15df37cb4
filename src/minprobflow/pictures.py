"""Pictures of binary data, samples and filters."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def grid(rows: np.ndarray, image_shape: tuple[int, int], columns: int = 16, gap: int = 1) -> np.ndarray:
    """Tile rows as images into one array; the gaps are NaN."""
    images = np.asarray(rows, np.float64).reshape(-1, *image_shape)
    height, width = image_shape
    lines = -(-len(images) // columns)
    tiled = np.full((lines * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
    for i, image in enumerate(images):
        top, left = (i // columns) * (height + gap), (i % columns) * (width + gap)
        tiled[top : top + height, left : left + width] = image
    return tiled


def strongest(filters: np.ndarray, n: int) -> np.ndarray:
    """The `n` rows of largest norm, the largest first."""
    return filters[np.argsort(-np.linalg.norm(filters, axis=1), kind="stable")[:n]]


def png(tiled: np.ndarray, title: str = "", signed: bool = False, inches: float = 8.0) -> bytes:
    """A grid as PNG: ink on paper, or (signed) blue for negative and red for positive around zero."""
    from matplotlib.figure import Figure

    height, width = tiled.shape
    figure = Figure(figsize=(inches, inches * height / width + (0.4 if title else 0.0)), layout="constrained")
    axes = figure.subplots()
    limit = float(np.nanmax(np.abs(tiled))) or 1.0
    axes.imshow(tiled, cmap="RdBu_r" if signed else "gray_r", vmin=-limit if signed else 0, vmax=limit, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    return figure_png(figure, 120)


def figure_png(figure: Figure, dpi: int) -> bytes:
    """A figure as PNG with a palette of 96 colours: a third of the size of one with all colours, and hardly to be told from it."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    colours = Image.open(drawn).convert("RGB").quantize(96, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    colours.save(small, "png", optimize=True)
    return small.getvalue()
