"""One stack, ready to be worked on: the CLI, the backend, and what a killed operation left behind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xmgen.engine import backend as backends
from xmgen.engine import pulumi as cli
from xmgen.engine import trials
from xmgen.engine.backend import Backend
from xmgen.engine.pulumi import Pulumi
from xmgen.errors import OperationError
from xmgen.project import Project


@dataclass(frozen=True, slots=True)
class Session:
    project: Project
    stack: str
    pulumi: Pulumi
    backend: Backend

    def create_stack(self) -> None:
        """Create the stack in the backend unless it is there."""
        self.pulumi.run("stack", "select", "--create", "--stack", self.stack)

    def exists(self) -> bool:
        """Whether the backend knows the stack."""
        try:
            self.pulumi.run("stack", "select", "--stack", self.stack)
        except OperationError as error:
            if "no stack named" in str(error):
                return False
            raise
        return True

    def export(self) -> str:
        """The stack's state as JSON, its secrets encrypted."""
        return self.pulumi.run("stack", "export", "--stack", self.stack)

    def recover(self) -> list[str]:
        """Make a stack usable again whose last operation was killed. Returns what was done, in sentences.

        Raises OperationError while another process works on the stack.
        """
        done: list[str] = []
        if backends.clear_dead_locks(self.backend, self.project, self.stack):
            done.append("Removed the lock of an operation that was killed.")
        export = self.export()
        pending = trials.pending_operations(export)
        if not pending:
            return done
        creates = [operation for operation in pending if operation.get("type") == "creating"]
        foreign = [str(operation["resource"]["urn"]) for operation in creates if not _is_ours(operation)]
        if foreign:
            # To forget them could leave something behind that costs money; only its owner can tell.
            done += [
                f"{urn} may or may not have been created when an operation was killed: "
                "look, then run `pulumi refresh` to import or forget it."
                for urn in foreign
            ]
            return done
        # The provider's own journal says how far each of them came, so that creating it again is safe. An import
        # clears all pending operations: of an update or a deletion the resource itself is still in the state.
        self.pulumi.run("stack", "import", "--stack", self.stack, stdin=export)
        noun = "operation" if len(pending) == 1 else "operations"
        done.append(f"Took up {len(pending)} {noun} that a kill had interrupted.")
        return done


def begin(project: Project, stack: str) -> Session:
    """Find the CLI and the backend for a stack. Raises OperationError or InputError when they cannot be used."""
    pulumi = cli.find(project)
    environment = pulumi.environment()
    backend = backends.choose(project, environment)
    overrides = backends.overrides(project, stack, backend, environment)
    backends.repair(backend, project, stack)
    pulumi = replace(pulumi, overrides={**overrides, **pulumi.overrides})
    return Session(project=project, stack=stack, pulumi=pulumi, backend=backend)


def _is_ours(operation: trials.Resource) -> bool:
    return str(operation["resource"]["type"]).startswith("xmgen:")
