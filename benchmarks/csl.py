"""How far CSL lies below the likelihood of an RBM with 200 hidden units on MNIST, with more training, samples and chains.

A quarter of an hour on one core that does other work too. Needs MNIST.
"""

import minprobflow as mpf

LENGTHS = (1, 5, 20)  # epochs of PCD-1
SAMPLING = ((100, 10), (100, 100), (1000, 10), (1000, 100))  # chains, samples of each
ROWS = 1000


def main() -> dict[str, object]:
    dataset = mpf.load_dataset("mnist")
    test = dataset.test[:ROWS]
    models = []
    for epochs in LENGTHS:
        start = mpf.BernoulliRBM.init(0, dataset.train.shape[1], 200, data=dataset.train)
        model = mpf.fit(start, dataset.train, "pcd", k=1, epochs=epochs, batch_size=100, learning_rate=0.1, progress=False).model
        ais = mpf.log_likelihood(model, test, "ais", base_data=dataset.train, max_betas=16_000)
        print(f"{epochs} epochs: AIS {ais}", flush=True)
        lines = []
        for chains, samples in SAMPLING:
            for begin in ("noise", "data"):
                csl = mpf.log_likelihood(model, test, "csl", base_data=dataset.train, chains=chains, samples=samples, start=begin)
                lines.append({"chains": chains, "samples": samples, "start": begin, **csl.record()})
                print(f"  {chains} chains x {samples} from {begin}: CSL {csl.value:.2f} +- {csl.stderr:.2f}, ess {csl.ess:.1f}", flush=True)
        models.append({"epochs": epochs, "ais": {**ais.record(), "verdict": ais.verdict}, "csl": lines})
    return {"rows": ROWS, "models": models}
