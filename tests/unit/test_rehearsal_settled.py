"""When a rehearsal has seen enough of the pods of a stack."""

from __future__ import annotations

import pytest

from xmgen.rehearsal.misfit_watch import STUCK_SECONDS, settled
from xmgen.rehearsal.observer import Pod

QUIET = STUCK_SECONDS + 1


def pod(phase: str = "Pending", *, node: str = "", reasons: tuple[str, ...] = (), gone: bool = False) -> Pod:
    return Pod("sweep", "pod", "job", node=node, phase=phase, reasons=list(reasons), gone=gone)


ENDED = pod("Succeeded", node="gke-0")
RUNNING = pod("Running", node="gke-0")
HELPLESS = pod(reasons=("t4: it has all of its nodes: 2",))


@pytest.mark.parametrize(
    ("pods", "still", "unfinished", "expected"),
    [
        pytest.param([], QUIET, set[str](), True, id="there is none, as after an up that failed, however long ago"),
        pytest.param([], 0, set[str](), True, id="there is none, and something has just changed"),
        pytest.param([], QUIET, {"job"}, False, id="the controller has yet to make some"),
        pytest.param([ENDED], 0, set[str](), True, id="all have ended"),
        pytest.param([ENDED], QUIET, {"job"}, False, id="one that failed is to be tried again"),
        pytest.param([pod(gone=True)], QUIET, set[str](), True, id="it is gone"),
        pytest.param([ENDED, RUNNING], 0, {"job"}, False, id="one runs"),
        pytest.param([ENDED, RUNNING], QUIET, {"job"}, True, id="one runs for long: it has a node"),
        pytest.param([ENDED, RUNNING], QUIET, {"job", "other"}, False, id="one hangs, another is to be tried again"),
        pytest.param([HELPLESS, RUNNING], 0, {"job"}, False, id="one waits, and may yet get a node"),
        pytest.param([HELPLESS, ENDED], QUIET, {"job"}, True, id="one waits for ever"),
        pytest.param([HELPLESS], QUIET, {"job", "other"}, False, id="one waits for ever, another is to be tried again"),
        pytest.param([HELPLESS, pod()], QUIET, {"job"}, False, id="nobody has looked at one yet"),
    ],
)
def test_pods_have_settled_when_nothing_can_happen_any_more(
    pods: list[Pod], still: float, unfinished: set[str], expected: bool
) -> None:
    assert settled(pods, still, lambda: unfinished) is expected
