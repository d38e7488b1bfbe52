"""Workers add up their shares of 1 to 1,000,000 and send them to the chief, which prints the whole."""

import json
import os
import socket
import time

from absl import app, flags

ROLE = flags.DEFINE_enum("role", "chief", ["chief", "worker"], "What this machine does.")
CHIEF = flags.DEFINE_string("chief", "127.0.0.1:29500", "host:port of the chief.")
WORKERS = flags.DEFINE_integer("workers", 2, "Number of workers.")
LAST = 1_000_000


def share():
    """This worker's numbers. Vertex AI says in CLUSTER_SPEC which of the workers it is."""
    task = json.loads(os.environ.get("CLUSTER_SPEC", "{}")).get("task", {})
    return range(1 + task.get("index", 0), LAST + 1, WORKERS.value)


def collect(port):
    total = 0
    with socket.create_server(("", port)) as server:
        for _ in range(WORKERS.value):
            connection, _address = server.accept()
            with connection, connection.makefile() as lines:
                total += int(lines.readline())
    print(f"1 + 2 + … + {LAST:,} = {total:,}")


def send(address):
    while True:
        try:
            with socket.create_connection(address, timeout=10) as connection:
                connection.sendall(f"{sum(share())}\n".encode())
                return
        except OSError:
            time.sleep(1)  # the chief may start later


def main(_):
    host, port = CHIEF.value.rsplit(":", 1)
    if ROLE.value == "chief":
        collect(int(port))
    else:
        send((host, int(port)))


if __name__ == "__main__":
    app.run(main)
