"""The resource classes of programs for Vertex AI. docs/vertex.md describes them in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from xmgen import resource_types

__all__ = ["CustomJob", "Provider"]

_CREDENTIALS = ("credentials", "accessToken")
_SETTINGS = ("vertexEndpoint", "vertexConcurrency", "vertexPollSeconds")


class Provider(pulumi.ProviderResource):
    """Acts in Google Cloud as pulumi-gcp does: with the credentials of the stack's configuration (`gcp:credentials`,
    `gcp:accessToken`, `gcp:impersonateServiceAccount`), else with those of the environment."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        gcp, own = pulumi.Config("gcp"), pulumi.Config("xmgen")
        inputs: dict[str, Any] = {key: gcp.get_secret(key) for key in _CREDENTIALS}
        inputs["impersonateServiceAccount"] = gcp.get("impersonateServiceAccount")
        inputs |= {key: own.get(key) for key in _SETTINGS}
        given = {key: value for key, value in inputs.items() if value is not None}
        super().__init__("xmgen", name, given, opts)


class CustomJob(pulumi.CustomResource):
    """One CustomJob. It cannot be changed: whatever changes replaces it, and the old one is cancelled first."""

    def __init__(
        self,
        name: str,
        *,
        display_name: pulumi.Input[str],
        job_spec: pulumi.Input[Mapping[str, Any]],
        project: pulumi.Input[str],
        region: pulumi.Input[str],
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        encryption_spec: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        wait: bool = False,
        after: Sequence[CustomJob] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """display_name, job_spec, labels and encryption_spec are those of the REST API, in its own words.

        wait:  follow the job to its end and fail when it does; else it is created once Vertex AI has accepted it.
        after: jobs that are waited for and must have succeeded first; when one of them runs again, so does this.
        """
        self._resource = name
        inputs = {
            "displayName": display_name,
            "jobSpec": job_spec,
            "labels": labels,
            "encryptionSpec": encryption_spec,
            "project": project,
            "region": region,
            "wait": wait or None,
            "after": {job._resource: job.name for job in after} if after else None,
        }
        given = {key: value for key, value in inputs.items() if value is not None}
        # The old one has the machines that the new one needs.
        required = pulumi.ResourceOptions(delete_before_replace=True, depends_on=list(after))
        options = pulumi.ResourceOptions.merge(opts, required)
        super().__init__(resource_types.CUSTOM_JOB, name, given | dict.fromkeys(_OUTPUTS), options)

    @property
    @pulumi.getter
    def name(self) -> pulumi.Output[str]:
        """`projects/…/locations/…/customJobs/…`"""
        return self.__dict__["name"]

    @property
    @pulumi.getter
    def state(self) -> pulumi.Output[str]:
        """`JOB_STATE_…` when it was last seen; `pulumi refresh` looks again."""
        return self.__dict__["state"]

    @property
    @pulumi.getter(name="createTime")
    def create_time(self) -> pulumi.Output[str]:
        """RFC 3339, as are the others; empty when there is none yet."""
        return self.__dict__["createTime"]

    @property
    @pulumi.getter(name="startTime")
    def start_time(self) -> pulumi.Output[str]:
        return self.__dict__["startTime"]

    @property
    @pulumi.getter(name="endTime")
    def end_time(self) -> pulumi.Output[str]:
        return self.__dict__["endTime"]

    @property
    @pulumi.getter
    def error(self) -> pulumi.Output[str]:
        """Why it failed; empty when it did not."""
        return self.__dict__["error"]

    @property
    @pulumi.getter(name="consoleUrl")
    def console_url(self) -> pulumi.Output[str]:
        return self.__dict__["consoleUrl"]

    @property
    @pulumi.getter(name="logUrl")
    def log_url(self) -> pulumi.Output[str]:
        return self.__dict__["logUrl"]

    @property
    @pulumi.getter(name="webAccessUris")
    def web_access_uris(self) -> pulumi.Output[Mapping[str, str]]:
        """Interactive shells of the running containers, where `enableWebAccess` asked for them."""
        return self.__dict__["webAccessUris"]


_OUTPUTS = (
    "name",
    "state",
    "createTime",
    "startTime",
    "endTime",
    "error",
    "consoleUrl",
    "logUrl",
    "webAccessUris",
)
