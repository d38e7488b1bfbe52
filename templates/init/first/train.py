"""Fits a line to noisy points by gradient descent: a first experiment that needs nothing but Python."""

import argparse
import json
import math
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, required=True)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()

points = [(x / 50, 3 * x / 50 + 1 + 0.1 * math.sin(37 * x)) for x in range(-50, 51)]

slope = offset = 0.0
for step in range(1, args.steps + 1):
    errors = [(slope * x + offset - y, x) for x, y in points]
    slope -= args.learning_rate * sum(error * x for error, x in errors) / len(points)
    offset -= args.learning_rate * sum(error for error, _ in errors) / len(points)
    loss = sum(error**2 for error, _ in errors) / len(points)
    if step % 50 == 0:
        print(f"step {step}: loss {loss:.4f}", flush=True)

# What lies in XMGEN_OUTPUT_DIR is kept; metrics.json there becomes columns of the table of results.
metrics = {"loss": round(loss, 4), "slope": round(slope, 3), "offset": round(offset, 3)}
(Path(os.environ.get("XMGEN_OUTPUT_DIR", ".")) / "metrics.json").write_text(json.dumps(metrics))
