"""Fits a line on all chips of the slice: every host has its share of the data."""

import argparse
import json
import os
from pathlib import Path

import jax
import jax.numpy as jnp


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    # The hosts find each other through the variables of TPU workers.
    jax.distributed.initialize()
    print(f"host {jax.process_index()} of {jax.process_count()}: {jax.local_device_count()} chips", flush=True)

    def loss(weights, x):
        return jnp.mean((weights[0] * x + weights[1] - (2 * x + 1)) ** 2)

    def step(weights, x):
        gradient = jax.lax.pmean(jax.grad(loss)(weights, x), "chips")
        return weights - 0.1 * gradient

    keys = jax.random.split(jax.random.key(jax.process_index()), jax.local_device_count())
    data = jnp.stack([jax.random.uniform(key, (1024,)) for key in keys])
    weights = jnp.zeros((jax.local_device_count(), 2))
    update = jax.pmap(step, axis_name="chips")
    for _ in range(options.steps):
        weights = update(weights, data)
    if jax.process_index() == 0:
        slope, intercept = (float(value) for value in weights[0])
        output = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
        (output / "metrics.json").write_text(json.dumps({"slope": slope, "intercept": intercept}))


if __name__ == "__main__":
    main()
