"""What is particular to real visible units. The laws of every model are in the conformance suite."""

import json

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from safetensors.numpy import load_file
from scipy import integrate, optimize, stats
from test_cli import run

import minprobflow as mpf
from minprobflow.numerics import double_precision
from minprobflow.random_bits import normal

MODEL = laws.REAL["GaussianRBM-0-tau1.0"]
GREY = mpf.load_dataset("digits", grey=True)


def test_normal_draws_are_normal():
    drawn = np.asarray(normal(jax.random.key(0), jnp.zeros((100_000, 2))), np.float64)
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / np.sqrt(100_000)
    assert np.abs(drawn).max() > 4


def test_the_density_integrates_to_one():
    """One unit: exp(-F) by quadrature against log Z by enumeration, and F against the sum over h of exp(-E)."""
    model = mpf.GaussianRBM([[1.5, -0.7]], [0.4], [-0.3, 0.2], [np.log(0.3)], min_variance=0.05)
    with double_precision():
        double = laws.doubled(model)
        grid = np.linspace(-8, 10, 4001)
        total = integrate.trapezoid(np.exp(-np.asarray(double.free_energy(grid[:, None]))), grid)
        states = np.asarray(mpf.Binary(2).states(jnp.arange(4)))
        energies = np.asarray(double.energy(np.full((4, 1), 1.3), states))
        assert float(double.free_energy(np.asarray([1.3]))) == pytest.approx(-np.logaddexp.reduce(-energies), rel=1e-12)
    assert mpf.log_partition(model, "exact").value == pytest.approx(np.log(total), abs=1e-7)
    x = np.asarray([[0.1], [2.0]])
    mixture = laws.Mixture(model)
    mean, std = laws.gaussian(mixture.logits)
    density = stats.norm.pdf(x, mean.T, std.T) @ mixture.p
    assert mpf.log_likelihood(model, x).value == pytest.approx(np.log(density).mean(), rel=1e-5)


def test_the_start_has_the_moments_of_the_data():
    start = mpf.GaussianRBM.init(0, 64, 8, GREY.train)
    varies = GREY.train.var(0) > 2 * start.visible.min_variance
    np.testing.assert_allclose(start.visible.variance[varies], GREY.train.var(0)[varies], rtol=1e-4)
    np.testing.assert_allclose(start.visible_bias, GREY.train.mean(0), atol=1e-6)
    assert float(start.visible.variance.min()) >= start.visible.min_variance == pytest.approx(1e-3 * GREY.train.var(0).mean(), rel=1e-4)
    assert start.hidden_bias.dtype == start.weights.dtype == jnp.float32
    with pytest.raises(mpf.InputError, match="rows that differ"):
        mpf.GaussianRBM.init(0, 3, 2, np.ones((5, 3)))
    with pytest.raises(mpf.InputError, match="column 0 of the data is constant"):
        mpf.GaussianRBM.init(0, 64, 2, GREY.train, min_variance=0.0)
    with pytest.raises(mpf.InputError, match="shapes do not fit"):
        mpf.GaussianRBM(np.zeros((3, 2)), np.zeros(3), np.zeros(2), np.zeros(2))
    with pytest.raises(mpf.InputError, match="min_variance"):
        mpf.GaussianRBM(np.zeros((3, 2)), np.zeros(3), np.zeros(2), np.zeros(3), -1.0)


def test_learning_does_not_depend_on_the_units_of_the_data():
    """Columns stretched and moved: the model trained on them is the stretched and moved model, up to rounding."""
    data = laws.draw(MODEL, 400)
    stretch, shift = np.float32([10, 0.1, 1, 100, 3]), np.float32([30, 0, -5, 200, 1])
    first = mpf.GaussianRBM(0.1 * MODEL.weights, data.mean(0), np.zeros(3, np.float32), np.log(data.var(0)), 0.0)
    units = mpf.Gaussian(first.visible.bias * stretch + shift, first.visible.log_variance + 2 * np.log(stretch), 0.0)
    moved = mpf.RBM(units, first.hidden, stretch[:, None] * first.weights)
    settings = {"rule": "exact", "epochs": 20, "batch_size": 50}
    a, b = mpf.fit(first, data, **settings).model, mpf.fit(moved, data * stretch + shift, **settings).model
    np.testing.assert_allclose(b.weights / stretch[:, None], a.weights, atol=2e-3)
    np.testing.assert_allclose((b.visible_bias - shift) / stretch, a.visible_bias, atol=2e-3)
    np.testing.assert_allclose(b.visible.variance / stretch**2, a.visible.variance, rtol=5e-3)
    np.testing.assert_allclose(b.hidden_bias, a.hidden_bias, atol=5e-3)
    assert float(jnp.abs(a.weights).max()) > 0.3  # it has learned something


def test_variances_stay_above_their_floor():
    """The first unit is constant, the second a copy of the third: without a floor the density would have no maximum."""
    x = np.random.default_rng(0).normal(size=(200, 1))
    data = np.concatenate([np.zeros_like(x), np.sign(x), np.sign(x)], 1)
    fit = mpf.fit(mpf.GaussianRBM.init(0, 3, 1, data, min_variance=0.01), data, "exact", epochs=200, batch_size=20)
    assert float(fit.model.visible.variance.min()) >= 0.01 and float(fit.model.visible.variance.max()) < 0.1
    upper = -1.5 * np.log(2 * np.pi * 0.01) - np.log(2)  # two points, each of three Gaussians at the floor
    assert upper - 2 < mpf.log_likelihood(fit.model, data).value < upper


def test_known_parameters_are_recovered():
    """Maximum likelihood from n exact samples: log densities, free of the order of hidden units, with errors that fall like 1/sqrt(n)."""
    with double_precision():
        truth = laws.doubled(MODEL)
        x_true, rebuild = ravel_pytree(truth)
        fresh = laws.draw(truth, 2000, seed=99)

        def log_density(x, rows):
            return -rebuild(x).free_energy(rows) - mpf.enumeration.log_partition(rebuild(x))

        loss = jax.jit(jax.value_and_grad(lambda x, rows: -jnp.mean(log_density(x, rows))))

        def error(n, seed):
            rows = jnp.asarray(laws.draw(truth, n, seed))
            start = x_true + 0.1 * np.random.default_rng(seed).normal(size=x_true.shape)
            found = optimize.minimize(lambda x: [np.asarray(y) for y in loss(x, rows)], start, jac=True, method="BFGS").x
            return np.sqrt(np.mean((log_density(found, fresh) - log_density(x_true, fresh)) ** 2))

        sizes = np.asarray([1_000, 30_000])
        errors = [np.mean([error(n, seed) for seed in range(3)]) for n in sizes]
    # a mean of 3 errors has a relative spread of about 0.2/sqrt(3) = 0.12, the slope one of 0.12*sqrt(2)/3.4 = 0.05
    assert np.diff(np.log(errors)) / np.diff(np.log(sizes)) == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.05


def test_grey_digits_are_learned_by_default():
    start = mpf.GaussianRBM.init(0, 64, 10, GREY.train)
    fit = mpf.fit(start, GREY.train, epochs=15, batch_size=50)
    before, after = (mpf.log_likelihood(model, GREY.test).value for model in (start, fit.model))
    assert after > before + 6


def test_moments_are_sampled():
    found, (mean, variance) = mpf.moments(MODEL, chains=200, burn_in=50, steps=100), laws.Mixture(MODEL).moments()
    assert found.method == "sampled"
    second = np.diagonal(found.pairs)
    np.testing.assert_allclose(second, variance + mean**2, atol=5 * found.stderr.max())


def test_grey_digits_and_files_of_real_numbers(tmp_path):
    bits = mpf.load_dataset("digits")
    assert GREY.train.dtype == np.float32 and GREY.train.min() == 0 and GREY.train.max() == 1
    np.testing.assert_array_equal(GREY.test >= 0.5, bits.test)
    np.savetxt(tmp_path / "rows.csv", laws.draw(MODEL, 40), delimiter=",")
    data = mpf.load_dataset(str(tmp_path / "rows.csv"), real=True)
    assert data.train.shape == (32, 5) and data.train.dtype == np.float32
    with pytest.raises(mpf.InputError, match="real=True"):
        mpf.load_dataset(str(tmp_path / "rows.csv"))


def test_the_command_line_trains_on_real_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    grey = ("--data", "digits", "--data-option", "grey=true", "--hidden", "4", "--epochs", "2", "--quiet", "--json")
    code, out, _ = run(capsys, "train", *grey, "--out", "run")
    assert code == 0 and json.loads(out)["last"]["method"] == "exact"
    assert isinstance(mpf.load("run/model.safetensors").visible, mpf.Gaussian) and (tmp_path / "run" / "samples.png").exists()
    code, out, _ = run(capsys, "evaluate", "run", "--json", "--quiet")
    assert code == 0 and json.loads(out)["verdict"] == "trusted"
    assert run(capsys, "report", "run", "--out", "report.html", "--quiet")[0] == 0
    shown = load_file("run/diagnostics.safetensors")["states_from_data"]
    assert shown.min() == 0 and shown.max() == 1 and len(np.unique(shown)) > 100  # grey, within the range of pictures
    code, _, err = run(capsys, "train", *grey, "--rule", "mpf-1flip", "--out", "other")
    assert code != 0 and "real numbers" in err and not (tmp_path / "other").exists()
