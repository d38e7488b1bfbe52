"""The states of a CustomJob, and what they mean for whoever waits for it.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/JobState; LOST is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SUCCEEDED = "JOB_STATE_SUCCEEDED"
CANCELLING = "JOB_STATE_CANCELLING"

LOST = "LOST"
"""The job ran when it was last seen, and the API no longer knows it."""


@dataclass(frozen=True, slots=True)
class End:
    """status: of the work unit. runs_again: why the next `up` runs such a job again; empty where it does not."""

    status: Literal["finished", "failed", "stopped"]
    runs_again: str = ""


ENDS = {
    SUCCEEDED: End("finished"),
    "JOB_STATE_FAILED": End("failed", "failed before"),
    "JOB_STATE_PARTIALLY_SUCCEEDED": End("failed", "failed before"),
    "JOB_STATE_EXPIRED": End("failed", "expired before"),
    "JOB_STATE_CANCELLED": End("stopped", "was cancelled before"),
    LOST: End("failed", "vanished from Vertex AI"),
}
"""In any other state a job goes on."""

ENDED = frozenset(ENDS) - {LOST}
"""Those that the API itself has."""

FAILED = frozenset(state for state, end in ENDS.items() if end.runs_again)
"""A job that was last seen so is run again, like anything else that failed or was stopped."""


def word(state: object) -> str:
    """`JOB_STATE_RUNNING` -> `running`."""
    return str(state).removeprefix("JOB_STATE_").lower().replace("_", " ")
