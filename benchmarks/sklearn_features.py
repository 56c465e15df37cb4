"""Features for a classifier: BernoulliRBM and mpf.sklearn.RBM at the same size and time. About ten minutes of one core.

Logistic regression on the hidden means of grey images. Each seed draws its own split (digits) or training rows (MNIST, where its
files are in MINPROBFLOW_DATA) and its own start. Learning rate and C are chosen from the same grids for all, by the mean accuracy on
validation rows of splits that are not used again. Time is the processor's, one thread for NumPy, since the machine may be shared. Where
our first fit in a process, which includes compiling, takes much longer, BernoulliRBM also runs with as many iterations as fit into that,
with the settings chosen for fewer.
Last, what the default (no centring) costs in likelihood: digits, 20 hidden units, exact.
"""

import gzip
import time
from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import BernoulliRBM
from threadpoolctl import threadpool_limits

import minprobflow as mpf
from minprobflow.data import mnist
from minprobflow.data.folder import locate
from minprobflow.data.idx import parse_idx

TUNING = 1000  # the first seed that settings are chosen with
RULE = {"rule": "fpmpf", "k": 1}  # what the record was measured with
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
PENALTIES = (0.1, 1.0, 10.0, 100.0)
MUCH_LONGER = 1.5


def digits(seed):
    """1,797 images of 8x8 in a random split: 1,200 / 297 / 300."""
    data = load_digits()
    parts = np.split(np.random.default_rng(seed).permutation(len(data.data)), (1200, 1497))
    return [(data.data[part] / 16, data.target[part]) for part in parts]


def mnist_grey(seed):
    """5,000 random rows of the training file's first 50,000 to train, 2,000 of the rest to validate, the test file to test."""
    images, labels, test_images, test_labels = (parse_idx(gzip.decompress(locate(f).read_bytes()), f.name) for f in mnist.FILES["mnist"])
    x, test = images.reshape(len(images), -1) / 255, test_images.reshape(len(test_images), -1) / 255
    rows = np.random.default_rng(seed).permutation(50_000)[:5000]
    return [(x[rows], labels[rows]), (x[50_000:52_000], labels[50_000:52_000]), (test, test_labels)]


def accuracies(rbm, penalties, train, judged):
    features, others = rbm.transform(train[0]), rbm.transform(judged[0])
    return [LogisticRegression(C=c, max_iter=200).fit(features, train[1]).score(others, judged[1]) for c in penalties]


def fitted(make, rate, seed, rows):
    begun = time.process_time()
    rbm = make(learning_rate=rate, random_state=seed).fit(rows)
    return rbm, time.process_time() - begun


def best(split, makers, tuning):
    """The setting and C with the highest mean accuracy on the validation rows of the tuning splits."""
    tried = {}
    for seed in range(TUNING, TUNING + tuning):
        train, valid, _ = split(seed)
        for setting, make in makers.items():
            rbm = make(seed, train[0])
            for c, accuracy in zip(PENALTIES, accuracies(rbm, PENALTIES, train, valid), strict=True):
                tried.setdefault((setting, c), []).append(accuracy)
    return max(tried, key=lambda setting: np.mean(tried[setting]))


def measure(name, split, make, seeds, tuning, chosen=None):
    """Accuracy on test rows over the seeds, with the rate and C that are best on validation rows unless they are given."""
    makers = {rate: lambda seed, rows, rate=rate: fitted(make, rate, seed, rows)[0] for rate in RATES}
    rate, penalty = chosen or best(split, makers, tuning)
    found, seconds, on = [], [], []
    for seed in range(seeds):
        train, _, test = split(seed)
        rbm, took = fitted(make, rate, seed, train[0])
        seconds.append(took)
        on.append(rbm.transform(test[0]).mean())
        found += accuracies(rbm, [penalty], train, test)
    row = {
        "name": name,
        "n_iter": make.keywords["n_iter"],
        "learning_rate": rate,
        "C": penalty,
        "seconds": float(np.median(seconds)),
        "mean_activation": float(np.mean(on)),
        "accuracies": found,
    }
    print(f"{name}: {np.mean(found):.4f} +- {np.std(found, ddof=1):.4f} over {seeds} seeds, {row}", flush=True)
    return row


def compare(split, n_components, n_iter, seeds, tuning):
    train = split(TUNING)[0][0]
    ours = partial(mpf.sklearn.RBM, n_components, n_iter=n_iter, **RULE)
    theirs = partial(BernoulliRBM, n_components, n_iter=n_iter)
    _, first_fit = fitted(ours, RATES[0], TUNING, train)
    _, their_fit = fitted(theirs, RATES[0], TUNING, train)
    rows = [measure("BernoulliRBM", split, theirs, seeds, tuning)]
    if first_fit > MUCH_LONGER * their_fit:
        longer = partial(BernoulliRBM, n_components, n_iter=round(n_iter * first_fit / their_fit))
        chosen = rows[0]["learning_rate"], rows[0]["C"]
        rows.append(measure("BernoulliRBM, as long as our first fit", split, longer, seeds, tuning, chosen))
    for name, other in {"defaults": {}, "centred=True": {"centred": True}, "binarize=0.5": {"binarize": 0.5}}.items():
        rows.append(measure(f"mpf.sklearn.RBM, {name}", split, partial(ours, **other), seeds, tuning))
    return {
        "n_components": n_components,
        "n_train": len(train),
        "seeds": seeds,
        "tuning_splits": tuning,
        "first_fit_seconds": first_fit,
        "pixels": pixels(split, seeds, tuning),
        "rows": rows,
    }


def likelihoods(n_components=20, n_iter=100, seeds=5):
    """Of thresholded test rows, with the rate that is best on validation rows."""
    rows = []
    for centred in (False, True):
        make = partial(mpf.sklearn.RBM, n_components, n_iter=n_iter, **RULE, binarize=0.5, centred=centred)
        train, valid, _ = digits(TUNING)
        rate = max(RATES, key=lambda rate: fitted(make, rate, TUNING, train[0])[0].score(valid[0]))
        scores = []
        for seed in range(seeds):
            train, _, test = digits(seed)
            scores.append(fitted(make, rate, seed, train[0])[0].score(test[0]))
        rows.append({"centred": centred, "n_components": n_components, "n_iter": n_iter, "learning_rate": rate, "scores": scores})
        print(rows[-1], flush=True)
    return rows


class Pixels:
    """No features: the grey values themselves."""

    def transform(self, x):
        return x


def pixels(split, seeds, tuning):
    _, penalty = best(split, {None: lambda seed, rows: Pixels()}, tuning)
    return [accuracies(Pixels(), [penalty], *split(seed)[::2])[0] for seed in range(seeds)]


def main() -> dict[str, object]:
    with threadpool_limits(1):
        results = {"digits": compare(digits, n_components=100, n_iter=100, seeds=8, tuning=2)}
        if mpf.data.datasets()["mnist"].is_present():
            results["mnist"] = compare(mnist_grey, n_components=200, n_iter=10, seeds=5, tuning=1)
        return {"rates": RATES, "penalties": PENALTIES, "data": results, "likelihoods": likelihoods()}
