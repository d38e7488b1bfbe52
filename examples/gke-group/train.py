"""Trains a classifier of handwritten digits with the other workers of the group."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    # Reads TF_CONFIG: who the workers are, and which of them this is.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    images, labels = load_digits(return_X_y=True)
    data = tf.data.Dataset.from_tensor_slices((images.astype(np.float32) / 16, labels)).shuffle(2048, seed=0)
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10, activation="softmax")]
        )
        optimizer = tf.keras.optimizers.Adam(options.learning_rate)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(data.batch(96), epochs=options.epochs, verbose=2)
    if task == 0:
        output = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
        (output / "metrics.json").write_text(json.dumps({"accuracy": history.history["accuracy"][-1]}))


if __name__ == "__main__":
    main()
