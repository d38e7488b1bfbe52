"""The stages of the pipeline. What one leaves for the next lies in the folder `outputs` beside this file."""

import argparse
import json
import os
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

SHARED = Path(__file__).parent / "outputs"


def preprocess(seed: int) -> dict[str, object]:
    """Splits the digits into training, validation and test data."""
    digits = load_digits()
    x, test_x, y, test_y = train_test_split(digits.data / 16, digits.target, test_size=0.2, random_state=seed)
    train_x, valid_x, train_y, valid_y = train_test_split(x, y, test_size=0.25, random_state=seed)
    SHARED.mkdir(exist_ok=True)
    np.savez(
        SHARED / "data.npz",
        train_x=train_x,
        train_y=train_y,
        valid_x=valid_x,
        valid_y=valid_y,
        test_x=test_x,
        test_y=test_y,
    )
    return {"training": len(train_y), "validation": len(valid_y), "test": len(test_y)}


def train(regularisation: str) -> dict[str, object]:
    """Fits one model and leaves it with its score on the validation data."""
    data = np.load(SHARED / "data.npz")
    model = SVC(C=1 / float(regularisation))
    model.fit(data["train_x"], data["train_y"])
    score = float(model.score(data["valid_x"], data["valid_y"]))
    joblib.dump((score, model), model_file(regularisation))
    return {"validation_accuracy": round(score, 4)}


def evaluate(regularisations: list[str]) -> dict[str, object]:
    """Scores the model that did best on the validation data on the test data, which no model has seen."""
    data = np.load(SHARED / "data.npz")
    results = {value: joblib.load(model_file(value)) for value in regularisations}
    for value, (score, _) in results.items():
        print(f"regularisation {value}: validation accuracy {score:.4f}", flush=True)
    best = max(results, key=lambda value: results[value][0])
    accuracy = float(results[best][1].score(data["test_x"], data["test_y"]))
    return {"best_regularisation": float(best), "accuracy": round(accuracy, 4)}


def model_file(regularisation: str) -> Path:
    return SHARED / f"model-{regularisation}.joblib"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", choices=["preprocess", "train", "evaluate"], required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--regularisation", action="append", default=[])
    args = parser.parse_args()
    match args.stage:
        case "preprocess":
            metrics = preprocess(args.seed)
        case "train":
            metrics = train(args.regularisation[0])
        case _:
            metrics = evaluate(args.regularisation)
    print(metrics, flush=True)
    (Path(os.environ.get("XMGEN_OUTPUT_DIR", ".")) / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
