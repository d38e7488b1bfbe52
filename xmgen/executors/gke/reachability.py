"""Whether an operation can do something on the cluster that a stack's resources are on.

Pulumi can remove nothing from a cluster that does not answer. Of one that is gone there is nothing to remove: so it is
told, and forgets. It must not be told of one that is merely out of reach, where all of it would stay.
"""

from __future__ import annotations

import os
from dataclasses import replace

from xmgen.errors import OperationError, Problem
from xmgen.executors.base import GONE
from xmgen.executors.gke import connection as kubernetes
from xmgen.executors.gke.connection import Unreachable
from xmgen.pulumi_cli.session import Session
from xmgen.pulumi_cli.state import resources
from xmgen.resource_types import CLUSTER

FORGET = "PULUMI_K8S_DELETE_UNREACHABLE"
"""In the environment of Pulumi's Kubernetes provider: what is on a cluster that does not answer counts as gone."""


def is_gone(work: Session, export: str) -> bool:
    """Whether the cluster that the stack itself made is there no more. Raises OperationError when nobody can tell."""
    own = [each.urn for each in resources(export) if each.type == CLUSTER]
    return bool(own) and all(work.is_gone(urn) for urn in own)


def forgetting(work: Session) -> Session:
    """The same, for operations that forget what was on the cluster. No `up` is one: its program would have the
    provider forget ever after.
    """
    return replace(work, pulumi=replace(work.pulumi, overrides={**work.pulumi.overrides, FORGET: "true"}))


def checked(work: Session, export: str, command: str) -> tuple[Session, list[str]]:
    """For an operation that removes or reads what is on the cluster. Returns with what was found out, in sentences.

    Raises OperationError where the cluster does not let in whoever runs it, or is out of reach.
    """
    on_it = any(each.type.startswith("kubernetes:") for each in resources(export))
    if not on_it or os.environ.get(FORGET):
        return work, []
    cluster = kubernetes.connect(work, export)
    try:
        if cluster is not None:
            cluster.greet()
    except Unreachable as error:
        if is_gone(work, export):
            return forgetting(work), [GONE]
        [problem] = error.problems
        forget = f"`{FORGET}=true xmgen {command} {work.stack}` forgets what was on one that is gone"
        raise OperationError(Problem(problem.message, hint=f"{problem.hint}; {forget}")) from None
    return work, []
