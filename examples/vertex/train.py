"""Trains a network on spirals; its accuracy goes to the job's output."""

import json
import os
from pathlib import Path

import spirals
from absl import app, flags

HIDDEN = flags.DEFINE_integer("hidden", 16, "Units of the hidden layer.")
LEARNING_RATE = flags.DEFINE_float("learning_rate", 0.1, "Step of the gradient descent.")
STEPS = flags.DEFINE_integer("steps", 2000, "Number of steps.")


def main(_):
    place, which = spirals.points(400)
    network = spirals.Network(HIDDEN.value)
    for step in range(STEPS.value):
        loss = network.learn(place, which, LEARNING_RATE.value)
        if step % 500 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    place, which = spirals.points(400, seed=1)
    accuracy = float(((network(place) > 0.5) == which).mean())
    print(f"accuracy {accuracy:.3f}")
    # On Vertex AI this is a folder of the stack's bucket.
    output = Path(os.environ.get("XMGEN_OUTPUT_DIR", "outputs"))
    output.mkdir(parents=True, exist_ok=True)
    (output / "metrics.json").write_text(json.dumps({"accuracy": accuracy}))


if __name__ == "__main__":
    app.run(main)
