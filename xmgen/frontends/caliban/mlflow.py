"""What Caliban's MLflow integration gives a job: an argument for the launcher, and the launcher's own configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from xmgen.frontends.caliban.launcher import CONFIG, URI
from xmgen.frontends.caliban.settings import Config

SOCKETS = "/tmp/cloudsql"  # noqa: S108 — a path in the container
PROXY = "/usr/bin/cloud_sql_proxy"
RESOURCES = "/.resources"
_CREDENTIALS = "~/.config/gcloud/application_default_credentials.json"


@dataclass(frozen=True, slots=True)
class LauncherConfig:
    """services: argv of what runs beside the program. env: what all jobs of a project have in common."""

    services: Sequence[Sequence[str]]
    env: Mapping[str, str]


NO_CONFIG = LauncherConfig(services=(), env={})


def mlflow_args(experiment_name: str, index: int, tags: Mapping[str, object], run_name: str | None = None) -> list[str]:
    """The launcher's argument that names a run and its tags.

    index: position of the job. run_name: of a run that must keep its name wherever it stands among the others.
    """
    env: dict[str, object] = {f"ENVVAR_{tag}": value for tag, value in tags.items()}
    env["MLFLOW_EXPERIMENT_NAME"] = experiment_name
    env["MLFLOW_RUN_NAME"] = run_name or f"{experiment_name}-{index}"
    return [CONFIG, json.dumps({"env": env})]


def instance(mlflow: Mapping[str, Any]) -> str:
    """The Cloud SQL instance's connection name."""
    return f"{mlflow['project']}:{mlflow['region']}:{mlflow['db']}"


def launcher_config(config: Config) -> LauncherConfig:
    """Of a project. The database's password is not in it: `{password}` stands where the launcher puts what it finds
    in MLFLOW_DB_PASSWORD."""
    mlflow = config["mlflow_config"]
    if mlflow is None:
        return NO_CONFIG
    uv = config["uv"].get("mlflow", {})
    proxy = {
        "proxy": PROXY,
        "path": SOCKETS,
        "project": mlflow["project"],
        "region": mlflow["region"],
        "db": mlflow["db"],
        "creds": _CREDENTIALS,
        "debug": mlflow.get("debug", False),
    }
    user, socket = quote(mlflow["user"], safe=""), f"{SOCKETS}/{instance(mlflow)}/.s.PGSQL.5432"
    return LauncherConfig(
        services=[["python", f"{RESOURCES}/cloud_sql_proxy.py", json.dumps(proxy)]],
        env={
            URI: f"postgresql+pg8000://{user}:{{password}}@/{mlflow['db']}?unix_sock={socket}",
            "MLFLOW_ARTIFACT_ROOT": mlflow["artifact_root"],
            "UV_MLFLOW_PUBSUB_PROJECT": uv.get("pubsub_project", mlflow["project"]),
            "UV_MLFLOW_PUBSUB_TOPIC": uv.get("pubsub_topic") or "mlflow",
        },
    )
