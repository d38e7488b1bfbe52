"""Kubernetes as launch scripts use it. Scripts that replace these functions to change their Jobs are told what does."""

from __future__ import annotations

from typing import Any, NoReturn

from xmgen.frontends.xmanager.api.xm import problems

_REQUIREMENTS = "xmgen works them out from the executor's xm.JobRequirements; `xmgen inspect --manifests` shows them"


class _Fixed(type):
    """Replacing a method would silently do nothing: xmgen never calls it."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise problems.refuse(
            f"kubernetes.{cls.__name__}.{name} = ...",
            "xmgen writes the Jobs itself, so it would never be called; change the generated stack's manifests instead",
        )


class Client(metaclass=_Fixed):
    def launch(self, get_full_job_name: Any, jobs: Any) -> NoReturn:
        del get_full_job_name, jobs
        raise problems.refuse(
            "kubernetes.Client.launch()", "use experiment.add(xm.Job(executable, xm_local.Kubernetes(...)))"
        )


def client() -> Client:
    return Client()


def convert_to_valid_label(label: str) -> str:
    """The label with hyphens for underscores, which Kubernetes does not take in names."""
    return label.replace("_", "-")


def requirements_from_executor(executor: Any) -> NoReturn:
    del executor
    raise problems.refuse("kubernetes.requirements_from_executor()", _REQUIREMENTS)


def node_selector_from_executor(executor: Any) -> NoReturn:
    del executor
    raise problems.refuse("kubernetes.node_selector_from_executor()", _REQUIREMENTS)


def annotations_from_executor(executor: Any) -> NoReturn:
    del executor
    raise problems.refuse("kubernetes.annotations_from_executor()", _REQUIREMENTS)
