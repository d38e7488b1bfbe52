"""Estimates pi by counting random points in a quarter circle. Needs nothing but Python."""

import argparse
import json
import math
import os
import random
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, required=True)
args = parser.parse_args()

samples = int(os.environ["SAMPLES"])
generator = random.Random(args.seed)
inside = 0
for sample in range(1, samples + 1):
    inside += math.hypot(generator.random(), generator.random()) <= 1
    if sample % (samples // 5) == 0:
        print(f"{sample} samples: {4 * inside / sample:.5f}", flush=True)

estimate = 4 * inside / samples
metrics = {"samples": samples, "estimate": round(estimate, 5), "error": round(abs(estimate - math.pi), 5)}
(Path(os.environ.get("XMGEN_OUTPUT_DIR", ".")) / "metrics.json").write_text(json.dumps(metrics))
