"""Starts the program in the container. Needs nothing but Python 3.7; the Dockerfile holds this file line by line.

Services come first, then the program takes the place of this process: exit code and signals are its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Mapping, NoReturn, Sequence  # noqa: UP035
from urllib.parse import quote

COMMAND, CONFIG = "--caliban_command", "--caliban_config"
PASSWORD, URI = "MLFLOW_DB_PASSWORD", "MLFLOW_TRACKING_URI"
CREDENTIALS = "/.creds/credentials.json"
SECONDS_TO_START = 5


def main(argv: Sequence[str]) -> NoReturn:
    command, dynamic, args = split(argv)
    if not command:
        fail(f"{COMMAND} says what to start", 2)
    config = merge(read(Path(__file__).with_name("caliban_launcher_cfg.json")), dynamic)
    environment = merged_environment(os.environ, config.get("env", {}))
    for service in config.get("services", []):
        start(service, environment)
    try:
        os.execvpe(program_of(command), [*command, *args], environment)  # noqa: S606
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}", 127)


def split(argv: Sequence[str]) -> tuple[list[str], dict[str, Any], list[str]]:
    """The command, the config, and the arguments of the program: everything that is not ours, in order."""
    command: list[str] = []
    config: dict[str, Any] = {}
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            # What follows is not ours, whatever it is called.
            return command, config, [*rest, word, *words]
        if name == COMMAND:
            command = parsed(name, value if equals else next(words, ""), list)
        elif name == CONFIG:
            config = parsed(name, value if equals else next(words, ""), dict)
        else:
            rest.append(word)
    return command, config, rest


def parsed(name: str, text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        fail(f"{name} takes a {kind.__name__} in JSON", 2)
    return value


def merge(static: Mapping[str, Any], dynamic: Mapping[str, Any]) -> dict[str, Any]:
    """Environment: the later wins. Services: both. Anything else: what the image says wins."""
    result = {**dynamic, **static}
    if "env" in result:
        result["env"] = {**static.get("env", {}), **dynamic.get("env", {})}
    if "services" in result:
        result["services"] = [*static.get("services", []), *dynamic.get("services", [])]
    return result


def merged_environment(inherited: Mapping[str, str], added: Mapping[str, Any]) -> dict[str, str]:
    result = dict(inherited)
    for name, value in added.items():
        result[name] = value if isinstance(value, str) else json.dumps(value)
    if Path(CREDENTIALS).exists():
        result.setdefault("GOOGLE_APPLICATION_CREDENTIALS", CREDENTIALS)
    if PASSWORD in result and URI in result:
        # Encoded here: nobody else may know it.
        result[URI] = result[URI].replace("{password}", quote(result[PASSWORD], safe=""))
    return result


def start(service: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        process = subprocess.Popen([program_of(service), *service[1:]], env=environment)  # noqa: S603
    except OSError as error:
        fail(f"{service[0]}: {error.strerror}", 127)
    time.sleep(SECONDS_TO_START)
    if process.poll():
        fail(f"{service[0]} ended with code {process.returncode}", 1)


def program_of(command: Sequence[str]) -> str:
    # `python` means the one that runs this, whatever PATH says.
    return sys.executable if command[0] == "python" else command[0]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def fail(message: str, code: int) -> NoReturn:
    print(f"caliban_launcher: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
