"""Prints the trials' accuracies, best first: the folders beside its own output are theirs."""

import json
import os
from pathlib import Path

from absl import app


def main(_):
    trials = Path(os.environ.get("XMGEN_OUTPUT_DIR", "outputs")).parent
    accuracies = {path.parent.name: json.loads(path.read_text())["accuracy"] for path in trials.glob("*/metrics.json")}
    for name, accuracy in sorted(accuracies.items(), key=lambda item: -item[1]):
        print(f"{accuracy:.3f}  {name}")


if __name__ == "__main__":
    app.run(main)
