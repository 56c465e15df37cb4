"""The published 500-unit CD25 RBM of Salakhutdinov & Murray (2008): log Z 451.28, test log-likelihood -86.34, both by AIS.

About fifteen minutes on two cores. Needs golden/rbm_CD25_500_params.npz and golden/randomly_binarized_mnist.mat in MINPROBFLOW_DATA.
"""

import sys

import numpy as np
import scipy.io

import minprobflow as mpf
from minprobflow.data.folder import data_folder
from minprobflow.likelihood import from_log_partition

PUBLISHED = {"log_partition": 451.28, "log_likelihood": -86.34}


def load() -> tuple[mpf.RBM, np.ndarray, np.ndarray]:
    """Model, training rows (the first 10,000), test rows."""
    folder = data_folder() / "golden"
    parameters = np.load(folder / "rbm_CD25_500_params.npz")
    rows = scipy.io.loadmat(folder / "randomly_binarized_mnist.mat")
    return mpf.RBM(parameters["W"], parameters["a"], parameters["b"]), rows["x_trn"].T[:10_000], rows["x_tst"].T


def main() -> dict[str, object]:
    model, train, test = load()
    runs = []
    for seed, betas in ((0, 16_000), (1, 16_000), (2, 16_000), (0, None)):  # at last, doubled until precise enough
        log_z = mpf.log_partition(
            model,
            "ais",
            seed=seed,
            base_data=train,
            chains=100,
            betas=betas,
            progress=lambda p, s: print(f"\r{p} {s:4.0%}", end="", file=sys.stderr),
        )
        likelihood = from_log_partition(model, test, log_z)
        print(f"\nseed {seed}, betas {betas}: log Z {log_z}\n        log-likelihood {likelihood}", flush=True)
        runs.append(
            {
                "seed": seed,
                "log_partition": log_z.record(),
                "log_likelihood": likelihood.record(),
                "verdict": log_z.verdict,
                "warnings": log_z.warnings,
                "settings": log_z.settings,
            }
        )
    return {"published": PUBLISHED, "runs": runs}
