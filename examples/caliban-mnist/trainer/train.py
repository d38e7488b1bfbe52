"""Trains a small network on scikit-learn's handwritten digits, the MNIST of machines without a network."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=0.01)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--nesterov", action="store_true", help="Nesterov's momentum")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(digits.data, digits.target, random_state=args.seed)
    network = MLPClassifier(
        (32,),
        solver="sgd",
        learning_rate_init=args.learning_rate,
        batch_size=args.batch_size,
        max_iter=args.epochs,
        nesterovs_momentum=args.nesterov,
        random_state=args.seed,
    )
    model = make_pipeline(StandardScaler(), network)
    model.fit(train_x, train_y)
    accuracy = round(float(model.score(test_x, test_y)), 4)
    print(f"accuracy {accuracy}")
    folder = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
    (folder / "metrics.json").write_text(json.dumps({"accuracy": accuracy}))


if __name__ == "__main__":
    main()
