"""Softmax regression on handwritten digits, trained by a parameter server and workers.

The server owns the weights. In every step it sends them to the workers, each computes the gradient on its own shard
of the data, and the server takes the mean.
"""

import argparse
import json
import os
import socket
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

STEPS = 200
CLASSES = 10
PATIENCE = 60.0
"""Seconds to wait for the others to start."""

KEY = b"digits"
TEST = 360
"""The last digits are kept for testing."""


def data() -> tuple[np.ndarray, np.ndarray]:
    """Inputs with a constant column for the bias, and the digits they show."""
    digits = load_digits()
    inputs = np.hstack([digits.data / 16, np.ones((len(digits.data), 1))])
    return inputs, digits.target


def probabilities(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    scores = inputs @ weights
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def serve(host: str, port: int, workers: int, learning_rate: float) -> None:
    inputs, digits = data()
    test_x, test_y = inputs[-TEST:], digits[-TEST:]
    weights = np.zeros((inputs.shape[1], CLASSES))
    with Listener((host, port), authkey=KEY) as listener:
        print(f"waiting for {workers} workers", flush=True)
        connections = [listener.accept() for _ in range(workers)]
    for step in range(1, STEPS + 1):
        for connection in connections:
            connection.send(weights)
        weights -= learning_rate * np.mean([connection.recv() for connection in connections], axis=0)
        if step % 20 == 0:
            accuracy = np.mean(probabilities(test_x, weights).argmax(axis=1) == test_y)
            print(f"step {step}: accuracy {accuracy:.4f}", flush=True)
    for connection in connections:
        connection.send(None)
    predictions = probabilities(test_x, weights)
    metrics = {
        "accuracy": round(float(np.mean(predictions.argmax(axis=1) == test_y)), 4),
        "loss": round(float(-np.mean(np.log(predictions[np.arange(TEST), test_y]))), 4),
    }
    (Path(os.environ.get("XMGEN_OUTPUT_DIR", ".")) / "metrics.json").write_text(json.dumps(metrics))


def work(host: str, port: int, shard: int, shards: int) -> None:
    inputs, digits = data()
    mine = slice(shard, len(inputs) - TEST, shards)
    x, y = inputs[mine], np.eye(CLASSES)[digits[mine]]
    connection = connect(host, port)
    print(f"shard {shard}: {len(x)} digits", flush=True)
    while (weights := connection.recv()) is not None:
        connection.send(x.T @ (probabilities(x, weights) - y) / len(x))


def connect(host: str, port: int) -> Connection:
    """Waits until the server listens: the jobs of a group start together, in no order."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return Client((host, port), authkey=KEY)
        except (ConnectionRefusedError, socket.gaierror):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.1)


def reachable(server: str) -> str:
    """The host to use for a job's name `{experiment}_{work unit}_{job}`.

    A container is called as its job is, and finds the others of its group by name. Processes share this machine, and
    need not be reachable from outside it.
    """
    in_container = socket.gethostname().rpartition("_")[0] == server.rpartition("_")[0]
    return server if in_container else "localhost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=["server", "worker"], required=True)
    parser.add_argument("--server", required=True, help="host:port of the server")
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=0.5)
    args = parser.parse_args()
    host, _, port = args.server.rpartition(":")
    if args.role == "server":
        serve(reachable(host), int(port), args.shards, args.learning_rate)
    else:
        work(reachable(host), int(port), args.shard, args.shards)


if __name__ == "__main__":
    main()
