"""The peers, each called as its users would: one epoch of CD-k or PCD-k over given rows.

Where a peer's own loop adds input and output (rbms writes a file at every update), only its update is called.
"""

import logging
from types import SimpleNamespace

import numpy as np
import torch


class PlainTorch:
    """A minimal PCD-k in eager PyTorch: what one writes in an afternoon."""

    def __init__(self, rows, n_hidden, batch, k, rate=0.1):
        self.rows, self.batch, self.k, self.rate = torch.from_numpy(rows.astype(np.float32)), batch, k, rate
        self.weights = 0.01 * torch.randn(rows.shape[1], n_hidden)
        self.b, self.c = torch.zeros(rows.shape[1]), torch.zeros(n_hidden)
        self.chains = self.rows[:batch].clone()

    @torch.no_grad()
    def epoch(self):
        order = torch.randperm(len(self.rows))
        for i in range(0, len(order) - self.batch + 1, self.batch):
            v, x = self.rows[order[i : i + self.batch]], self.chains
            for _ in range(self.k):
                h = torch.bernoulli(torch.sigmoid(x @ self.weights + self.c))
                x = torch.bernoulli(torch.sigmoid(h @ self.weights.T + self.b))
            self.chains = x
            p, q = torch.sigmoid(v @ self.weights + self.c), torch.sigmoid(x @ self.weights + self.c)
            step = self.rate / self.batch
            self.weights += step * (v.T @ p - x.T @ q)
            self.b += step * (v - x).sum(0)
            self.c += step * (p - q).sum(0)

    def parameters(self):
        return self.weights.numpy(), self.b.numpy(), self.c.numpy()


class ScikitLearn:
    """BernoulliRBM (PCD-1 only) in float32."""

    def __init__(self, rows, n_hidden, batch, k, rate=0.1):
        from sklearn.neural_network import BernoulliRBM

        assert k == 1
        self.rows = rows.astype(np.float32)
        self.model = BernoulliRBM(n_components=n_hidden, learning_rate=rate, batch_size=batch, n_iter=1, random_state=0)

    def epoch(self, epochs=1):
        self.model.n_iter = epochs
        self.model.fit(self.rows)  # starts anew: call it once with all epochs where the model matters

    def parameters(self):
        return self.model.components_.T, self.model.intercept_visible_, self.model.intercept_hidden_


class Rbms:
    """rbms: centred PCD-k."""

    def __init__(self, rows, n_hidden, batch, k, rate=0.1):
        from rbms.bernoulli_bernoulli.classes import BBRBM

        self.rows, self.batch, self.k = torch.from_numpy(rows.astype(np.float32)), batch, k
        data = SimpleNamespace(data=self.rows)
        self.model = BBRBM.init_parameters(n_hidden, data, torch.device("cpu"), torch.float32)
        self.chains = self.model.init_chains(batch)
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, maximize=True)
        self.weights = torch.ones(batch, 1)

    @torch.no_grad()
    def epoch(self):
        from rbms.training.pcd import fit_batch_pcd

        order = torch.randperm(len(self.rows))
        for i in range(0, len(order) - self.batch + 1, self.batch):
            batch = self.rows[order[i : i + self.batch]], self.weights
            self.optimizer.zero_grad(set_to_none=False)
            self.chains, _ = fit_batch_pcd(batch, self.chains, self.model, self.k, 1.0)
            self.optimizer.step()

    def parameters(self):
        return tuple(p.numpy() for p in (self.model.weight_matrix, self.model.vbias, self.model.hbias))


class Learnergy:
    """learnergy: CD-k."""

    def __init__(self, rows, n_hidden, batch, k, rate=0.1):
        from learnergy.models.bernoulli import RBM

        logging.disable(logging.INFO)
        self.batch = batch
        self.data = torch.utils.data.TensorDataset(torch.from_numpy(rows.astype(np.float32)), torch.zeros(len(rows)))
        self.model = RBM(n_visible=rows.shape[1], n_hidden=n_hidden, steps=k, learning_rate=rate)

    def epoch(self):
        self.model.fit(self.data, batch_size=self.batch, epochs=1)

    def parameters(self):
        return tuple(p.detach().numpy() for p in (self.model.W, self.model.a, self.model.b))


PEERS = {"plain torch": PlainTorch, "scikit-learn": ScikitLearn, "rbms": Rbms, "learnergy": Learnergy}
