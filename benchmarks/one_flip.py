"""Value and gradient of MPF-1flip, batch 75, 784 x 200: ours against the dense form and the rank-1 broadcast in PyTorch.

Seconds are those of a call in a row of calls, as in training: what runs in between would leave the caches full of its own data.
Peak memory is that of a process which does nothing else, less that of the same process before; ours also when the compiled program was
kept from an earlier process, as the command line does: most of the rest is the compiler's.
"""

import json
import os
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import torch

import minprobflow as mpf
from benchmarks.timing import best, interleaved, peak_mib

BATCH, VISIBLE, HIDDEN = 75, 784, 200


def problem(scale=0.05):
    rng = np.random.default_rng(0)
    v = (rng.random((BATCH, VISIBLE)) < 0.2).astype(np.float32)
    weights = rng.normal(scale=scale, size=(VISIBLE, HIDDEN)).astype(np.float32)
    return v, (weights, rng.normal(size=VISIBLE).astype(np.float32) - 1, rng.normal(size=HIDDEN).astype(np.float32))


def ours():
    v, parameters = problem()
    rule = mpf.rule("mpf-1flip").build(BATCH)
    function = jax.jit(jax.value_and_grad(lambda model, v: rule.loss(model, None, v)[0]))
    model, v = mpf.BernoulliRBM(*parameters), jnp.asarray(v)
    return lambda: jax.block_until_ready(function(model, v))


def _objective(differences):
    return torch.logsumexp(differences.flatten() / 2, 0) - np.log(BATCH)


def _free_energy(v, weights, b, c):
    return -(v @ b) - torch.nn.functional.softplus(v @ weights + c).sum(-1)


def dense():
    """All BATCH x VISIBLE flipped states, their free energies by one product."""
    v, parameters = problem()
    v, parameters = torch.from_numpy(v), [torch.from_numpy(p).requires_grad_() for p in parameters]

    def run():
        flipped = v[:, None, :].repeat(1, VISIBLE, 1)
        index = torch.arange(VISIBLE)
        flipped[:, index, index] = 1 - v
        difference = _free_energy(v, *parameters)[:, None] - _free_energy(flipped, *parameters)
        loss = _objective(difference)
        return float(loss), torch.autograd.grad(loss, parameters)

    return run


def broadcast():
    """Hidden inputs of all flipped states as a rank-1 change of those of the data."""
    v, parameters = problem()
    v, (weights, b, c) = torch.from_numpy(v), [torch.from_numpy(p).requires_grad_() for p in parameters]

    def run():
        delta = 1 - 2 * v
        inputs = v @ weights + c
        after = inputs[:, None, :] + delta[:, :, None] * weights
        gain = torch.nn.functional.softplus(after).sum(-1) - torch.nn.functional.softplus(inputs).sum(-1)[:, None]
        loss = _objective(delta * b + gain)
        return float(loss), torch.autograd.grad(loss, (weights, b, c))

    return run


def autodiff():
    """The same broadcast through JAX's own differentiation."""
    v, parameters = problem()

    def objective(parameters, v):
        weights, b, c = parameters
        delta, inputs = 1 - 2 * v, v @ weights + c
        after = inputs[:, None, :] + delta[:, :, None] * weights
        gain = jax.nn.softplus(after).sum(-1) - jax.nn.softplus(inputs).sum(-1)[:, None]
        return jax.scipy.special.logsumexp((delta * b + gain) / 2) - np.log(BATCH)

    function, v = jax.jit(jax.value_and_grad(objective)), jnp.asarray(v)
    return lambda: jax.block_until_ready(function(parameters, v))


CALLS = {"ours": 40, "torch, all flipped states": 1, "torch, rank-1 broadcast": 4, "jax autodiff, rank-1": 4}  # a third of a second each
VARIANTS = {"ours": ours, "torch, all flipped states": dense, "torch, rank-1 broadcast": broadcast, "jax autodiff, rank-1": autodiff}


def peak(name, **environment):
    """MiB that a fresh process needs beyond its imports for three calls."""
    code = f"import json; from benchmarks import one_flip; print(json.dumps(one_flip.measure({name!r})))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment)
    return json.loads(out.stdout.splitlines()[-1])


def peak_with_kept_programs(name):
    with tempfile.TemporaryDirectory() as folder:
        keep = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        peak(name, **keep)
        return peak(name, **keep)


def measure(name):
    jnp.zeros(1).block_until_ready()
    torch.zeros(1)
    before = peak_mib()
    run = VARIANTS[name]()
    for _ in range(3):
        run()
    return peak_mib() - before


def accuracy(scale):
    """Largest error of the gradient against float64, relative to its largest entry."""
    v, parameters = problem(scale)
    rule = mpf.rule("mpf-1flip").build(BATCH)
    gradient = jax.grad(lambda model: rule.loss(model, None, jnp.asarray(v))[0])(mpf.BernoulliRBM(*parameters))
    doubles = [torch.from_numpy(p.astype(np.float64)).requires_grad_() for p in parameters]
    x = torch.from_numpy(v.astype(np.float64))
    weights, b, c = doubles
    delta, inputs = 1 - 2 * x, x @ weights + c
    rows = []
    for i in range(BATCH):  # example by example: memory
        after = inputs[i] + delta[i][:, None] * weights
        rows.append(delta[i] * b + (torch.nn.functional.softplus(after) - torch.nn.functional.softplus(inputs[i])).sum(-1))
    true = torch.autograd.grad(_objective(torch.stack(rows)), doubles)
    pairs = zip((gradient.weights, gradient.visible_bias, gradient.hidden_bias), true, strict=True)
    return max(float(np.abs(np.asarray(a) - b.numpy()).max() / np.abs(b.numpy()).max()) for a, b in pairs)


def row_of_calls(run, calls):
    return lambda: [run() for _ in range(calls)]


def main():
    times = interleaved({name: row_of_calls(make(), CALLS[name]) for name, make in VARIANTS.items()}, 7)
    seconds = best({name: [seconds / CALLS[name] for seconds in found] for name, found in times.items()})
    memory = {name: peak(name) for name in VARIANTS} | {"ours, program kept": peak_with_kept_programs("ours")}
    first = seconds["ours"]["best"]
    speedup = {name: found["best"] / first for name, found in seconds.items() if name != "ours"}
    errors = {str(scale): accuracy(scale) for scale in (0.05, 1.0, 20.0)}
    print(json.dumps({"seconds": seconds, "speedup": speedup, "memory": memory, "errors": errors}, indent=1))
    return {"seconds": seconds, "speedup": speedup, "peak_mib": memory, "relative_error_by_weight_scale": errors}
