"""Removes the folder of a rehearsal when the rehearsal is over, however that went.

    python -I -S remover.py FOLDER LOCK

A program of its own, started by path: the standard library only. Its standard input is a pipe whose other end the
starter holds, and nobody else. When that closes, it waits until nothing of the rehearsal runs any more, which is when
nobody holds the lock, a file in the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from pathlib import Path


def main(folder: Path, lock: Path) -> int:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # A rehearsal that came to nothing has none.
    with contextlib.suppress(FileNotFoundError), lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
