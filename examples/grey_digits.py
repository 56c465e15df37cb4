"""Train a Gaussian RBM on grey digits and look at what it dreams: docs/images/grey_digits.png. About a minute.

python examples/grey_digits.py [FIGURE.png]

Expect a test log density of about 42.8 nats an image, where one Gaussian with all covariances has 38.8.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal

import minprobflow as mpf
from minprobflow.pictures import figure_png, grid

HIDDEN = 64
MIN_VARIANCE = (1 / 16) ** 2  # one grey level: no model may claim to know a pixel better


def gaussians(train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Mean log densities of two closed forms under the same floor: one variance a pixel, and all covariances."""
    variances = np.maximum(train.var(0, np.float64), MIN_VARIANCE)
    values, vectors = np.linalg.eigh(np.cov(train.T, bias=True))
    covariance = vectors * np.maximum(values, MIN_VARIANCE) @ vectors.T
    choices = {"independent Gaussians": np.diag(variances), "one Gaussian, all covariances": covariance}
    return {name: float(multivariate_normal(train.mean(0), c).logpdf(test).mean()) for name, c in choices.items()}


def draw(data: mpf.data.Dataset, model: mpf.GaussianRBM, path: Path) -> None:
    """Test images, samples (their means given the hidden units, less the noise of the pixels), filters, standard deviations."""
    drawn = mpf.sample(model, n=48, steps=2000, start=data.train[:48])
    means = np.asarray(model.visible_mean(model.hidden_mean(drawn)))
    strongest = np.argsort(-np.linalg.norm(model.weights, axis=0))[:48]
    figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
    panels = ((data.test[:48], "a  test images"), (means, "b  samples: mean of v given h"))
    for ax, (rows, title) in zip(axes[0], panels, strict=True):
        ax.imshow(grid(rows, (8, 8), columns=8), cmap="gray_r", vmin=0, vmax=1)
        ax.set_title(title, fontsize=10)
    filters = grid(np.asarray(model.weights).T[strongest], (8, 8), columns=8)
    limit = np.nanmax(np.abs(filters))
    image = axes[1, 0].imshow(filters, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axes[1, 0].set_title("c  weights, the 48 strongest units", fontsize=10)
    figure.colorbar(image, ax=axes[1, 0], shrink=0.8)
    deviations = np.sqrt(np.asarray(model.variance)).reshape(8, 8)
    image = axes[1, 1].imshow(deviations, cmap="viridis", vmin=0)
    axes[1, 1].set_title("d  learned standard deviations", fontsize=10)
    figure.colorbar(image, ax=axes[1, 1], shrink=0.8)
    for ax in axes.flat:
        ax.set_axis_off()
    path.write_bytes(figure_png(figure, 110))


def main(figure: str = "docs/images/grey_digits.png") -> None:
    """Train, judge, draw."""
    data = mpf.load_dataset("digits", grey=True)
    start = mpf.GaussianRBM.init(0, 64, HIDDEN, data.train, MIN_VARIANCE)
    model = mpf.fit(start, data.train, rule="fpmpf", k=2, epochs=200, batch_size=50, learning_rate=0.2, l2=0.01).model
    for name, value in gaussians(data.train, data.test).items():
        print(f"{name:32} {value:.2f} nats an image")
    print(f"{'Gaussian RBM':32} {mpf.log_likelihood(model, data.test, base_data=data.train, max_betas=16_000)}")
    draw(data, model, Path(figure))
    print(figure)


if __name__ == "__main__":
    main(*sys.argv[1:])
