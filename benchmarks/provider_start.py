"""The provider's start against importing Pulumi's provider SDK."""

from __future__ import annotations

import subprocess
import sys

from ratio import Side, command, exit_with, report


def start() -> None:
    """Until it has printed the port on which it listens, as the engine waits for."""
    process = subprocess.Popen([sys.executable, "-m", "xmgen.provider"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    exit_with(
        report(
            "the provider starts in <= 1.25 x importing Pulumi's provider SDK",
            Side("xmgen.provider", start),
            command("import pulumi.provider", [sys.executable, "-c", "import pulumi.provider.experimental"]),
            lambda sdk: 1.25 * sdk,
        )
    )
