"""The compiled kernels against XLA's programs: the same states, gradients, laws and errors on both paths."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import chi_square_p_value, draw, probabilities, state_counts

import minprobflow as mpf
from minprobflow import native
from minprobflow.likelihood.annealing import anneal
from minprobflow.samplers import block_gibbs, heat_bath
from minprobflow.samplers.engine import run

LIBRARY = native.status("native")
needs_library = pytest.mark.skipif(LIBRARY.path != "native", reason=f"no compiled kernels: {LIBRARY.reason}")
# sizes around those of vectors and words, and a batch that is no multiple of the groups that chains are stepped in
SHAPES = [(1, 1, 1), (3, 15, 16), (26, 17, 1), (30, 63, 33), (51, 65, 64), (100, 200, 130)]
KINDS = {"bernoulli": mpf.BernoulliRBM, "spin": mpf.SpinRBM}


def on_both(compute):
    """What both paths give."""
    with native.using("native"):
        first = compute()
    with native.using("xla"):
        return first, compute()


def rbm(kind, n_visible, n_hidden, tau=1.0, scale=0.5):
    rng = np.random.default_rng(n_visible)
    weights = rng.normal(size=(n_visible, n_hidden), scale=scale)
    bias = rng.normal(size=n_visible, scale=0.5) - (kind == "bernoulli")
    return KINDS[kind](weights, bias, rng.normal(size=n_hidden, scale=0.5), tau)


def states_of(model, n):
    return jnp.asarray(model.space.random_rows(np.random.default_rng(n), n)).astype(float)


def ising(size, tau=1.0):
    rng = np.random.default_rng(size)
    return mpf.Ising(np.triu(rng.normal(size=(size, size), scale=0.4), 1), rng.normal(size=size), tau)


def potts(size, values, tau=1.0):
    rng = np.random.default_rng(size)
    couplings = rng.normal(size=(size, values, size, values), scale=0.3)
    couplings = (couplings + couplings.transpose(2, 3, 0, 1)) * (1 - np.eye(size))[:, None, :, None]
    return mpf.Potts(couplings, rng.normal(size=(size, values)), tau)


def share_that_differs(a, b):
    return float(np.mean(np.asarray(a) != np.asarray(b)))


@needs_library
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n, n_visible, n_hidden", SHAPES)
def test_free_energies_and_gradients_agree(kind, n, n_visible, n_hidden):
    model = rbm(kind, n_visible, n_hidden)
    v = states_of(model, n)

    def loss(model):
        return jnp.mean(jnp.tanh(model.free_energy(v) / n_visible))

    (value, gradient), (wanted, expected) = on_both(lambda: jax.jit(jax.value_and_grad(loss))(model))
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@needs_library
def test_the_product_is_bilinear_to_every_transformation():
    rng = np.random.default_rng(0)
    x, w, dx, dw = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((4, 6), (6, 3), (4, 6), (6, 3)))
    x = jnp.where(x > 0, x, 0)
    with native.using("native"):
        assert "minprobflow_product" in str(jax.make_jaxpr(native.product)(x, w))
        np.testing.assert_allclose(native.product(x[0], w), x[0] @ w, rtol=1e-5)
        value, tangent = jax.jvp(native.product, (x, w), (dx, dw))
        np.testing.assert_allclose(tangent, dx @ w + x @ dw, rtol=1e-5, atol=1e-6)
        _, pull = jax.vjp(native.product, x, w)
        np.testing.assert_allclose(pull(value)[0], value @ w.T, rtol=1e-5)
        np.testing.assert_allclose(pull(value)[1], x.T @ value, rtol=1e-5)
        each = jax.vmap(jax.grad(lambda w, row: jnp.sum(native.product(row, w) ** 2)), (None, 0))(w, x)
        np.testing.assert_allclose(each, 2 * x[:, :, None] * (x @ w)[:, None], rtol=1e-5)
        np.testing.assert_allclose(jax.vmap(native.product)(jnp.stack([x, 2 * x]), jnp.stack([w, w]))[1], 2 * x @ w, rtol=1e-5)
        mapped = jax.vmap(native.product, (1, None))(jnp.stack([x, dx], 1), w)
        np.testing.assert_allclose(mapped, jnp.stack([x @ w, dx @ w]), rtol=1e-5)
        twice = jax.hessian(lambda w: jnp.sum(native.product(x, w) ** 2))(w)
        np.testing.assert_allclose(twice, jax.hessian(lambda w: jnp.sum((x @ w) ** 2))(w), rtol=1e-5, atol=1e-5)


@needs_library
def test_two_products_at_once_are_two_products_to_every_transformation():
    rng = np.random.default_rng(1)
    x, y, w, dx, dy, dw = (jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((4, 6), (27, 6), (6, 3), (4, 6), (27, 6), (6, 3)))
    x = jnp.where(x > 0, x, 0)

    def both(x, y, w):
        return x @ w, y @ w

    def loss(products):
        return lambda x, y, w: sum(jnp.sum(jnp.tanh(z) ** (1 + i)) for i, z in enumerate(products(x, y, w)))

    def same(a, b):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), a, b)

    with native.using("native"):
        assert "minprobflow_contrast" in str(jax.make_jaxpr(jax.grad(loss(native.products), 2))(x, y, w))
        same(tuple(native.products(x, y, w)), both(x, y, w))
        same(jax.jvp(native.products, (x, y, w), (dx, dy, dw)), jax.jvp(both, (x, y, w), (dx, dy, dw)))
        for arguments in ((2,), (0, 1, 2)):
            same(jax.grad(loss(native.products), arguments)(x, y, w), jax.grad(loss(both), arguments)(x, y, w))
        same(jax.hessian(loss(native.products), 2)(x, y, w), jax.hessian(loss(both), 2)(x, y, w))
        stacked = [jnp.stack([a, 2 * a]) for a in (x, y)]
        for axes in ((0, 0, None), (None, 0, None)):
            arrays = [s if axis == 0 else a for a, s, axis in zip((x, y), stacked, axes, strict=False)]
            found, wanted = (jax.vmap(jax.grad(loss(f), 2), axes)(*arrays, w) for f in (native.products, both))
            same(found, wanted)


@needs_library
@pytest.mark.parametrize("tau", [0.5, 2.0])
@pytest.mark.parametrize("rule", ["cd", "fpmpf"])
def test_updates_take_both_paths_to_the_same_model(rule, tau):
    """Particles are kept for three updates, so that their weights count."""
    rows = (np.random.default_rng(2).random((60, 33)) < 0.3).astype(np.uint8)
    model = rbm("bernoulli", 33, 17, tau, scale=0.1)
    settings = {"k": 1, "refresh": 3, "batch_size": 20, "epochs": 2, "progress": False}
    a, b = on_both(lambda: mpf.fit(model, rows, rule, **settings, kernels=native.chosen()).model)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5)


@needs_library
def test_sparse_couplings_are_swept_by_their_neighbours():
    """A ring, whose rows of couplings are mostly zero."""
    size, key = 150, jax.random.key(8)
    ring = np.zeros((size, size))
    ring[np.arange(size - 1), np.arange(1, size)] = 0.7
    letters = np.zeros((size, 3, size, 3))
    for i in range(size - 1):
        letters[i, :, i + 1] = letters[i + 1, :, i] = 0.9 * np.eye(3)
    for model in (mpf.Ising(ring, np.linspace(-1, 1, size)), mpf.Potts(letters, np.zeros((size, 3)))):
        start = heat_bath.init(key, model, states_of(model, 33))
        a, b = on_both(lambda model=model, start=start: run(key, model, start, 4, heat_bath).v)
        assert share_that_differs(a, start.v) > 0.1
        assert share_that_differs(a, b) < 1e-4


@needs_library
@pytest.mark.parametrize("tau", [0.5, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_block_gibbs_takes_both_paths_to_the_same_states(kind, tau):
    key, total = jax.random.key(3), []
    for n, n_visible, n_hidden in SHAPES[:: 2 if tau < 1 else -2]:  # each shape once: tau and the shape do not know of each other
        model = rbm(kind, n_visible, n_hidden, tau)
        start = block_gibbs.init(key, model, states_of(model, n))
        for steps in (1, 4):
            a, b = on_both(lambda model=model, start=start, steps=steps: run(key, model, start, steps, block_gibbs).v)
            assert set(np.unique(a)) <= set(model.space.values)
            total.append(share_that_differs(a, b))
    assert max(total) < 1e-4


@needs_library
def test_fields_that_are_corrected_stay_as_good_as_new_ones():
    """300 steps: the fields are corrected by flips 298 times and summed again twice."""
    model, key = rbm("bernoulli", 100, 40, scale=0.2), jax.random.key(4)
    start = block_gibbs.init(key, model, states_of(model, 50))
    a, b = on_both(lambda: run(key, model, start, 300, block_gibbs).v)
    assert share_that_differs(a, b) < 1e-3


@needs_library
def test_held_units_stay_and_the_rest_agrees():
    key = jax.random.key(5)
    for model, kernel in ((rbm("spin", 30, 20), block_gibbs), (ising(30), heat_bath), (potts(12, 5), heat_bath)):
        v = states_of(model, 40)
        held = jnp.arange(model.space.size) % 3 == 0
        for mask in (held[None], jnp.broadcast_to(held, v.shape)):
            a, b = on_both(
                lambda model=model, kernel=kernel, v=v, mask=mask: run(key, model, kernel.init(key, model, v), 3, kernel, mask).v
            )
            assert share_that_differs(a, b) < 1e-4
            np.testing.assert_array_equal(a[:, held], v[:, held])


@needs_library
@pytest.mark.parametrize(
    "kind, shape, tau",
    [(ising, (50,), 0.5), (ising, (50,), 2.0), (ising, (1,), 2.0), (potts, (13, 5), 0.5), (potts, (13, 5), 2.0), (potts, (9, 21), 0.5)],
)
def test_the_heat_bath_takes_both_paths_to_the_same_states(kind, shape, tau):
    model, key = kind(*shape, tau), jax.random.key(6)
    start = heat_bath.init(key, model, states_of(model, 33))
    for sweeps in (1, 5):
        a, b = on_both(lambda sweeps=sweeps: run(key, model, start, sweeps, heat_bath).v)
        assert share_that_differs(a, b) < 1e-4


@needs_library
@pytest.mark.parametrize("tau", [0.5, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_annealing_gains_the_same_weights(kind, tau):
    model = rbm(kind, 40, 33, tau, scale=0.3)
    base = model.base(jnp.full(40, 0.1 if kind == "bernoulli" else -0.8))
    v = model.space.random_rows(np.random.default_rng(0), 60)
    a, b = on_both(lambda: anneal(jax.random.key(0), model, base, v, np.linspace(0, 1, 151)))
    same = (a.states == b.states).all(1)  # a chain that rounding sent elsewhere has another weight
    assert same.mean() > 0.9
    np.testing.assert_allclose(a.log_weights[same], b.log_weights[same], atol=2e-3)
    if same.all():
        np.testing.assert_allclose(a.variances, b.variances, rtol=1e-2, atol=1e-6)


@needs_library
@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("tau", [0.5, 2.0])
@pytest.mark.parametrize("kind", ["bernoulli", "spin", "ising", "potts"])
def test_no_path_drifts(kind, tau, path):
    """Exact samples are still exact samples after ten steps."""
    model = {"ising": ising(5, tau), "potts": potts(3, 3, tau)}.get(kind) or rbm(kind, 5, 5, tau)
    kernel = block_gibbs if kind in KINDS else heat_bath
    with native.using(path):
        v = jnp.asarray(draw(model, 20_000)).astype(float)
        moved = run(jax.random.key(7), model, kernel.init(jax.random.key(0), model, v), 10, kernel).v
    assert share_that_differs(moved, v) > 0.1
    codes = (moved + 1) / 2 if kind == "spin" else moved
    assert chi_square_p_value(state_counts(codes, model.space.n_values), probabilities(model)) > 1e-4


@needs_library
def test_states_and_parameters_of_other_types_take_the_xla_path():
    model = rbm("bernoulli", 6, 4)
    from minprobflow.numerics import as_float64, double_precision

    with double_precision():
        wide = as_float64(model)
        assert "minprobflow_product" not in str(jax.make_jaxpr(wide.free_energy)(jnp.zeros((2, 6))))
    gaussian = mpf.GaussianRBM.init(0, 6, 4)
    assert "minprobflow_product" not in str(jax.make_jaxpr(gaussian.free_energy)(jnp.zeros((2, 6))))
    assert "minprobflow_product" in str(jax.make_jaxpr(model.free_energy)(jnp.zeros((2, 6))))


@needs_library
def test_many_threads_and_independent_calls_do_not_wait_for_each_other():
    """XLA runs independent calls at the same time on one pool of threads: none may wait for a task that has not started."""
    model = rbm("bernoulli", 200, 100)
    v = states_of(model, 200)

    @jax.jit
    def many(v):
        products = [native.product(v, model.weights * (1 + i)) for i in range(12)]
        drawn = [run(jax.random.key(i), model, block_gibbs.init(jax.random.key(i), model, v), 3, block_gibbs).v for i in range(6)]
        return sum(jnp.sum(x) for x in (*products, *drawn))

    expected, found = float(many(v)), []
    threads = [threading.Thread(target=lambda: found.extend(float(many(v)) for _ in range(10))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert found == [expected] * 40


SCRIPT = """
import sys, jax, jax.numpy as jnp, numpy as np, minprobflow as mpf
from minprobflow import native
rng = np.random.default_rng(0)
rbm = mpf.BernoulliRBM(rng.normal(size=(70, 45)), rng.normal(size=70), rng.normal(size=45))
drawn = mpf.sample(rbm, n=40, steps=3)
couplings = np.triu(rng.normal(size=(21, 21)), 1)
swept = mpf.sample(mpf.Ising(couplings, np.zeros(21)), n=40, steps=3)
print(native.status().reason, jax.device_count(), int(drawn.sum()), int(swept.sum()), float(rbm.free_energy(drawn).sum()).__round__(1))
"""


@needs_library
def test_every_instruction_set_and_number_of_cores_gives_the_same_states():
    found = {}
    for wanted, cores in (("", None), ("avx2", None), ("portable", None), ("", "0")):
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(
            ["taskset", "-c", cores, *command] if cores else command,
            env={**os.environ, "MINPROBFLOW_INSTRUCTIONS": wanted},
            capture_output=True,
            text=True,
            check=True,
        )
        name, *figures = done.stdout.split()
        assert not wanted or name in (wanted, "portable")
        found[wanted, cores] = figures
    assert len({tuple(figures) for figures in found.values()}) == 1, found


@needs_library
@pytest.mark.parametrize("n_visible, n_hidden, scale", [(40, 8, 0.5), (37, 13, 0.5), (20, 10, 60.0), (5, 3, 1.0)])
def test_exact_gradients_agree_to_double_precision(n_visible, n_hidden, scale):
    """Also where products of sixteen factors would overflow, and below the kernel's smallest size."""
    model = rbm("bernoulli", n_visible, n_hidden, scale=scale)
    (value, gradient), (wanted, expected) = on_both(lambda: mpf.likelihood.exact_log_partition_and_gradient(model))
    assert value == pytest.approx(wanted, rel=1e-14)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_kernels_stay_within_their_arrays(tmp_path):
    """Every kernel on odd sizes, under the address and undefined-behaviour sanitizers."""
    sources = pathlib.Path(native.__file__).parent / "src"
    program, here = tmp_path / "kernels", pathlib.Path(__file__).with_name("sanitized_kernels.cc")
    build = [
        "c++",
        "-std=c++17",
        "-O1",
        "-march=native",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover",
        "-Wno-psabi",
        f"-I{sources}",
    ]
    build += ['-DMPF_NAME="here"', "-DMPF_TABLE=portable_kernels", str(sources / "kernels.cc"), str(here), "-o", str(program)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if done.returncode and "asan" in done.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert done.returncode == 0, done.stderr
    assert subprocess.run([program], capture_output=True, text=True, check=False).stdout == "ok\n"
