"""The engine's events as the progress of trials. The events are as Pulumi 3.274 prints them, shortened."""

from __future__ import annotations

from typing import Any

import pytest

from xmgen.pulumi_cli import events
from xmgen.pulumi_cli.events import Kept, Message, Progress, Removed, ResourceStep, Step
from xmgen.pulumi_cli.trials import Trial

ROWS = [("a", {"rate": "1"}), ("b", {"rate": "2"})]


def urn(name: str, kind: str = "xmgen:local:Run") -> str:
    return f"urn:pulumi:dev::experiments::{kind}::{name}"


def step(event: str, operation: str, name: str, kind: str = "xmgen:local:Run", **fields: Any) -> dict[str, Any]:
    metadata = {"op": operation, "urn": urn(name, kind), "type": kind, "old": None, "new": None, **fields}
    return {"sequence": 1, event: {"metadata": metadata}}


def new(**outputs: object) -> dict[str, object]:
    return {"outputs": outputs}


def diagnostic(severity: str, message: str, about: str = "", **fields: object) -> dict[str, Any]:
    return {"sequence": 1, "diagnosticEvent": {"severity": severity, "message": message, "urn": about, **fields}}


def passing(message: str, about: str) -> dict[str, Any]:
    return diagnostic("info", message, about, ephemeral=True)


def heard(*stream: dict[str, Any]) -> tuple[Progress, list[object]]:
    progress = events.progress(ROWS)
    changes = [progress.apply(event) for event in stream]
    return progress, [change for change in changes if change is not None]


def test_a_trial_waits_runs_and_finishes() -> None:
    progress, changes = heard(
        step("resourcePreEvent", "create", "a"),
        passing("waiting for 1 CPU\n", urn("a")),
        passing("running\n", urn("a")),
        step("resOutputsEvent", "create", "a", new=new(exitCode=0, durationSeconds=2.0, metrics={"loss": 0.5})),
    )
    finished = Trial(
        name="a", arguments={"rate": "1"}, status="finished", exit_code=0, duration=2.0, metrics={"loss": 0.5}
    )
    assert changes == [Trial(name="a", arguments={"rate": "1"}, status="running"), finished]
    assert progress.units == {"a": finished, "b": Trial(name="b", arguments={"rate": "2"}, status="waiting")}


def test_a_failed_trial_has_the_reasons_that_its_resource_has() -> None:
    state = {"outputs": {"exitCode": 1}, "initErrors": ["job train exited with 1"]}
    progress, changes = heard(
        step("resourcePreEvent", "update", "a"),
        diagnostic("error", "1 error occurred: job train exited with 1\n", urn("a")),
        step("resOpFailedEvent", "update", "a", new=state),
    )
    failed = Trial(
        name="a", arguments={"rate": "1"}, status="failed", exit_code=1, reasons=("job train exited with 1",)
    )
    assert changes[-1] == failed
    assert progress.units["a"] == failed


def test_a_failed_trial_without_state_has_the_reasons_that_were_said() -> None:
    _, changes = heard(
        diagnostic("error", "the code changed since the compile", urn("a")),
        step("resOpFailedEvent", "create", "a", new=None),
    )
    assert changes[-1] == Trial(
        name="a", arguments={"rate": "1"}, status="failed", reasons=("the code changed since the compile",)
    )


def test_a_trial_that_was_interrupted_did_not_fail_and_one_that_never_began_waits() -> None:
    progress, changes = heard(
        passing("running", urn("a")),
        diagnostic("error", "cancelled", urn("b")),
        step("resOpFailedEvent", "create", "b", new=None),
        diagnostic("error", "cancelled", urn("a")),
        step("resOpFailedEvent", "create", "a", new=None),
        diagnostic("error", "Resource monitor has terminated, shutting down\n"),
    )
    assert [change for change in changes if isinstance(change, Trial)] == [
        Trial(name="a", arguments={"rate": "1"}, status="running"),
        Trial(name="a", arguments={"rate": "1"}, status="stopped"),
    ]
    assert {name: unit.status for name, unit in progress.units.items()} == {"a": "stopped", "b": "waiting"}
    assert [change.unit for change in changes if isinstance(change, Message)] == ["b", "a"]


def test_what_was_finished_before_is_no_news_but_is_in_the_results() -> None:
    progress, changes = heard(
        step("resourcePreEvent", "same", "a"),
        step("resOutputsEvent", "same", "a", new=new(exitCode=0)),
    )
    assert changes == []
    assert progress.units["a"].status == "finished"


def test_a_replaced_trial_is_not_removed_a_dropped_one_is() -> None:
    progress, changes = heard(
        step("resourcePreEvent", "delete-replaced", "a"),
        step("resOutputsEvent", "delete-replaced", "a"),
        step("resourcePreEvent", "replace", "a"),
        step("resOutputsEvent", "replace", "a"),
        step("resourcePreEvent", "delete", "gone"),
        step("resOutputsEvent", "delete", "gone"),
    )
    assert changes == [Removed("gone")]
    assert progress.units["a"].status == "waiting"


def test_other_resources_are_heard_of_when_they_are_worked_on() -> None:
    kind = "xmgen:local:Executable"
    progress, changes = heard(
        step("resourcePreEvent", "create", "experiments-dev", "pulumi:pulumi:Stack"),
        step("resourcePreEvent", "same", "same", kind),
        step("resourcePreEvent", "replace", "fit", kind),
        step("resourcePreEvent", "create-replacement", "fit", kind),
        diagnostic("error", "the code changed", urn("fit", kind)),
        step("resOpFailedEvent", "create-replacement", "fit", kind),
    )
    assert changes == [
        ResourceStep("create", kind, "fit", "started"),
        Message("error", "fit: the code changed"),
        ResourceStep("create", kind, "fit", "failed"),
    ]
    assert progress.count("waiting") == 2


def test_messages_are_heard_and_debugging_is_not() -> None:
    progress, changes = heard(
        diagnostic("debug", "registering resource"),
        diagnostic("info", "epoch 1\n", urn("a")),
        diagnostic("info#err", "a traceback\n"),
        diagnostic("warning", "careful"),
        diagnostic("info", "\n"),
        passing("building", urn("fit", "xmgen:local:Executable")),
        diagnostic("error", "update failed\n"),
    )
    assert changes == [Message("info", "epoch 1", "a"), Message("info", "a traceback"), Message("warning", "careful")]
    assert progress.messages == [Message("warning", "careful")]


def test_of_a_program_that_fails_its_reason_is_heard() -> None:
    ended = diagnostic("error", "an unhandled error occurred: program exited with non-zero exit code: 1\n")
    said = diagnostic("error", "llm needs pulumi_gcp")
    assert heard(said, ended)[1] == [Message("error", "llm needs pulumi_gcp")]
    # When it said nothing, that it ended is all there is.
    [alone] = heard(ended)[1]
    assert alone == Message("error", "an unhandled error occurred: program exited with non-zero exit code: 1")
    host = '  File "/bin/pulumi-language-python-exec", line 1, in <module>\n    run()\n'
    text = f"Program failed with an unhandled exception:\nTraceback (most recent call last):\n{host}KeyError: 'x'\n"
    assert heard(diagnostic("error", text))[1] == [
        Message("error", "Program failed with an unhandled exception: KeyError: 'x'")
    ]


def test_what_is_deleted_is_counted_as_it_is_heard_of() -> None:
    progress, changes = heard(
        step("resOutputsEvent", "delete", "gone"),
        step("resOutputsEvent", "delete", "net", "gcp:compute/network:Network"),
        step("resOutputsEvent", "delete", "default", "pulumi:providers:gcp"),
        step("resOutputsEvent", "delete", "experiments-llm", "pulumi:pulumi:Stack"),
    )
    assert progress.deleted == len(changes) == 2


def test_a_preview_has_steps_and_runs_nothing() -> None:
    planned = step("resourcePreEvent", "replace", "a", keys=["jobs"], diffs=["jobs", "identity"])
    planned["resourcePreEvent"]["planning"] = True
    done = step("resOutputsEvent", "replace", "a")
    done["resOutputsEvent"]["planning"] = True
    again = step("resourcePreEvent", "update", "b", diffs=["jobs"], old={"initErrors": ["job train exited with 1"]})
    again["resourcePreEvent"]["planning"] = True
    progress, changes = heard(planned, done, again)
    assert changes == []
    assert progress.steps == [
        Step("replace", "xmgen:local:Run", "a", ("jobs",)),
        Step("update", "xmgen:local:Run", "b", ("jobs",), "failed before"),
    ]
    assert progress.units["a"].status == "waiting"


def test_what_the_provider_refuses_is_told_in_its_words() -> None:
    before = "xmgen:local:Run resource 'a'"
    argument = "property jobs[0].args[0] value {5}"
    _, changes = heard(
        diagnostic("error", f"{before}: {argument} has a problem: must be a text", urn("a")),
        diagnostic("error", f"{before} has a problem: needs jobs", urn("a")),
    )
    assert changes == [Message("error", "jobs[0].args[0]: must be a text", "a"), Message("error", "needs jobs", "a")]


def test_the_end_has_the_counts() -> None:
    progress, _ = heard(
        {"sequence": 9, "summaryEvent": {"resourceChanges": {"create": 2, "same": 1}, "result": "failed"}},
        {"sequence": 10, "cancelEvent": {}},
    )
    assert (progress.changes, progress.result) == ({"create": 2, "same": 1}, "failed")


def test_what_is_kept_is_not_deleted() -> None:
    bucket = "gcp:storage/bucket:Bucket"
    progress, changes = heard(
        step("resourcePreEvent", "delete", "output", bucket, old={"id": "ours-1", "retainOnDelete": True}),
        step("resOutputsEvent", "delete", "output", bucket, old={"id": "ours-1", "retainOnDelete": True}),
        step("resOutputsEvent", "delete", "other", bucket, old={"id": "ours-2"}),
    )
    assert (progress.kept, progress.deleted) == ([Kept(bucket, "output", "ours-1")], 1)
    assert changes == [ResourceStep("delete", bucket, "other", "done")]


@pytest.mark.parametrize("forgets", [False, True])
def test_who_forgets_what_was_on_a_cluster_is_not_warned_that_it_does_not_answer(forgets: bool) -> None:
    progress = Progress(units={}, forgets=forgets)
    text = "configured Kubernetes cluster is unreachable: unable to load schema information from the API server"
    warned, failed = (progress.apply(diagnostic(severity, text, urn("gone"))) for severity in ("warning", "error"))
    assert warned == (None if forgets else Message("warning", f"gone: {text}"))
    assert failed == Message("error", f"gone: {text}")
