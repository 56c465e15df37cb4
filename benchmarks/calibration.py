"""Does the stated 95% interval of AIS hold the exact log Z? 240 random RBMs, easy and hard. About two minutes."""

import collections

import numpy as np

import minprobflow as mpf

SIZES = ((10, 8), (24, 12), (60, 14), (12, 40))
SPREADS = (0.1, 0.3, 1.0, 2.0, 3.0)
TAUS = (0.5, 1.0, 2.0)
REPEATS = 2


def models():
    """Every combination of size, weights' standard deviation, temperature, biased or not."""
    rng = np.random.default_rng(0)
    for repeat in range(REPEATS):
        for n_visible, n_hidden in SIZES:
            for spread in SPREADS:
                for tau in TAUS:
                    for biased in (0.0, 1.0):
                        weights = rng.normal(scale=spread, size=(n_visible, n_hidden))
                        biases = [rng.normal(scale=biased * spread, size=n) for n in (n_visible, n_hidden)]
                        yield (
                            {"size": (n_visible, n_hidden), "spread": spread, "tau": tau, "biased": biased, "repeat": repeat},
                            mpf.RBM(weights, *biases, tau),
                        )


def easy(kind) -> bool:
    """Effective couplings of a standard deviation up to one."""
    return kind["spread"] / kind["tau"] <= 1.0


def main() -> dict[str, object]:
    """With the default settings; and with 5 temperatures only, where the verdict has to sort good from bad."""
    return {"default": measure(), "only_5_temperatures": measure(betas=5)}


def measure(betas: int | None = None, limit: int | None = None) -> dict[str, object]:
    rows = []
    for i, (kind, model) in enumerate(models()):
        if limit is not None and i % (240 // limit + 1):  # no multiple of the loops within
            continue
        exact = mpf.log_partition(model, "exact").value
        e = mpf.log_partition(model, "ais", seed=i, betas=betas)
        rows.append({**kind, "error": e.value - exact, "stderr": e.stderr, "covered": e.lower <= exact <= e.upper, "verdict": e.verdict})
    return summary(rows)


def summary(rows) -> dict[str, object]:
    trusted = [row for row in rows if row["verdict"] == "trusted"]
    result = {
        "models": len(rows),
        "verdicts": dict(collections.Counter(row["verdict"] for row in rows)),
        "trusted_share_of_easy": float(np.mean([row["verdict"] == "trusted" for row in rows if easy(row)])),
        "coverage_of_trusted": float(np.mean([row["covered"] for row in trusted])),
        "coverage_by_value_and_stderr_alone": float(np.mean([abs(row["error"]) <= 1.96 * row["stderr"] for row in trusted])),
        "trusted_off_by_more_than_1_nat": float(np.mean([abs(row["error"]) > 1 for row in trusted])),
        "largest_error_of_trusted": float(np.max(np.abs([row["error"] for row in trusted]))),
        "largest_error_of_others": max((abs(row["error"]) for row in rows if row["verdict"] != "trusted"), default=0.0),
    }
    for name, value in result.items():
        print(f"{name}: {value}", flush=True)
    return result
