"""Trains a small neural network on scikit-learn's handwritten digits: 8x8 pixels, ten classes, no download."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--width", type=int, required=True, help="units of the hidden layer")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.data / 16, digits.target, test_size=0.25, stratify=digits.target, random_state=args.seed
    )
    model = MLPClassifier(
        hidden_layer_sizes=(args.width,),
        learning_rate_init=args.learning_rate,
        batch_size=32,
        random_state=args.seed,
    )
    for epoch in range(1, args.epochs + 1):
        model.partial_fit(train_x, train_y, classes=np.arange(10))
        print(
            f"epoch {epoch:2}: training loss {model.loss_:.4f}, accuracy {model.score(test_x, test_y):.4f}", flush=True
        )

    metrics = {
        "accuracy": round(model.score(test_x, test_y), 4),
        "loss": round(float(log_loss(test_y, model.predict_proba(test_x))), 4),
        "training_loss": round(float(model.loss_), 4),
    }
    # What lies in XMGEN_OUTPUT_DIR is kept; metrics.json there becomes columns of the table of results.
    folder = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
    (folder / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
