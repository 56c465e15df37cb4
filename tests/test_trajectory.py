"""Trajectories: ladders of models, their first rung, and their files."""

import equinox as eqx
import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.models.trajectory import MADE

RBM = laws.MODELS["RBM-0-tau0.5"]
LADDERS = {name: mpf.Trajectory.scaled(model, n=4) for name, model in laws.MODELS.items() if isinstance(model.space, mpf.units.Discrete)}


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("name", LADDERS)
def test_the_first_rung_is_known_exactly(name):
    first, ladder = LADDERS[name][0], LADDERS[name]
    free_energies = np.asarray(first.free_energy(laws.all_states(first)), np.float64)
    assert float(ladder.log_partition_first()) == pytest.approx(np.logaddexp.reduce(-free_energies), abs=1e-5)
    assert laws.p_value(first, ladder.draw_first(jax.random.key(1), 20_000)) > 1e-3


@pytest.mark.parametrize("name", ["RBM-0-tau0.5", "CategoricalRBM-0-tau0.5", "Ising-0-tau0.5", "Potts-2-tau2.0"])
def test_the_first_rung_has_the_means_of_the_data_and_its_own_hidden_biases(name):
    model = laws.MODELS[name]
    rows = laws.draw(model, 200)
    ladder = mpf.Trajectory.scaled(model, rows, n=3)
    drawn = np.asarray(ladder.draw_first(3, 20_000)).astype(model.space.dtype)
    np.testing.assert_allclose(model.space.mean_features(drawn), model.space.mean_features(rows), atol=0.03)
    tilted = [m if not hasattr(m, "hidden") else eqx.tree_at(lambda m: m.hidden.bias, m, m.hidden.bias + 1) for m in (ladder[0], model)]
    shifted = mpf.Trajectory.of(tilted)
    free_energies = np.asarray(shifted[0].free_energy(laws.all_states(model)), np.float64)
    assert float(shifted.log_partition_first()) == pytest.approx(np.logaddexp.reduce(-free_energies), abs=1e-5)


def test_real_units_have_a_first_rung_too():
    for name in ("GaussianRBM-0-tau1.0", "MixedRBM-0-tau1.0"):
        model = laws.MODELS[name]
        ladder = mpf.Trajectory.scaled(model, laws.draw(model, 200), n=3)
        assert laws.p_value(ladder[0], ladder.draw_first(jax.random.key(1), 20_000)) > 1e-3
        exact = mpf.log_partition(ladder[0], "exact").value
        assert float(ladder.log_partition_first()) == pytest.approx(exact, abs=1e-4)


def test_a_ladder_ends_at_its_model_and_gives_its_rungs_back():
    models = [RBM.base(jnp.full(5, 0.3)), laws.MODELS["RBM-0-tau0.5"]]
    ladder = mpf.Trajectory.of(models, [0, 70])
    assert len(ladder) == 2 and ladder.steps.tolist() == [0, 70]
    assert same(ladder[0], models[0]) and same(ladder[-1], models[1]) and same(ladder.last, models[1])
    assert [same(a, b) for a, b in zip(ladder, models, strict=True)] == [True, True]
    assert same(mpf.Trajectory.scaled(RBM, n=7).last, RBM)
    with pytest.raises(IndexError):
        ladder[2]


def test_midpoints_and_ends_are_added():
    ladder = mpf.Trajectory.of([RBM.base(jnp.full(5, 0.3)), RBM], [0, 70])
    finer = ladder.with_midpoints([0])
    assert finer.steps.tolist() == [0, MADE, 70]
    np.testing.assert_allclose(finer[1].weights, RBM.weights / 2, rtol=1e-6)
    assert ladder.ending_at(RBM) is ladder
    longer = ladder.ending_at(eqx.tree_at(lambda m: m.weights, RBM, 2 * RBM.weights))
    assert longer.steps.tolist() == [0, 70, MADE]
    np.testing.assert_allclose(longer.last.weights, 2 * RBM.weights)


@pytest.mark.parametrize("name", [name for name in laws.MODELS if "EnergyModel" not in name])
def test_files_give_the_same_trajectory_back(name, tmp_path):
    model = laws.MODELS[name]
    ladder = mpf.Trajectory.of(list(mpf.Trajectory.scaled(model, laws.draw(model, 50), n=3)), [0, 5, 9])
    ladder.save(tmp_path / "t.safetensors")
    again = mpf.Trajectory.load(tmp_path / "t.safetensors")
    assert same(ladder, again) and jax.tree.structure(ladder) == jax.tree.structure(again)


def test_damaged_and_other_files_are_refused_in_one_sentence(tmp_path):
    path, other = tmp_path / "t.safetensors", tmp_path / "m.safetensors"
    mpf.Trajectory.scaled(RBM, n=3).save(path)
    mpf.save(RBM, other)
    content = path.read_bytes()
    with pytest.raises(mpf.ModelFileError, match="not a trajectory: read models with"):
        mpf.Trajectory.load(other)
    with pytest.raises(mpf.ModelFileError, match=r"read it with mpf\.Trajectory\.load"):
        mpf.load(path)
    for bit in range(0, 8 * len(content), 37):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(mpf.ModelFileError) as caught:
            mpf.Trajectory.load(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(content[:-9])
    with pytest.raises(mpf.ModelFileError, match="truncated"):
        mpf.Trajectory.load(path)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([RBM, RBM], "rung 0 is a RBM whose units are not independent"),
        ([laws.MODELS["Ising-0-tau0.5"]] * 2, "units are not independent"),
        ([laws.MODELS["Potts-0-tau0.5"]] * 2, "units are not independent"),
        ([laws.MODELS["EnergyModel-0"]] * 2, "units are not independent"),
        ([RBM], "two or more"),
        ([mpf.Ising.init(5), RBM], "rung 1 is a RBM, rung 0 a Ising"),
        ([mpf.Ising.init(5), mpf.Ising.init(6)], r"shape \(6, 6\) where rung 0 has \(5, 5\)"),
        ([mpf.Ising.init(5), mpf.Ising.init(5, tau=2.0)], "other settings"),
        ([mpf.Ising.init(5), eqx.tree_at(lambda m: m.fields, mpf.Ising.init(5), jnp.full(5, jnp.nan))], "non-finite"),
    ],
)
def test_what_is_no_ladder_is_refused(models, message):
    with pytest.raises(mpf.InputError, match=message):
        mpf.Trajectory.of(models)


def test_steps_and_numbers_of_rungs_are_checked():
    for steps in ([0], [0, -2], [0, 1, 2]):
        with pytest.raises(mpf.InputError, match="steps"):
            mpf.Trajectory.of([mpf.Ising.init(5)] * 2, steps)
    with pytest.raises(mpf.InputError, match="number of rungs"):
        mpf.Trajectory.scaled(RBM, n=1)
    with pytest.raises(mpf.InputError, match="Python code"):
        mpf.Trajectory.scaled(laws.MODELS["EnergyModel-0"], n=3).save("never")
    with pytest.raises(mpf.InputError, match="a run that trained this model"):
        mpf.Trajectory.scaled(RBM).ending_at(mpf.Ising.init(5))
