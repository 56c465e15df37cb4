"""An Ising model of 50 neurons: the convex fits against SciPy's L-BFGS-B, and moments against PCD. About ten minutes.

Needs the data set "spikes". SciPy minimises the same objective with its analytic gradient in NumPy, in double precision, from the same
start to the same relative gradient norm: over all rows, and over the distinct rows that `fit_convex` counts by itself; in turn, with two
threads and with one, and the best of each counts. Seconds are given as (wall, processor).
"""

import os
import time

import jax
import numpy as np
from scipy import optimize
from threadpoolctl import threadpool_limits

import minprobflow as mpf
from minprobflow.train.convex import counted

TOLERANCE = 1e-5
REPEATS = 2
PCD = {"rule": "pcd", "k": 1, "epochs": 30, "batch_size": 100, "learning_rate": 0.5, "average": 0.999}
FINISH = {
    "rule": "pmpf",
    "k": 1,
    "epochs": 30,
    "batch_size": 100,
    "learning_rate": 1.0,
    "average": 0.999,
}  # as PCD: the gradient of log J is half as large


def spikes() -> np.ndarray:
    data = mpf.load_dataset("spikes")
    return np.concatenate([data.train, data.valid, data.test])


def timed(function):
    """The result, with its seconds on the wall and of the processor (all threads): the second does not depend on what else runs."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    return result, (time.perf_counter() - wall, time.process_time() - processor)


def scipy_objective(objective, rows, share):
    """The objective and its gradient in (fields, upper triangle), as one would write them in NumPy."""
    n = rows.shape[1]
    v, upper = rows.astype(np.float64), np.triu_indices(n, 1)
    direction, share = 1 - 2 * v, share[:, None]

    def function(x):
        couplings = np.zeros((n, n))
        couplings[upper] = x[n:]
        differences = direction * (v @ (couplings + couplings.T) + x[:n])
        if objective == "mpf-1flip":
            flow = share * np.exp(differences / 2)
            total = flow.sum()
            value, slope = np.log(total), direction * flow / (2 * total)
        else:
            value = np.sum(share * np.logaddexp(0, differences))
            slope = direction * share / (1 + np.exp(-differences))
        products = v.T @ slope
        return value, np.concatenate([slope.sum(0), (products + products.T)[upper]])

    return function


def scipy_fit(function, start, target):
    """L-BFGS-B until the gradient's norm is at the target; the parameters and the number of evaluations."""
    evaluations, last = 0, None

    def counted(x):
        nonlocal evaluations, last
        evaluations += 1
        value, gradient = function(x)
        last = np.linalg.norm(gradient)
        return value, gradient

    def stop(intermediate_result):
        if last <= target:
            raise StopIteration

    options = {"maxiter": 5000, "maxfun": 10_000, "gtol": 0, "ftol": 0}
    found = optimize.minimize(counted, start, jac=True, method="L-BFGS-B", callback=stop, options=options)
    return found.x, evaluations


def scipy_precise(function, start, means, target):
    """Further down, in units of the parameters' rough standard errors, without which the last digits take for ever."""
    spread = np.sqrt(means * (1 - means))
    scale = 1 / np.concatenate([spread, np.outer(spread, spread)[np.triu_indices(len(means), 1)]])

    def scaled(x):
        value, gradient = function(scale * x)
        return value, scale * gradient

    return scale * scipy_fit(scaled, start / scale, target)[0]


def vector(model):
    return np.concatenate([model.fields, np.asarray(model.pairs)[np.triu_indices(model.space.size, 1)]]).astype(np.float64)


def compare(objective, rows) -> dict[str, object]:
    start = mpf.Ising.init(rows.shape[1], rows)
    jax.clear_caches()
    fit, cold = timed(lambda: mpf.fit_convex(start, rows, objective, tolerance=TOLERANCE))
    every = scipy_objective(objective, rows, np.full(len(rows), 1 / len(rows)))
    distinct = scipy_objective(objective, *counted(rows, None))
    reference = np.linalg.norm(distinct(vector(start))[1])  # `start` has the data's means
    times, evaluations = {}, {"ours": fit.evaluations}
    for threads in (2, 1) * REPEATS:  # of NumPy's products: on a busy machine two are slower than one
        fit, seconds = timed(lambda: mpf.fit_convex(start, rows, objective, tolerance=TOLERANCE))
        times.setdefault("ours", []).append(seconds)
        for name, function in (("scipy", every), ("scipy_distinct_rows", distinct)):
            with threadpool_limits(threads):
                (found, evaluations[name]), seconds = timed(lambda f=function: scipy_fit(f, vector(start), TOLERANCE * reference))
            times.setdefault(name, []).append(seconds)
    precise = scipy_precise(distinct, found, rows.mean(0), 1e-2 * TOLERANCE * reference)
    best = {name: np.min(seconds, axis=0) for name, seconds in times.items()}  # of wall and of processor time
    cold = np.asarray(cold)
    return {
        "converged": bool(fit.converged),
        "relative_gradient_norm": fit.gradient_norm,
        "gradient_norm_by_numpy": float(np.linalg.norm(every(vector(fit.model))[1]) / reference),
        "iterations": fit.iterations,
        "objective": fit.objective,
        "rows": len(rows),
        "distinct_rows": fit.unique_rows,
        "evaluations": evaluations,
        "times": times,
        "load_average": os.getloadavg()[0],
        "best": {name: seconds.tolist() for name, seconds in best.items()},
        "first_call_with_compilation": cold.tolist(),
        "speedup": (best["scipy"] / best["ours"]).tolist(),
        "speedup_with_compilation": (best["scipy"] / cold).tolist(),
        "speedup_over_distinct_rows": (best["scipy_distinct_rows"] / best["ours"]).tolist(),
        "speedup_over_distinct_rows_with_compilation": (best["scipy_distinct_rows"] / cold).tolist(),
        "largest_parameter_difference": float(np.abs(vector(fit.model) - precise).max()),
        "largest_parameter_difference_of_scipy": float(np.abs(found - precise).max()),
    }


def misfit(model, rows, seed=0) -> dict[str, float]:
    """How far the model's moments are from the data's; in units of the data's own standard error, 1 is as good as can be told."""
    n = rows.shape[1]
    upper, v = np.triu_indices(n, 1), rows.astype(np.float64)
    wanted = v.T @ v / len(v)
    found = mpf.moments(model, chains=1000, burn_in=500, steps=1000, start=rows[:: len(rows) // 1000], seed=seed)
    error = found.pairs - wanted
    stderr = np.sqrt(np.maximum(wanted * (1 - wanted), 1 / len(v)) / len(v))  # that of one coincidence for pairs never seen
    covariance = wanted - np.outer(np.diagonal(wanted), np.diagonal(wanted))
    return {
        "rms_error_of_means": float(np.sqrt(np.mean(np.diagonal(error) ** 2))),
        "rms_error_of_pairs": float(np.sqrt(np.mean(error[upper] ** 2))),
        "rms_error_of_pairs_in_standard_errors": float(np.sqrt(np.mean((error / stderr)[upper] ** 2))),
        "correlation_of_covariances": float(np.corrcoef(found.covariance[upper], covariance[upper])[0, 1]),
        "rms_sampling_error": float(np.sqrt(np.mean(found.stderr[upper] ** 2))),
    }


def moments(rows) -> dict[str, object]:
    """On the recording; and on rows drawn from the model that PCD fitted to it, where a pairwise model is the truth."""
    start = mpf.Ising.init(rows.shape[1], rows)
    result: dict[str, object] = {}

    def judge(name, fit, rows):
        begun = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - begun
        result[name] = {"seconds": seconds, **misfit(model, rows)}
        print(f"{name}: {result[name]}", flush=True)
        return model

    judge("independent units", lambda: start, rows)
    pcd = judge("PCD", lambda: mpf.fit(start, rows, progress=False, **PCD).model, rows)
    for name in ("mpf-1flip", "pseudo-likelihood"):
        judge(name, lambda name=name: mpf.fit_convex(start, rows, name).model, rows)
        penalised = judge(f"{name}, L2 0.001", lambda name=name: mpf.fit_convex(start, rows, name, l2=1e-3).model, rows)
        judge(f"{name}, L2 0.001, then PMPF", lambda model=penalised: mpf.fit(model, rows, progress=False, **FINISH).model, rows)
    drawn = mpf.sample(pcd, n=len(rows), steps=200, start=rows)
    again = mpf.Ising.init(drawn.shape[1], drawn)
    judge("drawn rows: PCD", lambda: mpf.fit(again, drawn, progress=False, **PCD).model, drawn)
    for name in ("mpf-1flip", "pseudo-likelihood"):
        judge(f"drawn rows: {name}", lambda name=name: mpf.fit_convex(again, drawn, name).model, drawn)
    return {"pcd": PCD, "finish": FINISH, "models": result}


def main() -> dict[str, object]:
    rows = spikes()
    result: dict[str, object] = {"tolerance": TOLERANCE, "moments": moments(rows)}
    for objective in ("mpf-1flip", "pseudo-likelihood"):
        result[objective] = compare(objective, rows)
        for name, value in result[objective].items():
            print(f"{objective} {name}: {value}", flush=True)
    return result
