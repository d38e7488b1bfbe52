"""Fits a small network to a sine, on a GPU if there is one."""

import argparse
import json
import os
from pathlib import Path

import torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--learning_rate", type=float, default=0.001)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args()
    output = Path(os.environ.get("XMGEN_OUTPUT_DIR", "."))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(1, options.width), torch.nn.Tanh(), torch.nn.Linear(options.width, 1)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    loss = torch.tensor(0.0)
    for step in range(options.steps):
        x = torch.rand(256, 1, device=device) * 6.28
        loss = torch.nn.functional.mse_loss(model(x), torch.sin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f} on {device}", flush=True)
    torch.save(model.state_dict(), output / "model.pt")
    (output / "metrics.json").write_text(json.dumps({"loss": loss.item(), "device": device}))


if __name__ == "__main__":
    main()
