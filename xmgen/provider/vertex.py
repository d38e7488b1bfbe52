"""The resource classes of programs for Vertex AI. docs/vertex.md describes them in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from xmgen import resource_types
from xmgen.provider import CUSTOM_JOB_OUTPUTS
from xmgen.provider.declared import given, output

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
        super().__init__("xmgen", name, given(inputs), opts)


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
        # The old one has the machines that the new one needs.
        required = pulumi.ResourceOptions(delete_before_replace=True, depends_on=list(after))
        options = pulumi.ResourceOptions.merge(opts, required)
        super().__init__(resource_types.CUSTOM_JOB, name, given(inputs, CUSTOM_JOB_OUTPUTS), options)

    name: pulumi.Output[str] = output("name")
    """`projects/…/locations/…/customJobs/…`"""
    state: pulumi.Output[str] = output("state")
    """`JOB_STATE_…` when it was last seen; `pulumi refresh` looks again."""
    create_time: pulumi.Output[str] = output("createTime")
    """RFC 3339, as are the others; empty when there is none yet."""
    start_time: pulumi.Output[str] = output("startTime")
    end_time: pulumi.Output[str] = output("endTime")
    error: pulumi.Output[str] = output("error")
    """Why it failed; empty when it did not."""
    console_url: pulumi.Output[str] = output("consoleUrl")
    log_url: pulumi.Output[str] = output("logUrl")
    web_access_uris: pulumi.Output[Mapping[str, str]] = output("webAccessUris")
    """Interactive shells of the running containers, where `enableWebAccess` asked for them."""
