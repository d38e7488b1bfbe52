"""Started by the Pulumi engine: `python -m xmgen.provider [flags] <engine's address>`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from xmgen.project import root_around


def project_root(start: Path) -> Path:
    """The folder of Pulumi.yaml, here or above; `start` when there is none, as when only the schema is asked for."""
    return root_around(start) or start


def main() -> None:
    from xmgen.provider.server import serve

    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    engine = addresses[-1] if addresses else None

    async def until_closed() -> None:
        await serve(engine, project_root(Path.cwd().resolve()))
        # Threads may still wait for a daemon that does not answer, and asyncio would wait for them.
        sys.stdout.flush()
        os._exit(0)

    asyncio.run(until_closed())


if __name__ == "__main__":
    main()
