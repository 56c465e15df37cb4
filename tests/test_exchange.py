"""Replica exchange along a trajectory."""

import jax
import jax.numpy as jnp
import laws
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.samplers import engine, exchange
from minprobflow.samplers.exchange import UNBORN, placed

MODEL = laws.MODELS["RBM-1-tau1.0"]
NAMES = [name for name in laws.MODELS if "-0" in name or name.startswith("RBM-")]


def rounds(ladder, state, n, steps=1, held=None, seed=0):
    kernel = exchange(ladder, steps)
    return engine.run(jax.random.key(seed), ladder.last, state, n, kernel, held)


@pytest.mark.parametrize("name", NAMES)
def test_exchange_does_not_drift_on_any_rung(name):
    """Exact samples of every rung stay exact samples of it."""
    model = laws.MODELS[name]
    ladder = mpf.Trajectory.scaled(model, laws.draw(model, 100), n=3)
    drawn = jnp.stack([jnp.asarray(laws.draw(rung, 20_000, seed=i)).astype(float) for i, rung in enumerate(ladder)], 1)
    after = rounds(ladder, placed(drawn), 5, steps=2)
    for i, rung in enumerate(ladder):
        assert laws.p_value(rung, after.states[:, i]) > 1e-3
    assert np.mean(np.asarray(after.born[:, -1]) != UNBORN) > 0.2


def test_states_and_what_is_known_of_them_move_together():
    ladder = mpf.Trajectory.scaled(MODEL, n=6)
    state = placed(jnp.zeros((200, 6, 5)))
    assert (np.asarray(state.born) == UNBORN).all()
    after = rounds(ladder, state, 40)
    replica = np.sort(np.asarray(after.replica), 1)
    np.testing.assert_array_equal(replica, np.broadcast_to(np.arange(6), (200, 6)))
    assert after.turn.tolist() == [40] * 200
    born = np.asarray(after.born)
    assert born.max() == 39 and np.mean(born == UNBORN) < 0.01  # nearly all have been renewed
    # where all units are held nothing but swaps moves states, so a replica is known by its state
    marks = np.asarray(laws.all_states(MODEL))[:6]
    held = rounds(ladder, placed(jnp.broadcast_to(jnp.asarray(marks), (200, 6, 5))), 9, held=jnp.ones((1, 5), bool))
    np.testing.assert_array_equal(held.states, marks[np.asarray(held.replica)])
    assert len(np.unique(held.replica[:, -1])) > 1


def test_the_first_rung_is_redrawn_in_every_round():
    ladder = mpf.Trajectory.scaled(MODEL, n=3)
    state = placed(jnp.ones((2000, 3, 5)))._replace(turn=jnp.ones(2000, int))  # rung 0 has no partner in an odd round
    after, _ = exchange(ladder).step(jax.random.key(0), MODEL, state)
    assert laws.p_value(ladder[0], after.states[:, 0]) > 1e-3
    assert after.born[:, 0].tolist() == [1] * 2000


def test_work_is_the_difference_of_free_energies_at_the_rung_and_its_partner():
    ladder = mpf.Trajectory.scaled(MODEL, n=4)
    kernel, never = exchange(ladder), jnp.ones((1, 5), bool)
    start = jnp.asarray(laws.draw(MODEL, 40)).astype(float).reshape(10, 4, 5)
    state = placed(start)
    for turn, partners in enumerate(([1, 0, 3, 2], [0, 2, 1, 3])):
        state = placed(start)._replace(turn=jnp.full(10, turn))
        _, info = kernel.step(jax.random.key(turn), MODEL, state, never)  # all units are held: only swaps move states
        wanted = [ladder[partners[r]].free_energy(start[:, r]) - ladder[r].free_energy(start[:, r]) for r in range(4)]
        np.testing.assert_allclose(info.work, np.stack(wanted, 1), atol=2e-5)
        assert info.swaps.attempted.tolist() == ([1, 0, 1] if turn == 0 else [0, 1, 0])


def test_swaps_between_equal_rungs_are_always_accepted():
    ising = mpf.Ising.init(5)
    _, info = exchange(mpf.Trajectory.of([ising] * 3)).step(jax.random.key(0), ising, placed(jnp.zeros((8, 3, 5))))
    assert info.swaps.accepted.tolist() == [1, 0]


def test_held_units_keep_their_values_and_rungs_have_their_own_random_numbers():
    ladder = mpf.Trajectory.of([MODEL.base(jnp.full(5, 0.5)), MODEL, MODEL])
    start = jnp.ones((100, 3, 5))
    held = jnp.asarray([[True, False, True, False, False]])
    after = np.asarray(rounds(ladder, placed(start), 3, held=held).states)
    assert after[..., [0, 2]].all() and not after[..., 1].all()
    free = np.asarray(rounds(ladder, placed(start), 1).states)
    assert np.mean(free[:, 1] != free[:, 2]) > 0.2


def test_rungs_are_arguments_of_the_compiled_round():
    before = engine._run._cache_size()
    for seed in (0, 1):
        model = mpf.BernoulliRBM.init(seed, 7, 3)
        rounds(mpf.Trajectory.scaled(model, n=4), placed(jnp.zeros((5, 4, 7))), 3 + seed)
    assert engine._run._cache_size() - before <= 2  # the loop, and the sampler within


def test_what_is_no_trajectory_is_refused():
    with pytest.raises(mpf.InputError, match="steps=0"):
        exchange(mpf.Trajectory.scaled(MODEL), steps=0)
