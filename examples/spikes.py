"""Fit an Ising model to the spikes of 50 neurons and see what it explains: docs/images/spikes.png. About a minute.

MINPROBFLOW_DATA=<folder with spikes/maxent_example50.npz> python examples/spikes.py [FIGURE.png]
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import minprobflow as mpf
from minprobflow.pictures import figure_png

BLUE, RED, GREY = "#1f5a99", "#c8553d", "0.55"
L2 = 1e-3


def fit(rows: np.ndarray) -> dict[str, mpf.Ising]:
    """Independent neurons; MPF-1flip alone; MPF-1flip held back by L2 and finished with sampled flow."""
    independent = mpf.Ising.init(rows.shape[1], rows)
    alone = mpf.fit_convex(independent, rows)
    begun = mpf.fit_convex(independent, rows, l2=L2)
    finished = mpf.fit(begun.model, rows, rule="pmpf", k=1, epochs=30, batch_size=100, learning_rate=1.0, average=0.999)
    return {"independent": independent, "MPF-1flip alone": alone.model, "pairwise": finished.model}


def summary(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Firing rates, correlations of all pairs, and the distribution of the number of neurons that fire together."""
    v = rows.astype(np.float64)
    counts = np.bincount(rows.sum(1), minlength=rows.shape[1] + 1)
    return v.mean(0), np.corrcoef(v.T)[np.triu_indices(rows.shape[1], 1)], counts / len(rows)


def draw(rows: np.ndarray, models: dict[str, mpf.Ising], samples: dict[str, np.ndarray], path: Path) -> None:
    """Four panels: what the pairwise model explains, and what MPF-1flip alone runs into."""
    rates, correlations, counts = summary(rows)
    model_rates, model_correlations, _ = summary(samples["pairwise"])
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained")
    ax = axes[0, 0]
    ax.plot([0.003, 0.35], [0.003, 0.35], color=GREY, lw=1)
    ax.loglog(rates, model_rates, "o", color=BLUE, ms=5)
    ax.set(title="a  firing rates", xlabel="recorded (spikes a bin)", ylabel="pairwise model")
    ax = axes[0, 1]
    ax.plot([-0.03, 0.2], [-0.03, 0.2], color=GREY, lw=1)
    ax.plot(correlations, summary(samples["independent"])[1], ".", color=RED, ms=3, alpha=0.5, label="independent neurons")
    ax.plot(correlations, model_correlations, ".", color=BLUE, ms=4, alpha=0.6, label="pairwise model")
    ax.set(title="b  correlations of all pairs", xlabel="recorded", ylabel="model")
    ax.legend(frameon=False, markerscale=2)
    ax = axes[1, 0]
    k = np.arange(len(counts))
    ax.semilogy(k, np.where(counts > 0, counts, np.nan), "o", color="black", ms=4, label="recorded")
    for name, colour in (("independent", RED), ("pairwise", BLUE)):
        p = summary(samples[name])[2]
        ax.semilogy(k, np.where(p > 0, p, np.nan), color=colour, label={"independent": "independent neurons"}.get(name, "pairwise model"))
    ax.set(title="c  how many fire together", xlabel="neurons active in a bin", ylabel="probability", xlim=(-0.5, 30), ylim=(1e-5, 0.5))
    ax.legend(frameon=False)
    ax = axes[1, 1]
    for steps, colour in ((1, "#c9d8ea"), (10, "#8fb0d3"), (100, "#4a7db5"), (300, BLUE)):
        run = mpf.sample(models["MPF-1flip alone"], steps=steps, start=rows[::20])
        ax.plot(k, summary(run)[2], color=colour, lw=2, label=f"{steps} sweep{'s' if steps > 1 else ''}")
    ax.set(title="d  a trap: MPF-1flip alone", xlabel="neurons active, in chains that start at the data", ylabel="probability")
    ax.legend(frameon=False)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.title.set_ha("left")
        ax.title.set_position((0, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(figure_png(figure, 120))


def main(path: str = "docs/images/spikes.png") -> dict[str, float]:
    """Fit to the first 30,000 time bins, compare with them, and judge on the last 5,000."""
    data = mpf.load_dataset("spikes")
    models = fit(data.train)
    samples = {name: mpf.sample(models[name], steps=200, start=data.train) for name in ("independent", "pairwise")}
    draw(data.train, models, samples, Path(path))
    recorded, found = summary(data.train), summary(samples["pairwise"])
    independent = mpf.log_likelihood(models["independent"], data.test, "ais", base_data=data.train, betas=1000)
    pairwise = mpf.log_likelihood(models["pairwise"], data.test, "ais", base_data=data.train, betas=4000)
    result = {
        "largest_error_of_rates": float(np.abs(recorded[0] - found[0]).max()),
        "rms_error_of_correlations": float(np.sqrt(np.mean((recorded[1] - found[1]) ** 2))),
        "rms_correlation": float(np.sqrt(np.mean(recorded[1] ** 2))),
        "silent_bins_recorded": float(recorded[2][0]),
        "silent_bins_pairwise": float(found[2][0]),
        "silent_bins_independent": float(summary(samples["independent"])[2][0]),
        "test_log_likelihood_independent": independent.value,
        "test_log_likelihood_pairwise": pairwise.value,
        "test_log_likelihood_pairwise_stderr": pairwise.stderr,
        "verdict": pairwise.verdict,
    }
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
