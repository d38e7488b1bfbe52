"""Vertex AI as launch scripts use it: the TensorBoard that their jobs write to."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

from xmgen.experiment import Reference
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.cloud import auth
from xmgen.frontends.xmanager.api.xm import problems

_DEFAULT_LOCATION = "us-central1"
_WAIT = "`await work_unit.wait_until_complete()` makes what follows wait for the unit"


class Client:
    """Launches nothing: jobs become resources of the stack."""

    def __init__(self, project: str | None = None, location: str = _DEFAULT_LOCATION) -> None:
        self.location = location
        if project:
            self.project = project

    @functools.cached_property
    def project(self) -> str:
        """The stack refers to its project only where a script asks for it."""
        return auth.get_project_name()

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.location}"

    async def get_or_create_tensorboard(self, name: str) -> str:
        """A reference to the TensorBoard instance of that display name, to be put into `TensorboardCapability`."""
        return recording.current().reference(Reference(kind="tensorboard", name=name))

    async def create_tensorboard(self, name: str) -> str:
        """As `get_or_create_tensorboard`: one instance per name and stack."""
        return await self.get_or_create_tensorboard(name)

    def launch(self, name: str, jobs: Any) -> NoReturn:
        del name, jobs
        raise problems.refuse("vertex.Client.launch()", "use experiment.add(xm.Job(executable, xm_local.Vertex(...)))")

    def get_state(self, job_name: str) -> NoReturn:
        del job_name
        raise problems.refuse("vertex.Client.get_state()", _WAIT)

    async def wait_for_job(self, job_name: str) -> None:
        del job_name
        raise problems.refuse("vertex.Client.wait_for_job()", _WAIT)

    def cancel(self, job_name: str) -> NoReturn:
        del job_name
        raise problems.refuse("vertex.Client.cancel()", "`pulumi destroy` cancels what the stack created")


_default_client: list[Any] = []


def set_default_client(client: Any) -> None:
    """The client that `get_default_client` returns from now on."""
    _default_client[:] = [client]


def get_default_client() -> Any:
    return _default_client[0] if _default_client else Client()
