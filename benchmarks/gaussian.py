"""Gaussian RBMs of grey digits beside other densities of them: mean log density of the test images.

No model may have a variance below that of one grey level in any direction: without such a floor the log density of pixels
that are nearly always white has no bound, and says nothing.
"""

import time

import numpy as np
from sklearn.mixture import GaussianMixture

import minprobflow as mpf

MIN_VARIANCE = (1 / 16) ** 2
SETTINGS = {"rule": "fpmpf", "k": 2, "epochs": 200, "batch_size": 50, "learning_rate": 0.2}
RUNS = ((16, 0.01), (64, 0.01), (200, 0.01), (200, 0.0))  # hidden units, l2


def independent(train: np.ndarray, test: np.ndarray) -> float:
    variance = np.maximum(train.var(0, np.float64), MIN_VARIANCE)
    return float(np.mean(np.sum(-((test - train.mean(0)) ** 2) / variance - np.log(2 * np.pi * variance), 1)) / 2)


def full_covariance(train: np.ndarray, test: np.ndarray) -> float:
    """Maximum likelihood with all eigenvalues at or above the floor."""
    values, vectors = np.linalg.eigh(np.cov(train.T, bias=True))
    rotated = (test - train.mean(0)) @ vectors
    variance = np.maximum(values, MIN_VARIANCE)
    return float(np.mean(np.sum(-(rotated**2) / variance - np.log(2 * np.pi * variance), 1)) / 2)


def mixture(data: mpf.data.Dataset) -> tuple[int, float]:
    """Full covariances; the number of components chosen on validation."""
    fits = {n: GaussianMixture(n, reg_covar=MIN_VARIANCE, random_state=0).fit(data.train) for n in (10, 20, 40)}
    best = max(fits, key=lambda n: fits[n].score(data.valid))
    return best, float(fits[best].score(data.test))


def main(runs=RUNS, **changes) -> dict[str, object]:
    data = mpf.load_dataset("digits", grey=True)
    components, by_mixture = mixture(data)
    result: dict[str, object] = {
        "settings": {**SETTINGS, **changes, "min_variance": MIN_VARIANCE},
        "independent": independent(data.train, data.test),
        "full_covariance": full_covariance(data.train, data.test),
        "mixture": {"components": components, "value": by_mixture},
        "rbm": [],
    }
    for n, l2 in runs:
        begun = time.perf_counter()
        start = mpf.GaussianRBM.init(0, 64, n, data.train, MIN_VARIANCE)
        model = mpf.fit(start, data.train, l2=l2, **{**SETTINGS, **changes}).model
        seconds = time.perf_counter() - begun
        log_z = mpf.log_partition(model, base_data=data.train, max_betas=16_000)
        parts = {p: mpf.likelihood.from_log_partition(model, getattr(data, p), log_z) for p in ("train", "valid", "test")}
        record = {p: estimate.record() for p, estimate in parts.items()}
        result["rbm"].append({"hidden": n, "l2": l2, **record, "method": log_z.method, "verdict": log_z.verdict, "seconds": seconds})
        print(n, l2, {part: round(estimate.value, 2) for part, estimate in parts.items()}, log_z, flush=True)
    print({name: result[name] for name in ("independent", "full_covariance", "mixture")}, flush=True)
    return result
