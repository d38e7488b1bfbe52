"""Fits a small network to a sine and goes on from its last checkpoint when its machine was taken away."""

import argparse
import json
import os
from pathlib import Path

import torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--learning_rate", type=float, default=0.001)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args()
    output = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
    checkpoint = output / "checkpoint.pt"
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(1, options.width), torch.nn.Tanh(), torch.nn.Linear(options.width, 1)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    first = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
        print(f"going on from step {first}", flush=True)
    loss = torch.tensor(0.0)
    for step in range(first, options.steps):
        x = torch.rand(256, 1, device=device) * 6.28
        loss = torch.nn.functional.mse_loss(model(x), torch.sin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 1000 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            # A whole file or none: the machine may go at any time.
            torch.save(state, output / "checkpoint.new")
            (output / "checkpoint.new").replace(checkpoint)
    (output / "metrics.json").write_text(json.dumps({"loss": loss.item()}))


if __name__ == "__main__":
    main()
