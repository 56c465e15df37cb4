"""What can only be shown on real data; skipped where they are absent (set MINPROBFLOW_DATA)."""

import pytest
from benchmarks import golden, trap

import minprobflow as mpf
from minprobflow.data.folder import data_folder
from minprobflow.likelihood import from_log_partition


def needs(name):
    return pytest.mark.skipif(not (data_folder() / name).exists(), reason=f"{name} is not in the data folder (set MINPROBFLOW_DATA)")


@needs("golden/rbm_CD25_500_params.npz")
def test_the_published_model():
    """Salakhutdinov & Murray (2008): log Z 451.28, test log-likelihood -86.34."""
    model, train, test = golden.load()
    log_z = mpf.log_partition(model, "ais", base_data=train, chains=100, betas=4000)
    assert log_z.value == pytest.approx(451.28, abs=0.3)
    assert from_log_partition(model, test, log_z).value == pytest.approx(-86.34, abs=0.3)
    assert log_z.lower < 451.28 < log_z.upper
    assert abs(log_z.settings["gap"]) < 0.5


@needs("mnist/train-images-idx3-ubyte.gz")
def test_a_model_that_fools_ais_is_flagged():
    result = trap.main(max_betas=4000)
    assert result["ais"]["value"] < result["exact"]["value"] - 5  # AIS alone is many nats too optimistic
    assert result["verdict"] == "do not trust"
    assert result["ais"]["upper"] > result["exact"]["value"] > result["ais"]["lower"]  # the sandwich shows it
    assert result["ais"]["upper"] - result["ais"]["lower"] > 5


@needs("mnist/train-images-idx3-ubyte.gz")
def test_mnist():
    mnist = mpf.load_dataset("mnist")
    assert [len(part) for part in (mnist.train, mnist.valid, mnist.test)] == [50_000, 10_000, 10_000]
    assert mnist.test.mean() == pytest.approx(0.1342, abs=1e-4)
