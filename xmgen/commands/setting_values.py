"""What a setting's value may be: by what the stack's program, Pulumi.yaml and pulumi's providers make of it. Pure.

A wrong value that is once kept makes every later operation fail, some of them half-way.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

from xmgen import rules
from xmgen.stack.configuration import Kind

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

PROVIDERS: Mapping[str, Mapping[str, Kind]] = {"gcp": GCP, "kubernetes": KUBERNETES, "docker-build": DOCKER_BUILD}
ENDPOINT = "CustomEndpoint"

Rule = tuple[Callable[[str], object], str]
"""Whether a value will do, and what one that does not must be."""


def _matching(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).fullmatch


def _is_region(value: str) -> bool:
    found = rules.LOCATION.fullmatch(value)
    return not value or (found is not None and found["zone"] is None)


def _is_zone(value: str) -> bool:
    found = rules.LOCATION.fullmatch(value)
    return not value or (found is not None and found["zone"] is not None)


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def _are_networks(value: str) -> bool:
    """As the program splits them."""
    try:
        for each in filter(None, map(str.strip, value.split(","))):
            ipaddress.ip_network(each)
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

_RULES: Mapping[str, Rule] = {
    "authorizedNetworks": (_are_networks, "networks separated by commas, such as 203.0.113.0/24"),
    "bucket": (
        _matching(r"([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])?"),
        "the name of a bucket without gs://, or empty for one of the stack's own",
    ),
    "gcp:impersonateServiceAccount": (_matching(r"([^@\s]+@[^@\s]+)?"), "the address of a service account"),
    "gcp:project": (_matching(r"[a-z0-9][a-z0-9.:-]*"), "the id of a project, such as my-project"),
    "gcp:region": (_is_region, "a region, such as us-central1"),
    "gcp:zone": (_is_zone, "a zone, such as us-central1-a"),
    "location": (rules.LOCATION.fullmatch, "a zone or region, such as us-central1-a"),
    "network": (_RESOURCE, "the name of a network, or projects/<project>/global/networks/<network>"),
    "owner": (
        _matching(r"[a-z0-9_-]{0,63}"),
        "a label's value: at most 63 lower-case letters, digits, - and _",
    ),
    "podsRange": _RANGE,
    "servicesRange": _RANGE,
    "subnetwork": (
        _RESOURCE,
        "the name of a subnetwork, or projects/<project>/regions/<region>/subnetworks/<subnetwork>",
    ),
    "systemMachineType": (_matching(r"[a-z0-9-]*"), "a machine type, such as e2-standard-4"),
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
