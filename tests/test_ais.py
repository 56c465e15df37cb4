"""Annealed importance sampling: its weights are unbiased in both directions, its bounds hold, its verdict is honest."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest
from benchmarks import calibration

import minprobflow as mpf
from minprobflow.likelihood import annealing, schedules, verdict
from minprobflow.likelihood.ais import Side, base_samples, forward, reverse, schedule
from minprobflow.likelihood.annealing import BLOCK, Annealed, anneal, transition
from minprobflow.likelihood.model_samples import Samples, r_hat
from minprobflow.likelihood.starts import starts
from minprobflow.likelihood.weights import LogMean, bennett, log_mean
from minprobflow.models import FastAnnealing

ANNEALABLE = laws.SOME
every_annealable = pytest.mark.parametrize("model", ANNEALABLE.values(), ids=ANNEALABLE)
FEW = np.asarray([0.0, 0.4, 0.8, 1.0])  # so few that the weights vary widely: a wrong weight shows


def base_of(model):
    if isinstance(model.space, mpf.Real):
        return laws.base(model, model.space.mean_features(laws.draw(model, 1000)))
    size, q = model.space.size, model.space.n_values
    means = np.linspace(0.3, 0.7, size)
    if isinstance(model.space, mpf.Categories):
        means = np.linspace(0.2, 0.8, q) + np.linspace(0, 0.3, size)[:, None]
        means /= means.sum(1, keepdims=True)
    return laws.base(model, means)


step = jax.jit(transition)


def log_z(model):
    return mpf.log_partition(model, "exact").value


@every_annealable
def test_weights_are_unbiased_in_both_directions(model):
    """The mean of w is Z/Z0 forward, and Z0/Z in reverse from exact samples: within four standard errors of 10,000 chains."""
    base, n = base_of(model), 10_000
    low = forward(jax.random.key(0), model, base, FEW, n)
    high = reverse(jax.random.key(1), model, base, FEW, laws.draw(model, n, seed=2))
    for side in (low, high):
        assert side.mean.stderr_weights < 0.3
        assert side.log_partition == pytest.approx(log_z(model), abs=4 * side.mean.stderr_weights)


@every_annealable
def test_bounds_hold_on_average(model):
    """log mean of few weights: below log Z forward, above it in reverse (Jensen)."""
    base, groups, size = base_of(model), 400, 5
    low = forward(jax.random.key(3), model, base, FEW, groups * size)
    high = reverse(jax.random.key(4), model, base, FEW, laws.draw(model, groups * size, seed=5))
    exact = log_z(model)
    log_base = float(base.base_log_partition())
    for side, sign in ((low, 1), (high, -1)):
        groups_of_chains = side.annealed.log_weights.reshape(groups, size)
        estimates = log_base + sign * (np.logaddexp.reduce(groups_of_chains, axis=1) - np.log(size))
        error = estimates.std() / np.sqrt(groups)
        assert sign * (estimates.mean() - exact) < 2 * error


@pytest.mark.parametrize("model", [m for m in ANNEALABLE.values() if isinstance(m, FastAnnealing)], ids=str)
def test_fast_annealing_equals_the_definition(model):
    base, v = base_of(model), laws.some_states(model)
    _, gain = step(jax.random.key(0), model, base, v, jnp.asarray(0.3), jnp.asarray(0.6))
    before, after = (laws.free_energy(laws.between(model, base, beta), v) for beta in (0.3, 0.6))
    expected = before - after
    constant = expected[0] - gain[0] if isinstance(model.space, mpf.Real) else 0.0  # their paths may differ by one that sums to zero
    np.testing.assert_allclose(gain + constant, expected, atol=2e-5)
    # and it samples at the second beta: no drift there, where the base still counts
    target = laws.between(model, base, 0.6)
    exact = jnp.asarray(laws.draw(target, 30_000)).astype(float)
    after, _ = step(jax.random.key(1), model, base, exact, jnp.asarray(0.3), jnp.asarray(0.6))
    assert laws.p_value(target, after) > 1e-3


@pytest.mark.parametrize("model", [m for m in laws.SQUARE.values() if isinstance(m, FastAnnealing)], ids=str)
def test_fast_annealing_does_not_drift_where_both_layers_have_the_same_size(model):
    """One key for both layers would show here, and only here."""
    base = base_of(model)
    target = laws.between(model, base, 0.9)
    exact = jnp.asarray(laws.draw(target, 50_000)).astype(float)
    after, _ = step(jax.random.key(1), model, base, exact, jnp.asarray(0.3), jnp.asarray(0.9))
    assert laws.p_value(target, after) > 1e-3


@every_annealable
def test_joining_both_directions_is_better_than_either(model):
    base, groups, size = base_of(model), 100, 20
    low = forward(jax.random.key(6), model, base, FEW, groups * size).annealed.log_weights.reshape(groups, size)
    high = reverse(jax.random.key(7), model, base, FEW, laws.draw(model, groups * size, seed=8)).annealed.log_weights.reshape(groups, size)
    exact = log_z(model) - float(base.base_log_partition())
    joined = np.asarray([bennett(a, b) for a, b in zip(low, high, strict=True)])
    assert joined[:, 0].mean() == pytest.approx(exact, abs=4 * joined[:, 0].std() / np.sqrt(groups) + 0.01)
    assert joined[:, 1].mean() == pytest.approx(joined[:, 0].std(), rel=0.35)  # the stated error is the actual one
    one_sided = np.asarray([log_mean(a).value for a in low])
    assert np.mean((joined[:, 0] - exact) ** 2) < np.mean((one_sided - exact) ** 2)


def test_blocks_and_slabs_do_not_matter():
    """More chains than a block and any number of temperatures: still unbiased, one result a chain."""
    model = laws.MODELS["RBM-1-tau1.0"]
    base, chains = base_of(model), 2 * BLOCK + 37
    annealed = anneal(jax.random.key(0), model, base, base_samples(jax.random.key(1), base, chains), np.linspace(0, 1, 137))
    assert annealed.states.shape == (chains, 5) and annealed.log_weights.shape == (chains,)
    assert annealed.variances.shape == (136,)
    estimate = float(base.base_log_partition()) + np.log(np.mean(np.exp(annealed.log_weights)))
    assert estimate == pytest.approx(log_z(model), abs=0.02)
    assert len(np.unique(annealed.log_weights)) > 0.9 * chains  # blocks do not repeat each other


def test_variances_over_blocks_of_different_size_are_those_of_all_chains(monkeypatch):
    """With one temperature step the log-weights are that step's gains."""
    monkeypatch.setattr(annealing, "BLOCK", 5)
    model = laws.MODELS["RBM-1-tau1.0"]
    annealed = anneal(jax.random.key(0), model, base_of(model), laws.draw(model, 11), np.asarray([0.0, 1.0]))  # blocks of 4, 4, 3
    assert annealed.variances.shape == (1,)
    assert annealed.variances[0] == pytest.approx(annealed.log_weights.var(), rel=1e-4)
    equal = anneal(jax.random.key(0), model, base_of(model), np.zeros((8, 5), np.uint8), np.asarray([0.0, 0.5, 1.0])).log_weights
    assert not np.array_equal(equal[:4], equal[4:])  # blocks that start alike draw other numbers


def test_the_stated_error_is_the_larger_of_the_two():
    assert LogMean(0.0, 0.3, 0.2, 5.0).stderr == 0.3
    assert LogMean(0.0, 0.2, 0.3, 5.0).stderr == 0.3


def test_errors_of_a_mean_weight_by_hand():
    """Weights 1, 1, 2, 4: mean 2, standard deviation sqrt(2), 64 / 22 effective ones."""
    mean = log_mean(np.log([1.0, 1.0, 2.0, 4.0]) + 7)
    assert mean.value == pytest.approx(7 + np.log(2)) and mean.ess == pytest.approx(64 / 22)
    assert mean.stderr_weights == pytest.approx(np.sqrt(2) / 2 / 2)
    assert mean.stderr_bootstrap == pytest.approx(np.sqrt(1.5) / 2 / 2, rel=0.15)  # of draws with replacement: divided by n, not n - 1


def test_the_potential_scale_reduction_by_hand():
    """Chains with means 1 and 3 (variance 2 between) and variances 4 within, over ten steps."""
    assert r_hat(np.asarray([1.0, 3.0]), np.asarray([4.0, 4.0]), 10) == pytest.approx(np.sqrt(0.9 + 2 / 4))


def test_reverse_chains_start_at_the_ends_of_forward_chains_by_weight():
    """Of 20 chains one has nearly all the weight; then two have a quarter and three quarters of it."""
    model = laws.MODELS["RBM-1-tau1.0"]
    states = np.asarray(laws.all_states(model)[:20], np.uint8)
    one, two = np.full((2, 20), -60.0)
    one[7], two[7], two[9] = 0.0, np.log(0.25), np.log(0.75)
    found = []
    for weights in (one, two):
        low = lower_side(0.0, 0.1)._replace(annealed=Annealed(states, weights, np.zeros(1)))
        drawn = starts(jax.random.key(0), model, {"data": low}, base_of(model), None, 4000)["AIS from data"]
        found.append(laws.state_counts(drawn) / len(drawn))
    assert found[0][7] == 1
    assert found[1][7] == pytest.approx(0.25, abs=0.06) and found[1][9] == pytest.approx(0.75, abs=0.06)  # 1,000 draws


def test_schedules():
    for n in (2, 10, 14_500):
        for name, make in schedules.NAMED.items():
            betas = make(n)
            assert len(betas) == n and betas[0] == 0 and betas[-1] == 1, name
            assert (np.diff(betas) > 0).all()
    betas = schedules.three_piece(14_501)
    assert (betas <= 0.5).sum() == 501 and ((betas > 0.5) & (betas <= 0.9)).sum() == 4000
    hard = mpf.BernoulliRBM(np.random.default_rng(0).normal(scale=3.0, size=(24, 12)), np.zeros(24), np.zeros(12), 0.5)
    base = hard.base(jnp.full(24, 0.5))
    adaptive = schedule(jax.random.key(0), hard, base, "adaptive", 300)
    assert len(adaptive) == 300 and adaptive[0] == 0 and adaptive[-1] == 1 and (np.diff(adaptive) > 0).all()
    spread = [np.sum(forward(jax.random.key(1), hard, base, betas, 300).annealed.variances) for betas in (adaptive, schedules.linear(300))]
    assert spread[0] < 0.8 * spread[1]


def test_the_stated_interval_is_calibrated():
    """Some of the models of benchmarks/calibration.py, which holds for all of them."""
    result = calibration.measure(limit=2)
    assert result["models"] == 2
    assert result["trusted_share_of_easy"] >= 0.8
    assert result["coverage_of_trusted"] >= 0.9  # both; benchmarks/calibration.py has many
    assert result["trusted_off_by_more_than_1_nat"] == 0


@pytest.mark.heavy
def test_too_few_temperatures_are_not_trusted():
    hard = mpf.BernoulliRBM(np.random.default_rng(0).normal(scale=6.0, size=(60, 14)), np.zeros(60), np.zeros(14), 0.5)
    estimate = mpf.log_partition(hard, "ais", betas=3)
    assert estimate.verdict == "do not trust"
    assert estimate.warnings
    assert abs(estimate.settings["forward"] - log_z(hard)) > 1
    later = mpf.log_partition(hard, "ais", first_betas=20, max_betas=200, target_stderr=1e-6)
    assert later.settings["betas"] == 160
    assert "budget of temperatures ran out at 160" in later.warnings[-1]
    timed = mpf.log_partition(hard, "ais", first_betas=20, max_seconds=1e-3, target_stderr=1e-6)
    assert timed.settings["betas"] == 20 and "budget of time" in timed.warnings[-1]


def test_hopeless_cases_are_given_up_early():
    """Far more temperatures than there are would be needed: doubling to the end would be in vain."""
    hard = mpf.BernoulliRBM(np.random.default_rng(0).normal(scale=6.0, size=(60, 14)), np.zeros(60), np.zeros(14), 0.5)
    estimate = mpf.log_partition(hard, "ais", chains=20, first_betas=5, max_betas=5000, target_gap=0.001)
    assert estimate.settings["betas"] < 1000
    assert "temperatures would be needed" in estimate.warnings[-1]


def reverse_side(weights):
    """A reverse side of chains with these log weights (log Z of the base is zero)."""
    mean = log_mean(weights)
    return Side(-mean.value, mean, Annealed(np.zeros((len(weights), 1), np.uint8), weights, np.zeros(1)))


def side(log_z, spread, n=100, seed=0):
    """A reverse side whose chains give log Z with this spread."""
    return reverse_side(-log_z + spread * np.random.default_rng(seed).normal(size=n) - spread**2 / 2)


def lower_side(log_z, spread, n=100):
    annealed = side(-log_z, spread, n, seed=1).annealed
    mean = log_mean(annealed.log_weights)
    return Side(mean.value, mean, annealed)


def judged(lows, highs, starts=None, r_hat=1.0, stderr=0.1):
    """Of sides by path; a single side stands for one path."""
    lows, highs = (sides if isinstance(sides, dict) else {"data": sides} for sides in (lows, highs))
    samples = Samples(np.zeros((100, 1), np.uint8), r_hat)
    return verdict.judged(verdict.Sides(lows, highs, starts or {"AIS": 50, "noise": 50}, samples), verdict.Targets(stderr, 0.5))


def halves(first, second):
    """A reverse side whose chains from AIS give one figure and those from noise another."""
    return reverse_side(np.concatenate([side(figure, 0.2, 50).annealed.log_weights for figure in (first, second)]))


def test_every_reason_of_the_verdict():
    """One made-up case each."""
    good = judged(lower_side(50.0, 0.2), side(50.0, 0.2))
    assert good.verdict == "trusted" and good.lower < 50 < good.upper and good.warnings == ()
    caught = side(45.0, 0.2, 95)
    few_found_more = reverse_side(np.append(caught.annealed.log_weights, np.full(5, -50.0)))
    cases = [
        (judged(lower_side(50.0, 0.2), side(51.0, 0.2)), "wide", "sandwich is open by 1"),
        (judged(lower_side(50.0, 0.2), side(53.0, 0.2)), "do not trust", "sandwich is open by 3"),
        (judged(lower_side(50.0, 0.2), side(49.0, 0.2)), "wide", "below the lower one"),
        (judged(lower_side(50.0, 0.2), side(47.0, 0.2)), "do not trust", "below the lower one"),
        (judged(lower_side(50.0, 3.0), side(50.0, 0.2)), "do not trust", "few effective chains"),
        (judged(lower_side(50.0, 0.2), side(50.0, 0.2), stderr=0.001), "wide", "standard error"),
        (judged(lower_side(50.0, 0.2), halves(51.6, 50.0)), "wide", "from AIS (to data), 49.98 from noise (to data)"),
        (judged(lower_side(50.0, 0.2), halves(54.0, 50.0)), "do not trust", "sandwich is open by 4.0"),
        (judged(lower_side(50.0, 0.2), side(50.0, 5.0)), "do not trust", "few effective chains"),
        (judged(lower_side(45.0, 0.2), few_found_more), "do not trust", "some chains find"),
    ]
    for estimate, expected, reason in cases:
        assert estimate.verdict == expected, estimate
        assert any(reason in warning for warning in estimate.warnings), estimate
    assert cases[-1][0].upper >= 49.9


def test_chains_in_a_region_that_forward_chains_overrate_do_no_harm():
    slow = judged(lower_side(50.0, 0.2), halves(50.0, 40.0))
    assert slow.verdict == "trusted" and not slow.settings["combined"]
    assert slow.value == pytest.approx(50.0, abs=0.1) and slow.settings["reverse"] == pytest.approx(50.0, abs=0.1)


def test_chains_that_have_not_mixed_are_held_to_the_spread_of_forward_ones():
    """A third of the chains are in a region that forward chains do not reach, and the others spread so widely that they do not show."""
    high = reverse_side(-np.tile(np.repeat([47.0, 50.0, 55.0], [20, 15, 15]), 2))  # the same for both starts
    caught = judged(lower_side(48.0, 0.2), high, r_hat=4.0)
    assert caught.verdict == "do not trust" and any("some chains find" in warning for warning in caught.warnings) and caught.upper >= 55
    assert not any("some chains find" in warning for warning in judged(lower_side(48.0, 0.2), high, r_hat=1.1).warnings)
    assert judged(lower_side(50.0, 0.6), side(50.0, 0.6), r_hat=4.0).verdict == "trusted"  # slow, but none finds more


def test_a_single_chain_that_found_the_mass_shows():
    usual = side(50.0, 0.6).annealed.log_weights[:99]
    for figure, expected in ((56.0, "do not trust"), (51.0, "trusted")):
        assert judged(lower_side(50.0, 0.6), reverse_side(np.append(usual, -figure)), r_hat=4.0).verdict == expected


def test_another_path_that_finds_more_is_not_passed_over():
    """A single forward chain from noise finds two nats more: too uncertain to count, and yet a figure is rarely so much too high."""
    weights = np.append(np.full(99, 45.0), 52.2 + np.log(100))
    noise = Side(log_mean(weights).value, log_mean(weights), Annealed(np.zeros((100, 1), np.uint8), weights, np.zeros(1)))
    estimate = judged({"data": lower_side(50.0, 0.2), "noise": noise}, {"data": side(50.0, 0.2), "noise": side(60.0, 0.2)})
    assert estimate.verdict == "do not trust" and estimate.upper >= 52.2 and estimate.settings["base"] == "data"
    assert any("another path" in warning for warning in estimate.warnings)


def test_sides_that_contradict_each_other_are_not_joined():
    estimate = judged(lower_side(50.0, 0.2), side(47.0, 0.2))
    assert not estimate.settings["combined"] and estimate.value == pytest.approx(50.0, abs=0.1)
    lows = {"data": lower_side(50.0, 0.2), "noise": lower_side(50.0, 0.2)}
    assert judged(lows, {"data": side(47.0, 0.2), "noise": side(50.1, 0.2)}).settings["base"] == "noise"  # whose sides are closest


def test_a_wide_region_far_from_the_data_is_found_from_noise():
    """With hidden unit 0 on, visible units are even noise; that region holds e^4 times the mass of the one where the data are."""
    n = 60
    weights, hidden = np.zeros((n, 4)), np.zeros(4)
    weights[:, 0] = 3.0
    hidden[0] = 4.0 + n * (np.log1p(np.exp(-3.0)) - np.log(2.0))
    model = mpf.BernoulliRBM(weights, np.full(n, -3.0), hidden)
    data = (np.random.default_rng(0).random((500, n)) < 1 / (1 + np.exp(3.0))).astype(np.uint8)
    estimate = mpf.log_partition(model, "ais", base_data=data, betas=1000)
    forward = estimate.settings["forward_by_base"]
    assert forward["data"] < log_z(model) - 2 and forward["noise"] == pytest.approx(log_z(model), abs=0.3)
    assert estimate.settings["base"] == "noise" and estimate.value == pytest.approx(log_z(model), abs=0.3)
    assert estimate.lower <= log_z(model) <= estimate.upper
    assert len(estimate.settings["reverse_by_start"]) == 5


def test_the_path_that_finds_the_mass_counts():
    """Forward chains that miss most of the mass are low along their path, and reverse chains from there are high along it."""
    lows = {"data": lower_side(45.0, 0.2), "noise": lower_side(50.0, 0.4)}
    estimate = judged(lows, {"data": side(60.0, 0.2), "noise": side(50.0, 0.4)})
    assert estimate.verdict == "trusted" and estimate.settings["base"] == "noise"
    assert estimate.value == pytest.approx(50.0, abs=0.2) and estimate.upper < 51
    caught = judged(lows, {"data": side(45.0, 0.2), "noise": side(50.5, 0.4)})  # reverse chains are where the data's path leads
    assert caught.settings["base"] == "noise" and caught.settings["reverse"] == pytest.approx(50.5, abs=0.2)  # 45 is refuted


def test_regions_that_different_paths_lead_to_are_added_up():
    """Chains from AIS are in a region of log share 49 that the data's path leads to, those from noise in one of 50 that noise leads to."""
    lows = {"data": lower_side(49.0, 0.2), "noise": lower_side(50.0, 0.2)}
    several = judged(lows, {"data": halves(49.0, 60.0), "noise": halves(58.0, 50.0)})
    assert several.settings["reverse"] == pytest.approx(np.logaddexp(49.0, 50.0), abs=0.1)
    assert several.settings["reverse_by_base"] == pytest.approx({"data": 49.0, "noise": 50.0}, abs=0.1)
    assert several.lower < np.logaddexp(49.0, 50.0) < several.upper and not several.settings["combined"]
    negligible = judged({**lows, "noise": lower_side(30.0, 0.2)}, {"data": halves(49.0, 60.0), "noise": halves(58.0, 30.0)})
    assert negligible.verdict == "trusted" and negligible.settings["combined"]
    assert negligible.value == pytest.approx(49.0, abs=0.1)


@pytest.mark.heavy
@pytest.mark.parametrize("excess", [2.0, 5.0])
def test_two_modes_that_nothing_moves_between_are_not_trusted(excess):
    """The hidden unit 0 splits the model; the mode with it on holds exp(excess) times the mass of the other."""
    n = 60
    weights, hidden = np.zeros((n, 4)), np.zeros(4)
    weights[:, 0] = 8.0
    hidden[0] = excess + n * (np.log1p(np.exp(-3.0)) - np.log1p(np.exp(5.0)))
    model = mpf.BernoulliRBM(weights, np.full(n, -3.0), hidden)
    estimate = mpf.log_partition(model, "ais", betas=1000)
    assert estimate.value < log_z(model) - 1 and estimate.verdict == "do not trust"
    assert estimate.lower <= log_z(model) <= estimate.upper


def test_infinite_weights_are_an_error():
    huge = mpf.BernoulliRBM(np.full((6, 4), 3e38), np.zeros(6), np.zeros(4))
    with pytest.raises(mpf.InputError, match="not finite"):
        mpf.log_partition(huge, "ais", betas=50)


@pytest.mark.parametrize("samples", ["gibbs", "tempering"])
def test_both_kinds_of_model_samples(samples):
    model = laws.MODELS["RBM-0-tau0.5"]
    estimate = mpf.log_partition(model, "ais", samples=samples, betas=200)
    assert estimate.verdict == "trusted"
    assert estimate.lower <= log_z(model) <= estimate.upper
    assert estimate.settings["reverse"] == pytest.approx(log_z(model), abs=0.1)


def test_any_energy_can_be_judged():
    model = laws.MODELS["EnergyModel-0"]
    estimate = mpf.log_partition(model, "ais", betas=300)
    assert estimate.lower <= log_z(model) <= estimate.upper
