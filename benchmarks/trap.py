"""A model trained with CD-1 for which AIS alone is nats too optimistic. Needs MNIST in MINPROBFLOW_DATA; a minute.

CD-1 never sees what lies far from the data. Here it leaves a wide region, holding nearly all of the mass, that neither
the annealed chains nor chains started at the data enter; chains started at noise do.
"""

import minprobflow as mpf
from minprobflow.data import Dataset
from minprobflow.likelihood import from_log_partition


def train(mnist: Dataset) -> mpf.RBM:
    rbm = mpf.RBM.init(0, n_visible=784, n_hidden=20, data=mnist.train)
    return mpf.fit(rbm, mnist.train, "cd", k=1, epochs=20, batch_size=100, learning_rate=0.5).model


def main(mnist: Dataset | None = None, max_betas: int = 8000) -> dict[str, object]:
    mnist = mnist or mpf.load_dataset("mnist")
    model = train(mnist)
    exact = mpf.log_partition(model, "exact")
    ais = mpf.log_partition(model, "ais", base_data=mnist.train, max_betas=max_betas)
    result = {"exact": exact.record(), "ais": ais.record(), "verdict": ais.verdict, "warnings": ais.warnings, "settings": ais.settings}
    for name, estimate in (("exact", exact), ("ais", ais)):
        print(f"{name}: log Z {estimate}")
        print(f"{name}: test log-likelihood {from_log_partition(model, mnist.test, estimate)}", flush=True)
    return result
