"""Runs the Cloud SQL Auth proxy in a container that has no sidecar. The Dockerfile holds this file line by line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Mapping, NoReturn, Sequence  # noqa: UP035


def command(config: Mapping[str, Any]) -> list[str]:
    instance = ":".join((config["project"], config["region"], config["db"]))
    quiet = [] if config.get("debug") else ["-quiet"]
    return [config["proxy"], "-dir", config["path"], "-instances", instance, *quiet]


def main(argv: Sequence[str]) -> NoReturn:
    config = json.loads(argv[0])
    credentials = Path(config.get("creds") or "").expanduser()
    # Where a machine has an identity of its own there is no such file, and none is needed.
    if credentials.is_file():
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(credentials)
    Path(config["path"]).mkdir(parents=True, exist_ok=True)
    os.execvp(config["proxy"], command(config))  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
