"""In equal time, does it pay to keep particles for several updates where sampling is dear? Ten minutes.

A restricted Boltzmann machine samples a whole layer at once, by two matrix products; an energy that is only a function does not: its heat
bath redraws one unit after the other, and evaluates the energy twice for each. Here it is a neural network with two hidden layers, on
the 16 variables of nltcs, so that likelihoods are exact. Every variant gets the same processor seconds of updates on one thread, to
the nearest epoch, and its own rate (of Adam, decaying to zero), chosen on the validation split with the first seed.
"""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np

import minprobflow as mpf
from benchmarks.parts import in_parts

BUDGETS = (1, 4)  # processor seconds
RATES = (0.01, 0.03, 0.1)
SEEDS, BATCH_SIZE, WIDTH, TIMED = 8, 100, 32, 4
VARIANTS = {
    "CD-1": ("cd", {"k": 1}),
    "CD-10": ("cd", {"k": 10}),
    "PCD-1": ("pcd", {"k": 1}),
    "PCD-10": ("pcd", {"k": 10}),
    "FMPF-1, refresh 5": ("fmpf", {"k": 1, "refresh": 5}),
    "FMPF-1, refresh 20": ("fmpf", {"k": 1, "refresh": 20}),
    "PMPF-1, refresh 5": ("pmpf", {"k": 1, "refresh": 5}),
    "PMPF-1, refresh 20": ("pmpf", {"k": 1, "refresh": 20}),
    "PMPF-10, refresh 20": ("pmpf", {"k": 10, "refresh": 20}),
    "MPF-1flip": ("mpf-1flip", {}),
}


def energy(params, v):
    """Of one state."""
    first = jax.nn.softplus(v @ params["first"] + params["first_bias"])
    second = jax.nn.softplus(first @ params["second"] + params["second_bias"])
    return -v @ params["fields"] - second @ params["out"]


def start(key, size):
    """A network of small weights."""
    first, second, out = jax.random.split(key, 3)
    params = {
        "fields": jnp.zeros(size),
        "first": jax.random.normal(first, (size, WIDTH)) / size**0.5,
        "first_bias": jnp.zeros(WIDTH),
        "second": jax.random.normal(second, (WIDTH, WIDTH)) / WIDTH**0.5,
        "second_bias": jnp.zeros(WIDTH),
        "out": 0.1 * jax.random.normal(out, (WIDTH,)),
    }
    return mpf.EnergyModel(energy, params, size)


def trained(data, variant, rate, epochs, seed):
    """The model, and the processor seconds of each epoch."""
    rule, settings = VARIANTS[variant]
    marks = [time.process_time()]
    done = mpf.fit(
        lambda key: start(key, data.shape[1]),
        data,
        rule,
        optimizer="adam",
        learning_rate=rate,
        epochs=epochs,
        batch_size=BATCH_SIZE,
        seed=seed,
        callbacks=[lambda epoch: marks.append(time.process_time())],
        progress=False,
        **settings,
    )
    return done.model, np.diff(marks)


def tried(dataset, variant, budget):
    """One variant within one budget: its trials, and the chosen rate over the seeds."""
    trials = []
    trained(dataset.train, variant, RATES[0], 1, 0)  # compiles
    for rate in RATES:
        _, seconds = trained(dataset.train, variant, rate, TIMED, 0)
        epochs = max(round(budget / float(seconds.min())), 1)
        model, _ = trained(dataset.train, variant, rate, epochs, 0)
        trials.append({"rate": rate, "epochs": epochs, "valid": mpf.log_likelihood(model, dataset.valid, "exact").value})
    best = max(trials, key=lambda trial: trial["valid"])
    runs = []
    for seed in range(SEEDS):
        model, seconds = trained(dataset.train, variant, best["rate"], best["epochs"], seed)
        runs.append({"test": mpf.log_likelihood(model, dataset.test, "exact").value, "seconds": float(seconds.sum())})
    return {**best, "trials": trials, "runs": runs}


def main() -> dict[str, object]:
    os.environ["NPROC"] = "1"  # XLA reads it at the first computation
    dataset = mpf.load_dataset("nltcs")
    parts = {
        f"{variant} in {budget} s": lambda variant=variant, budget=budget: tried(dataset, variant, budget)
        for budget in BUDGETS
        for variant in VARIANTS
    }
    return {"budgets": BUDGETS, "rates": RATES, "seeds": SEEDS, "variants": list(VARIANTS), "found": in_parts("kept_particles", parts)}
