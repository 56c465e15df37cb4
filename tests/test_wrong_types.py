"""Bad arguments: an `InputError` that says how to fix them, whatever they are."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import hostile
import jax
import numpy as np
import pytest

import minprobflow as mpf
from minprobflow import arguments

HERE = pathlib.Path(__file__).parent
SRC = str(pathlib.Path(mpf.__file__).parents[1])


def test_every_public_function_refuses_hostile_values_or_gives_a_right_result(tmp_path):
    # in a process of its own, without the type checker that the other tests run under: users have none
    environment = {**os.environ, "PYTHONPATH": SRC}
    command = [sys.executable, str(HERE / "hostile.py"), "17", "160"]
    out = subprocess.run(command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert out.stdout == ""
    assert out.returncode == 0, out.stderr[-2000:]
    assert not list(tmp_path.iterdir())


def test_the_table_of_calls_lacks_no_public_name(tmp_path):
    covered = {re.split(r"[. ]", label)[0] for label in hostile.works(str(tmp_path))}
    uncalled = set().union(*hostile.UNCALLED.values())
    assert hostile.public_names() - covered - uncalled == set()
    assert uncalled - hostile.public_names() == set() and uncalled & covered == set()
    methods = {name for name in dir(mpf.sklearn.RBM) if not name.startswith("_") and callable(getattr(mpf.sklearn.RBM, name))}
    labels = {label.split(" ")[0].rpartition(".")[2] for label in hostile.estimator_cases()}
    assert methods - labels == {"get_metadata_routing", "get_params"}  # the first is scikit-learn's, the second has nothing to get wrong


def said(check, *arguments_, **more):
    with pytest.raises(mpf.InputError) as caught:
        check(*arguments_, **more)
    return str(caught.value)


@pytest.mark.parametrize("value", [3, np.int8(3), np.array(3), jax.numpy.asarray(3)])
def test_any_integer_is_a_whole_number(value):
    assert arguments.whole("n", value, 1) == 3
    assert type(arguments.whole("n", value, 1)) is int


def test_messages_say_what_was_received_and_what_to_use():
    assert said(arguments.whole, "n", 2.0, 1) == "n=2.0, expected a whole number of at least 1: use 2"
    assert said(arguments.whole, "n", True, 1) == "n=True, expected a whole number of at least 1"
    assert said(arguments.whole, "n", [1]) == "n=a value of type list, expected a whole number of at least 0"
    assert "at most 2147483647" in said(arguments.whole, "n", 2**40)
    assert said(arguments.number, "l2", "0.1", 0) == "l2='0.1', expected a finite number of at least 0"
    assert said(arguments.number, "l2", 10**400, 0).startswith("l2=an integer of more than 20 digits")
    assert said(arguments.choice, "method", None, ("a", "b")) == "unknown method None: use one of a, b"
    assert said(arguments.flag, "log", 1) == "log=1: use True or False"
    assert "expected a seed: use a whole number from 0 to 2^63 - 1" in said(arguments.seed, "seed", 2**63)
    assert "2^63 - 3" in said(arguments.seed, "seed", 2**63 - 2, 3)
    assert arguments.seed("seed", 2**63 - 3, 3) == 2**63 - 3
    assert "300 GB" in said(arguments.room, "the weights", 75_000, 1_000_000)


@pytest.mark.parametrize("seed", [-1, None, "1", 1.5, 2**63, True, [0, 1], np.zeros(3, np.uint32), jax.random.split(jax.random.key(0))])
def test_what_is_no_seed_and_no_key_is_refused(seed):
    assert "pass a seed" in (message := said(mpf.numerics.as_key, seed)) or "expected a seed" in message


def test_seeds_above_32_bits_are_not_cut():
    keys = [jax.random.key_data(mpf.numerics.as_key(seed)).tolist() for seed in (5, 2**32 + 5, 2**63 - 1, np.uint64(5))]
    assert keys == [[0, 5], [1, 5], [2**31 - 1, 2**32 - 1], [0, 5]]
    assert keys[0] == jax.random.key_data(jax.random.key(5)).tolist()


def test_keys_of_every_style_are_taken():
    as_key, words = mpf.numerics.as_key, jax.random.key_data
    new, old = jax.random.key(7), jax.random.PRNGKey(7)
    np.testing.assert_array_equal(words(as_key(new)), words(as_key(old)))
    others = [words(as_key(jax.random.key(seed, impl="rbg"))).tolist() for seed in (7, 8)]
    assert others[0] != others[1]
    assert others[0] == words(as_key(jax.random.key_data(jax.random.key(7, impl="rbg")))).tolist()  # the same, old-style


def test_a_fit_has_a_short_repr():
    fit = mpf.fit(mpf.BernoulliRBM.init(0, 5, 3), np.eye(5), "cd", epochs=2, batch_size=5, progress=False)
    assert repr(fit).startswith("Fit(RBM, 2 epochs to update 2: objective ")
    assert len(repr(fit)) < 200


def test_unknown_settings_of_a_rule_are_named_with_the_known_ones():
    assert "it has k, refresh, n_particles, min_ess" in said(mpf.rule, mpf.CD(), steps=3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_use_after_a_fork_is_an_error_and_no_hang():
    code = """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        import minprobflow as mpf
        rbm = mpf.BernoulliRBM([[1.0]], [0.0], [0.0])
        mpf.sample(rbm, n=2, steps=1)
        child = os.fork()
        if child == 0:
            said = []
            uses = [lambda: mpf.sample(rbm, n=2, steps=1), lambda: mpf.BernoulliRBM([[2]], [0], [0])]
            uses += [lambda: rbm.free_energy([1]), lambda: mpf.Ising.init(3)]
            for use in uses:
                try:
                    use()
                except mpf.InputError as problem:
                    said.append(str(problem))
            print(sum("multiprocessing.get_context('spawn')" in text for text in said), flush=True)
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    environment = {**os.environ, "PYTHONPATH": SRC}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    out = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=120)
    assert (out.stdout.strip(), out.returncode) == ("4", 0), out.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mpf.fit_convex(mpf.Ising.init(3), [[0, 1, 1], [1, 0, 0]], counts="many"), "counts"),
        (lambda: mpf.BernoulliRBM.init(0, 3, 2).energy(np.zeros((2, 3)), np.zeros((4, 2))), "as many of one as of the other"),
        (lambda: mpf.GaussianRBM.init(0, 3, 2).energy(np.zeros((2, 3)), np.zeros((4, 2))), "as many of one as of the other"),
        (lambda: mpf.save(mpf.BernoulliRBM.init(0, 3, 2), "."), "is a folder"),
        (
            lambda: mpf.likelihood.log_likelihood(
                mpf.BernoulliRBM(np.full((3, 2), np.nan), np.zeros(3), np.zeros(2)), [[0, 1, 1]], "pseudo"
            ),
            "non-finite",
        ),
        (
            lambda: mpf.likelihood.free_energies(mpf.BernoulliRBM(np.full((3, 2), np.nan), np.zeros(3), np.zeros(2)), np.eye(3)),
            "non-finite",
        ),
        (lambda: mpf.likelihood.independent_units(mpf.Binary(3), np.eye(3), np.full((2, 3), np.nan)), r"rows has 6 missing values"),
        (lambda: mpf.data.repeated(np.eye(3, dtype=np.uint8), np.asarray([1.0, np.nan, 1.0]), 5), "weights of shape"),
        (lambda: mpf.data.as_text(np.zeros((2, 3)), "a"), "the alphabet is of length 1"),
        (lambda: mpf.runs.evaluate(mpf.BernoulliRBM.init(0, 3, 2), {}), "parts is a value of type dict: pass rows by the name"),
        (lambda: mpf.train_run(mpf.Config(), show=lambda epoch: None), "show is a function of other arguments .*an Epoch and a Look"),
        (lambda: mpf.train_run(mpf.Config(), start=lambda key: "rbm"), r"start\(key\) is 'rbm': pass a model"),
        (lambda: mpf.train_run(mpf.Config(), __file__), "a file is in the place of the folder"),
        (lambda: mpf.log_partition(mpf.BernoulliRBM.init(0, 3, 2), progress=lambda: None), "progress is a function of other arguments"),
        (lambda: mpf.sklearn.RBM(n_iter=1, verbose="loud").fit(np.eye(10)), "verbose='loud'"),
        (
            lambda: mpf.sklearn.RBM(n_iter=1, binarize=10**400).fit(np.eye(10)),
            "binarize=an integer of more than 20 digits: give a threshold",
        ),
        (
            lambda: mpf.sklearn.RBM(n_iter=1).fit(np.eye(10)).set_params(binarize="x").transform(np.eye(10)),
            "binarize='x': give a threshold",
        ),
        (
            lambda: mpf.sklearn.RBM(2, n_iter=1).fit(np.eye(10)).inverse_transform(np.ma.masked_array(np.eye(2), np.eye(2))),
            r"X has 2 missing values \(masked\)",
        ),
    ],
)
def test_what_a_long_campaign_found_stays_refused(call, message):
    with pytest.raises(mpf.InputError, match=message):
        call()
