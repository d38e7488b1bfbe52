"""What can be set of a stack: the settings of every project, of Pulumi's providers, and what their values may be. Pure.

A wrong value that is once kept makes every later operation fail, some of them half-way.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast
from urllib.parse import urlsplit

from xmgen import locations

Kind = Literal["text", "boolean", "integer", "number", "JSON"]
"""What a program or provider makes of the text that is kept."""

GCP: Mapping[str, Kind] = {
    "accessToken": "text",
    "addPulumiAttributionLabel": "boolean",
    "batching": "JSON",
    "billingProject": "text",
    "credentials": "text",
    "defaultLabels": "JSON",
    "deletionPolicy": "text",
    "disableGlobalProjectWarning": "boolean",
    "disableGooglePartnerName": "boolean",
    "externalCredentials": "JSON",
    "googlePartnerName": "text",
    "impersonateServiceAccount": "text",
    "impersonateServiceAccountDelegates": "JSON",
    "pollInterval": "text",
    "preferGlobalEndpoints": "boolean",
    "preferRegionalEndpoints": "boolean",
    "project": "text",
    "pulumiAttributionLabelAdditionStrategy": "text",
    "region": "text",
    "requestReason": "text",
    "requestTimeout": "text",
    "scopes": "JSON",
    "skipRegionValidation": "boolean",
    "universeDomain": "text",
    "userProjectOverride": "boolean",
    "zone": "text",
}
"""What pulumi-gcp reads, beside the address of each of Google's services (`computeCustomEndpoint`)."""

KUBERNETES: Mapping[str, Kind] = {
    "cluster": "text",
    "clusterIdentifier": "text",
    "context": "text",
    "deleteUnreachable": "boolean",
    "enableConfigMapMutable": "boolean",
    "enableSecretMutable": "boolean",
    "enableServerSideApply": "boolean",
    "helmReleaseSettings": "JSON",
    "kubeClientSettings": "JSON",
    "kubeconfig": "text",
    "namespace": "text",
    "renderYamlToDirectory": "text",
    "skipUpdateUnreachable": "boolean",
    "suppressDeprecationWarnings": "boolean",
    "suppressHelmHookWarnings": "boolean",
}
"""What pulumi-kubernetes reads."""

DOCKER_BUILD: Mapping[str, Kind] = {"host": "text", "registries": "JSON"}
"""What pulumi-docker-build reads."""

PROVIDERS: Mapping[str, Mapping[str, Kind]] = {"docker-build": DOCKER_BUILD, "gcp": GCP, "kubernetes": KUBERNETES}
"""The providers of what stacks declare beside our own, and their settings."""

PLUGINS = frozenset({*PROVIDERS, "xmgen"})
"""Pulumi gives the settings of a namespace of such a name to the provider, secrets included."""

NAMESPACES = PLUGINS | {"pulumi"}
"""Of the configuration, that somebody else than the stack's program reads, and in plain text."""

ENDPOINT = "CustomEndpoint"

Rule = tuple[Callable[[str], object], str]
"""Whether a value will do, and what one that does not must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSetting:
    """One that the Pulumi.yaml of every project declares, and programs of stacks on Google Cloud read. rule: beside
    what its type demands.
    """

    name: str
    description: str
    default: str | bool = ""
    rule: Rule | None = None

    @property
    def type(self) -> str:
        """As Pulumi.yaml names it."""
        return "boolean" if isinstance(self.default, bool) else "string"


def _matching(pattern: str) -> Callable[[str], object]:
    return partial(re.fullmatch, pattern)


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def _are_networks(value: str) -> bool:
    """As the program splits them."""
    try:
        for network in filter(None, map(str.strip, value.split(","))):
            ipaddress.ip_network(network)
    except ValueError:
        return False
    return True


def _is_address(value: str) -> bool:
    try:
        address = urlsplit(value)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname) and value.isprintable()


_RESOURCE = _matching(r"[A-Za-z0-9._:/-]*")
_RANGE: Rule = (_matching(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"), "the name of a secondary range, such as pods")

SETTINGS = (
    ProjectSetting(
        name="location",
        default="us-central1-a",
        description="Zone of the cluster, or region for one that survives the loss of a zone; "
        "what jobs ask for comes first",
        rule=(locations.is_location, "a zone or region, such as us-central1-a"),
    ),
    ProjectSetting(
        name="owner",
        description="Value of the label `owner` on everything that bills",
        rule=(
            _matching(r"[a-z0-9_-]{0,63}"),
            "a label's value: at most 63 lower-case letters, digits, - and _",
        ),
    ),
    ProjectSetting(
        name="network",
        description="Network of an existing subnetwork; empty for a network of the stack's own",
        rule=(_RESOURCE, "the name of a network, or projects/<project>/global/networks/<network>"),
    ),
    ProjectSetting(
        name="subnetwork",
        description="Existing subnetwork, also of a Shared VPC (projects/…/regions/…/subnetworks/…)",
        rule=(
            _RESOURCE,
            "the name of a subnetwork, or projects/<project>/regions/<region>/subnetworks/<subnetwork>",
        ),
    ),
    ProjectSetting(
        name="podsRange",
        default="pods",
        description="Secondary range of an existing subnetwork for pods",
        rule=_RANGE,
    ),
    ProjectSetting(
        name="servicesRange",
        default="services",
        description="Secondary range of an existing subnetwork for services",
        rule=_RANGE,
    ),
    ProjectSetting(
        name="authorizedNetworks",
        description="Networks that reach the cluster's control plane (CIDRs, separated by commas); empty for all",
        rule=(_are_networks, "networks separated by commas, such as 203.0.113.0/24"),
    ),
    ProjectSetting(
        name="systemMachineType",
        description="Machine type of the cluster's system pool, where the usual one does not exist",
        rule=(_matching(r"[a-z0-9-]*"), "a machine type, such as e2-standard-4"),
    ),
    ProjectSetting(name="deleteOutputs", default=False, description="Whether `destroy` removes what the jobs wrote"),
    ProjectSetting(
        name="createGcrRepository",
        default=False,
        description="Whether a gcr.io repository that images are pushed to is created, to stay for good, "
        "instead of looked up",
    ),
)
"""Those of every project, in the order of its Pulumi.yaml."""

NAMES = frozenset(setting.name for setting in SETTINGS)

_RULES: Mapping[str, Rule] = {
    "bucket": (
        _matching(r"([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])?"),
        "the name of a bucket without gs://, or empty for one of the stack's own",
    ),
    "gcp:impersonateServiceAccount": (_matching(r"([^@\s]+@[^@\s]+)?"), "the address of a service account"),
    "gcp:project": (_matching(r"[a-z0-9][a-z0-9.:-]*"), "the id of a project, such as my-project"),
    "gcp:region": (_matching(rf"({locations.REGION})?"), "a region, such as us-central1"),
    "gcp:zone": (_matching(rf"({locations.ZONE})?"), "a zone, such as us-central1-a"),
    **{setting.name: setting.rule for setting in SETTINGS if setting.rule},
}
"""What Google Cloud would refuse half-way through an operation."""

_KINDS: Mapping[Kind, Rule] = {
    "boolean": (_matching(r"true|false"), "true or false"),
    "integer": (_matching(r"[+-]?[0-9]+"), "a whole number"),
    "number": (_matching(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"), "a number"),
    "JSON": (_is_json, 'JSON, such as {"key": "value"}'),
}
"""Of what reads it."""

_DECLARED: Mapping[str, Rule] = {
    "boolean": _KINDS["boolean"],
    "integer": _KINDS["integer"],
    # Neither is a text, which is all that a command line can say.
    "array": (_matching(r"(?!)"), "a list: `pulumi config set --path` makes one"),
    "object": (_matching(r"(?!)"), "an object: `pulumi config set --path` makes one"),
}
"""Of the `type` of a key in Pulumi.yaml."""


def expected(name: str, value: str, kind: Kind, declared: object) -> str:
    """What a value must be that it is not; empty where it will do.

    kind: as the stack's program reads it. declared: what Pulumi.yaml says of the key.
    """
    namespace, _, key = name.rpartition(":")
    of_provider = PROVIDERS.get(namespace, {}).get(key, "text")
    said = cast("dict[str, object]", declared).get("type") if isinstance(declared, dict) else None
    endpoint = (_is_address, "an address, such as https://host") if key.endswith(ENDPOINT) else None
    rules = (_RULES.get(name), _KINDS.get(kind), _KINDS.get(of_provider), _DECLARED.get(str(said)), endpoint)
    for allows, what in filter(None, rules):
        if not allows(value):
            return what
    return "text that can be printed" if namespace in PROVIDERS and not value.isprintable() else ""
