"""Submits objects to an API server that checks and admits them, but keeps none."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from xmgen.executors.gke.resources import JOBS
from xmgen.experiment import Experiment
from xmgen.plan import planner
from xmgen.program import render as program
from xmgen.rehearsal.api import Answer, Api
from xmgen.stack import resources
from xmgen.stack.resources import FILE

Object = dict[str, Any]

RESOLVED = {
    "image": "europe-west4-docker.pkg.dev/project/stack/image@sha256:" + "0" * 64,
    "bucket": "project-output-1a2b3c4",
    "config": "value",
    "secret": "value",
    "tensorboard": "projects/1/locations/europe-west4/tensorboards/2",
}
"""What the program could put in place of a reference, by the reference's kind."""


def compiled(experiment: Experiment) -> list[Object]:
    """The Kubernetes objects of the stack that an experiment is compiled to."""
    return objects(program.render(planner.plan(experiment)))


def objects(files: Mapping[str, str] | Path) -> list[Object]:
    """The Kubernetes objects that a stack declares, references resolved. By file name, or its folder."""
    if isinstance(files, Path):
        files = {path: (files / path).read_text() for path in (FILE, JOBS) if (files / path).is_file()}
    declared = resources.parse(files[FILE], FILE)
    beside = [resources.kubernetes_object(each) for each in declared.resources if each.key.startswith("objects.")]
    return [resolve(each) for each in [*beside, *yaml.safe_load_all(files.get(JOBS, ""))]]


def resolve(value: Any) -> Any:
    match value:
        case str():
            return re.sub(r"<xmgen:(\w+):[^>]*>|\$\{\w+.*?\}", lambda found: RESOLVED[found[1] or "config"], value)
        case list():
            return [resolve(item) for item in value]
        case dict():
            return {key: resolve(item) for key, item in value.items()}
        case _:
            return value


def surroundings(submitted: Sequence[Object]) -> list[Object]:
    """What the program declares besides the manifests: where the objects are, and whom their pods act as."""
    namespaces = {each["metadata"]["namespace"] for each in submitted if "namespace" in each["metadata"]} - {"default"}
    accounts = {
        (each["metadata"]["namespace"], each["spec"]["template"]["spec"]["serviceAccountName"])
        for each in submitted
        if each["kind"] == "Job"
    }
    annotations = {"iam.gke.io/gcp-service-account": "sweep-jobs@project.iam.gserviceaccount.com"}
    return [
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            for namespace in sorted(namespaces)
        ),
        *(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": account, "namespace": namespace, "annotations": annotations},
            }
            for namespace, account in sorted(accounts)
        ),
        *(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": namespace},
                "stringData": dict.fromkeys(sorted(keys), "value"),
            }
            for (namespace, name), keys in sorted(_secrets(submitted).items())
        ),
    ]


def _secrets(submitted: Sequence[Object]) -> dict[tuple[str, str], set[str]]:
    """The keys that Jobs read of Secrets, by namespace and name."""
    keys: dict[tuple[str, str], set[str]] = {}
    for each in submitted:
        for container in each["spec"]["template"]["spec"]["containers"] if each["kind"] == "Job" else ():
            for variable in container.get("env", ()):
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    place = each["metadata"]["namespace"], reference["name"]
                    keys.setdefault(place, set()).add(reference["key"])
    return keys


class DryRun:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._kept: list[Object] = []

    def refusals(self, submitted: Sequence[Object]) -> list[str]:
        """Why objects are refused, each with its name; empty when all are accepted.

        With each Job goes a pod such as it would create, which has to pass admission. Jobs and pods are not kept, but
        what they need is: the API server would not look at them in a namespace, or of a priority, that is missing.
        """
        refused: list[str] = []
        # Jobs last, as in the program.
        for each in [*surroundings(submitted), *sorted(submitted, key=lambda each: each["kind"] == "Job")]:
            if each in self._kept:
                continue
            reasons = [self._refusal(each)]
            if each["kind"] == "Job":
                reasons.append(self._refusal(pod(each)))
            elif reasons == [""]:
                kept = self._create(each)
                assert kept.ok, kept.message
                self._kept.append(each)
            refused += [f"{each['kind']} {each['metadata']['name']}: {reason}" for reason in reasons if reason]
        return refused

    def _refusal(self, submitted: Object) -> str:
        answer = self._create(submitted, dryRun="All")
        return "" if answer.ok else answer.message

    def _create(self, submitted: Object, **query: str) -> Answer:
        return self._api.request("POST", self._path(submitted), submitted, fieldValidation="Strict", **query)

    def _path(self, submitted: Object) -> str:
        version = submitted["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        plural = self._plurals(root)[submitted["kind"]]
        namespace = submitted["metadata"].get("namespace")
        return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"

    @functools.cache  # noqa: B019 — there is one for all tests
    def _plurals(self, root: str) -> dict[str, str]:
        """The names of the resources of one version of an API, by kind."""
        resources = self._api.request("GET", root).body["resources"]
        return {resource["kind"]: resource["name"] for resource in resources if "/" not in resource["name"]}


def pod(job: Object) -> Object:
    """A pod as the Job's controller would create it."""
    template = job["spec"]["template"]
    metadata = {"name": job["metadata"]["name"], "namespace": job["metadata"]["namespace"], **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
