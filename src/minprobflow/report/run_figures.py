"""Which figures a page shows about a run, and what their captions say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from .figures import COLOURS, Series, colour, curves, histogram, picture
from .records import RunRecord

METRICS = {
    "objective": ("Objective", "what the rule minimises; values of different rules do not compare", "objective"),
    "ess": ("Effective particles", "share of the rule's particles that count after reweighting; 1 is best", "ESS, share"),
    "reconstruction_error": (
        "Reconstruction error",
        "mean distance of a unit from its reconstruction; no measure of the likelihood",
        "error",
    ),
    "gradient_norm": ("Gradient norm", "mean over the updates of an epoch", "norm"),
}
Z95 = 1.96
REPLICAS = 4  # whose paths are shown
LAGS = 5  # autocorrelation times that are shown


class Shown(NamedTuple):
    """A figure and what is written under it."""

    title: str
    caption: str
    content: Markup


def training(run: RunRecord, index: int) -> list[Shown]:
    """Likelihood, objective, ESS, errors, gradient norm and free-energy gap over the epochs."""
    epochs, valid = run.curve("valid")
    _, train = run.curve("train")
    _, gaps = _gap(run)
    band = _band(run)
    note = "solid: validation, dashed: training"
    note += "; the band is ±1.96 standard errors of the estimate" if band else ", both exact"
    lines = [Series(epochs, train, COLOURS[1], True, band), Series(epochs, valid, COLOURS[0], False, band)]
    alt = f"Log-likelihood over epochs: validation {_span(valid)}, training {_span(train)}"
    shown = [Shown("Log-likelihood", note, curves(f"{index}-likelihood", alt, lines, "epoch", "nats", run.best_epoch))]
    for name, (title, caption, label) in METRICS.items():
        x, y = run.curve(name)
        content = curves(f"{index}-{name}", f"{title} over epochs: {_span(y)}", [Series(x, y)], "epoch", label, run.best_epoch)
        shown.append(Shown(title, caption, content))
    caption = "mean F(validation) less mean F(training): growing means overfitting"
    content = curves(f"{index}-gap", f"Free-energy gap over epochs: {_span(gaps)}", [Series(epochs, gaps)], "epoch", "nats", run.best_epoch)
    return [*shown, Shown("Free-energy gap", caption, content)]


def compared(runs: Sequence[RunRecord]) -> list[Shown]:
    """The curves of several runs in shared axes."""
    valid = [_of_run(i, run.curve("valid"), _band(run)) for i, run in enumerate(runs)]
    band = "; bands are ±1.96 standard errors of the estimates" if any(line.band for line in valid) else ""
    shown = [_shared("likelihood", "Validation log-likelihood", f"higher is better{band}", "nats", valid)]
    for name, told in METRICS.items():
        shown.append(_shared(name, *told, [_of_run(i, run.curve(name)) for i, run in enumerate(runs)]))
    gaps = [_of_run(i, _gap(run)) for i, run in enumerate(runs)]
    return [*shown, _shared("gap", "Free-energy gap", "validation less training: growing means overfitting", "nats", gaps)]


def _of_run(index: int, points: tuple[list[int], list[float]], band: list[float] | None = None) -> Series:
    return Series(*points, colour(index), index >= len(COLOURS), band)


def _shared(name: str, title: str, caption: str, label: str, lines: list[Series]) -> Shown:
    alt = f"{title} over epochs: " + "; ".join(f"run {i + 1} {_span(line.y)}" for i, line in enumerate(lines))
    return Shown(title, caption, curves(f"all-{name}", alt, lines, "epoch", label))


def samples(run: RunRecord) -> list[tuple[str, list[tuple[str, Markup]]]]:
    """Chains from data and from noise: a strip of pictures after each number of steps. Empty if the data are not images."""
    shape = _image_shape(run)
    if shape is None:
        return []
    groups = []
    for start in ("data", "noise"):
        states = run.diagnostics[f"states_from_{start}"]
        strips = [
            (_steps(int(n)), picture(f"{len(rows)} chains from {start}, {_steps(int(n))}", rows, shape, len(rows)))
            for n, rows in zip(run.diagnostics["steps"], states, strict=True)
        ]
        groups.append((f"From {start}", strips))
    return groups


def along(run: RunRecord, index: int) -> list[Shown]:
    """How replica exchange went along the trajectory, where the evaluation used one: acceptance per link, and replicas' paths."""
    settings = run.evaluation["settings"]
    if not all(name in settings for name in ("acceptance", "crooks_slopes", "paths")):
        return []
    accepted, slopes, paths = (np.asarray(settings[name], float) for name in ("acceptance", "crooks_slopes", "paths"))
    links = range(len(accepted))
    lines = [Series(links, slopes.tolist(), COLOURS[1], True), Series(links, accepted.tolist())]
    alt = f"Acceptance of exchanges over the links: {_span(accepted.tolist())}; Crooks slopes {_span(slopes.tolist())}"
    each = curves(f"{index}-links", alt, lines, "link, from rung 0 up", "share, slope", zero=True)
    some = paths[:: max(len(paths) // REPLICAS, 1)][:REPLICAS]
    walks = [Series(range(len(path)), path.tolist(), colour(i)) for i, path in enumerate(some)]
    walk = curves(f"{index}-paths", f"Rungs that {len(some)} replicas were at over time", walks, "time", "rung")
    told = f"{len(some)} of one column on their way up and down; {settings.get('climbs')} states have climbed from rung 0 to the model"
    return [
        Shown("Links", "solid: share of exchanges accepted, dashed: Crooks slope, 1 in equilibrium", each),
        Shown("Replicas", told, walk),
    ]


def film(run: RunRecord) -> list[tuple[str, Markup]]:
    """Samples at some rungs of the trajectory, one below the other: how the model came to be."""
    shape = _image_shape(run)
    if shape is None or "rung_states" not in run.diagnostics:
        return []
    labels = ["added" if step < 0 else f"update {int(step):,}" for step in run.diagnostics["rung_steps"]]
    return [
        (label, picture(f"{len(rows)} samples, {label}", rows, shape, len(rows)))
        for label, rows in zip(labels, run.diagnostics["rung_states"], strict=True)
    ]


def filters(run: RunRecord) -> Shown | None:
    """Weights of the strongest hidden units, if the data are images."""
    shape, weights = _image_shape(run), run.diagnostics["filters"]
    if shape is None or not len(weights):
        return None
    n, hidden = len(weights), len(run.diagnostics["unit_activations"])
    which = f"all {n} hidden units" if n == hidden else f"the {n} strongest of {hidden} hidden units"
    limit = float(np.abs(weights).max())
    caption = f"weights of {which}, strongest first; red positive, blue negative, full colour at ±{limit:.2f}"
    return Shown("Filters", caption, picture(f"Weights of {which}", weights, shape, filter_columns(run), signed=True))


def filter_columns(run: RunRecord) -> int:
    """Up to twelve, such that the last line is as full as can be."""
    n = max(len(run.diagnostics["filters"]), 1)
    return n if n <= 12 else min(range(12, 7, -1), key=lambda columns: -n % columns)


def activations(run: RunRecord, index: int) -> list[Shown]:
    """Mean activation of each hidden unit, and all activations; nothing without hidden units."""
    if "unit_activations" not in run.diagnostics:
        return []
    means, counts = run.diagnostics["unit_activations"], run.diagnostics["activation_counts"]
    units, edges = np.histogram(means, 20, (0.0, 1.0))
    alt = f"Histogram of {len(means)} mean activations between {means.min():.2f} and {means.max():.2f}"
    each = histogram(f"{index}-units", alt, units, edges, "mean activation", "hidden units")
    share = counts / max(counts.sum(), 1)
    alt = f"Histogram of all activations: {share[0]:.0%} in the lowest bin, {share[-1]:.0%} in the highest"
    every = histogram(f"{index}-activations", alt, share, run.diagnostics["activation_edges"], "activation", "share")
    return [
        Shown("Hidden units", "mean activation of each on validation data; near 0 or 1 a unit says little", each),
        Shown("All activations", "p(h = 1 | v) over units and validation examples", every),
    ]


def mixing(run: RunRecord, index: int) -> list[Shown]:
    """Autocorrelation, and the free energy of chains from data and from noise."""
    rho, time = run.diagnostics["autocorrelation"], float(run.diagnostics["autocorrelation_time"])
    lags = min(len(rho), max(20, int(LAGS * time) + 2))
    alt = f"Autocorrelation of the free energy up to lag {lags - 1}, {_span(rho[:lags].tolist())}"
    decay = curves(
        f"{index}-autocorrelation", alt, [Series(range(lags), rho[:lags].tolist())], "lag, Gibbs steps", "autocorrelation", zero=True
    )
    data, noise = (run.diagnostics[f"trace_from_{start}"][1:].tolist() for start in ("data", "noise"))  # noise itself is off the scale
    steps = range(1, len(data) + 1)
    lines = [Series(steps, noise, COLOURS[1], True), Series(steps, data, COLOURS[0])]
    alt = f"Mean free energy along chains, first to last step: those from data {_span(data)}, those from noise {_span(noise)}"
    trace = curves(f"{index}-trace", alt, lines, "Gibbs steps", "mean free energy", log_x=True)
    return [
        Shown("Autocorrelation", "of the free energy along Gibbs chains; the sooner it is zero, the better they mix", decay),
        Shown("Where chains go", "solid: from data, dashed: from noise; they meet and stay level once the start is forgotten", trace),
    ]


def _gap(run: RunRecord) -> tuple[list[int], list[float]]:
    """Mean F(valid) - mean F(train). Both likelihoods have the same log Z, estimated or not, so it cancels."""
    train, valid = (dict(zip(*run.curve(part), strict=True)) for part in ("train", "valid"))
    epochs = [epoch for epoch in train if epoch in valid]
    return epochs, [train[epoch] - valid[epoch] for epoch in epochs]


def _band(run: RunRecord) -> list[float] | None:
    errors = run.curve("stderr")[1]
    return [Z95 * error for error in errors] if any(errors) else None


def _image_shape(run: RunRecord) -> tuple[int, int] | None:
    shape = run.diagnostics["image_shape"].tolist()
    return (shape[0], shape[1]) if len(shape) == 2 else None


def _steps(n: int) -> str:
    return "start" if n == 0 else f"{n:,} step{'s' if n > 1 else ''}"


def _span(values: Sequence[float]) -> str:
    return f"from {values[0]:.4g} to {values[-1]:.4g}" if len(values) else "not recorded"
