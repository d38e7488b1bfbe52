"""Two intertwined spirals, and a network of one hidden layer that tells them apart."""

import numpy as np


def points(count, seed=0):
    """`count` points in the plane and the spiral, 0 or 1, that each is on."""
    random = np.random.default_rng(seed)
    which = np.arange(count) % 2
    turn = random.uniform(0.5, 3, count) * np.pi
    spread = random.normal(0, 0.1, (count, 2))
    place = np.stack([np.cos(turn + np.pi * which), np.sin(turn + np.pi * which)], 1) * turn[:, None] / 3
    return place + spread, which


class Network:
    def __init__(self, hidden, seed=0):
        random = np.random.default_rng(seed)
        self.inner, self.inner_bias = random.normal(0, 1, (2, hidden)), np.zeros(hidden)
        self.outer, self.outer_bias = random.normal(0, 1 / np.sqrt(hidden), hidden), 0.0

    def __call__(self, place):
        self.active = np.tanh(place @ self.inner + self.inner_bias)
        return 1 / (1 + np.exp(-(self.active @ self.outer + self.outer_bias)))

    def learn(self, place, which, rate):
        """One step down the gradient of the cross-entropy, which is returned."""
        guess = self(place)
        wrong = (guess - which) / len(which)
        back = wrong[:, None] * self.outer * (1 - self.active**2)
        self.outer -= rate * self.active.T @ wrong
        self.outer_bias -= rate * wrong.sum()
        self.inner -= rate * place.T @ back
        self.inner_bias -= rate * back.sum(0)
        return float(-np.log(np.where(which == 1, guess, 1 - guess) + 1e-12).mean())
