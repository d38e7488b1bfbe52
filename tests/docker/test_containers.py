"""Work units in containers, through the real engine and a real Docker daemon."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
from docker.client import DockerClient

from tests.docker.images import BASE, DOCKERFILE, OURS, Image
from tests.engine.harness import TRIAL, Project, unit, until

pytestmark = [pytest.mark.engine, pytest.mark.docker]

WAIT = "mark begun; echo running; while ! test -e $PROJECT/go; do sleep 0.05; done; mark ended"


def nothing_left(daemon: DockerClient) -> bool:
    containers = daemon.containers.list(all=True, filters=OURS, ignore_removed=True)
    return not containers and not daemon.networks.list(filters=OURS)


def built(daemon: DockerClient) -> list[str]:
    return sorted(tag for image in daemon.images.list() for tag in image.tags if tag.startswith("xmgen/image:"))


def test_an_image_is_built_run_once_and_removed_by_destroy(project: Project, image: Image, daemon: DockerClient):
    image.declare(
        image.unit("one", "mark one; echo hello; echo '{\"loss\": 1}' > $XMGEN_OUTPUT_DIR/metrics.json"),
        image.unit("two", "mark two", after=["one"]),
    )

    preview = project.preview()
    assert preview.ok, preview.output
    assert built(daemon) == []

    outcome = project.up()
    assert outcome.ok, outcome.output
    assert "COPY trial /trial" in outcome.output
    assert "hello" in outcome.output
    state = project.state()
    outputs = {key: state["one"]["outputs"][key] for key in ("exitCodes", "metrics", "runner")}
    assert outputs == {"exitCodes": {"a": 0}, "metrics": {"loss": 1}, "runner": "container"}
    assert (project.run_folder("one") / "a.log").read_text() == "hello\n"
    assert built(daemon) == [state["image"]["outputs"]["packaged"]["image"]]
    assert daemon.images.get(state["image"]["outputs"]["imageId"]).labels["xmgen.executable"] == "image"
    assert nothing_left(daemon)

    assert project.up().ok
    assert project.pulumi("preview", "--expect-no-changes", "--stack", "dev").ok
    assert project.marks() == ["one", "two"]

    assert project.destroy().ok
    assert built(daemon) == []
    assert (project.run_folder("one") / "output" / "metrics.json").exists()


def test_changed_code_and_a_changed_dockerfile_build_another_image_and_run_again(
    project: Project, image: Image, daemon: DockerClient
):
    image.declare(image.unit("one", "mark one"))
    assert project.up().ok
    first = built(daemon)

    image.write(trial=TRIAL + "\nmark code\n").declare(image.unit("one", "mark one"))
    assert project.up().ok
    second = built(daemon)

    image.write(dockerfile=DOCKERFILE + "ENV ADDED=yes\n", trial=TRIAL + "\nmark code\n")
    image.declare(image.unit("one", "mark one"))
    assert project.up().ok
    third = built(daemon)

    assert project.marks() == ["one", "one", "code", "one", "code"]
    assert len({*first, *second, *third}) == 3
    assert [len(first), len(second), len(third)] == [1, 1, 1]


def test_a_missing_image_is_built_again_only_when_something_has_to_run(
    project: Project, image: Image, daemon: DockerClient
):
    image.declare(image.unit("one", "mark one"))
    assert project.up().ok
    daemon.images.remove(built(daemon)[0])

    assert project.up().ok
    assert built(daemon) == []

    image.declare(image.unit("one", "mark one"), image.unit("two", "mark two"))
    outcome = project.up()
    assert outcome.ok, outcome.output
    assert project.marks() == ["one", "two"]


def test_a_failing_build_shows_the_step_and_fails_the_executable(project: Project, image: Image):
    image.write(dockerfile=f"FROM {BASE}\nRUN echo some output && exit 5\n").declare(image.unit("one", "mark one"))

    outcome = project.up()

    assert not outcome.ok
    assert "image of image cannot be built" in outcome.output
    assert "returned a non-zero code: 5" in outcome.output
    assert "some output" in outcome.output
    assert "Traceback" not in outcome.output
    assert project.state() == {}


def test_what_dockerignore_leaves_out_is_not_sent(project: Project, image: Image):
    (project.root / "code" / ".dockerignore").write_text("secret*\n")
    (project.root / "code" / "secret.txt").write_text("secret")
    (project.root / "code" / "__pycache__").mkdir()
    (project.root / "code" / "__pycache__" / "trial.pyc").write_text("")
    image.write(dockerfile=DOCKERFILE + "COPY . /code\n")
    image.declare(image.unit("one", "ls -A /code"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert (project.run_folder("one") / "a.log").read_text().split() == ["trial"]


def test_code_may_lie_below_the_context(project: Project, image: Image):
    image.write(dockerfile=f'FROM {BASE}\nCOPY src/trial /trial\nENTRYPOINT ["/trial"]\n')
    image.declare(image.unit("one", "mark one"), context_path="src")

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert project.marks() == ["one"]


def test_a_prebuilt_image_runs_its_arguments_and_is_never_removed(project: Project, daemon: DockerClient):
    text = "a  b\n\"'$HOME `x` \\ ü 🎉"
    job = {"name": "a", "executable": "base", "args": ["printf", "%s|", text, "", {"shell": "$GREETING"}]}
    project.declare(unit("one", jobs=[{**job, "env": {"GREETING": "good day"}}]), base={"image": BASE})

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert (project.run_folder("one") / "a.log").read_text() == f"{text}||good|day|"
    assert project.destroy().ok
    assert daemon.images.get(BASE)


def test_shell_arguments_follow_the_entry_point(project: Project, image: Image):
    image.write(trial='#!/bin/sh\nprintf "%s|" "$@"\n')
    args = ["a b", {"shell": "$GREETING"}, "c"]
    image.declare(image.unit("one", jobs=[{"name": "a", "args": args, "env": {"GREETING": "good day"}}]))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert (project.run_folder("one") / "a.log").read_text() == "a b|good|day|c|"


def test_the_images_own_user_may_write_outputs(project: Project, image: Image):
    image.write(dockerfile=DOCKERFILE + "USER 12345\n")
    image.declare(image.unit("one", "id -u > $XMGEN_OUTPUT_DIR/user"))

    outcome = project.up()

    assert outcome.ok, outcome.output
    assert (project.run_folder("one") / "output" / "user").read_text() == "12345\n"


SERVER = (
    "exec perl -MIO::Socket -e '"
    "$s = IO::Socket::INET->new(LocalPort => 80, Listen => 5, ReuseAddr => 1) or die; "
    'while ($c = $s->accept) { print $c "hello\\n"; close $c }'
    "'"
)


def test_jobs_of_a_group_find_each_other_by_host_name_and_by_job_name(
    project: Project, image: Image, daemon: DockerClient
):
    ask = "until exec 3<>/dev/tcp/{host}/80; do sleep 0.1; done 2> /dev/null; cat <&3"
    script = f"bash -c '{ask.format(host='123_1_db')}'; bash -c '{ask.format(host='db')}'; hostname"
    image.declare(
        image.unit(
            "group",
            jobs=[
                {"name": "db", "hostname": "123_1_db", "args": [SERVER], "service": True},
                {"name": "client", "hostname": "123_1_client", "args": [script]},
            ],
        )
    )

    outcome = project.up()

    assert outcome.ok, outcome.output
    log = (project.run_folder("group") / "client.log").read_text()
    assert log.splitlines() == ["hello", "hello", "123_1_client"]
    assert project.state()["group"]["outputs"]["exitCodes"] == {"client": 0}
    assert nothing_left(daemon)


def test_ports_volumes_and_a_terminal(project: Project, image: Image, tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("from the host")
    server = {"name": "db", "args": [SERVER], "service": True, "docker": {"ports": {"80": port}}}
    docker = {"volumes": {str(tmp_path / "data"): "/data"}, "interactive": True}
    client = {"name": "client", "args": [f"test -t 0 && test -t 1 && cat /data/x; {WAIT}"], "docker": docker}
    image.declare(image.unit("group", jobs=[server, client]))
    process = project.start_up()
    until(lambda: project.marks() == ["begun"], "the client runs")

    def answer() -> bytes:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                return connection.recv(10)
        except OSError:
            return b""

    until(lambda: answer() == b"hello\n", "the published port answers")
    (project.root / "go").touch()

    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "from the host" in (project.run_folder("group") / "client.log").read_text()


def test_credentials_and_buckets_are_mounted_where_they_exist(project: Project, image: Image, tmp_path: Path):
    script = "cat /root/.config/gcloud/adc; touch /root/.config/gcloud/new 2> /dev/null || echo read-only; cat /gcs/x"
    image.declare(image.unit("without", "ls /root/.config /gcs"), image.unit("with", script))
    assert not project.up(HOME=str(tmp_path)).ok

    (tmp_path / ".config" / "gcloud").mkdir(parents=True)
    (tmp_path / ".config" / "gcloud" / "adc").write_text("credentials\n")
    (tmp_path / "gcs").mkdir()
    (tmp_path / "gcs" / "x").write_text("bucket\n")
    image.declare(image.unit("with", script))
    outcome = project.up(HOME=str(tmp_path))

    assert outcome.ok, outcome.output
    lines = (project.run_folder("with") / "a.log").read_text().splitlines()
    assert lines == ["credentials", "read-only", "bucket"]


def test_exit_codes_are_honoured(project: Project, image: Image, daemon: DockerClient):
    image.declare(image.unit("pair", "sleep 300", "echo last words; exit 3"))

    outcome = project.up()

    assert not outcome.ok
    assert project.state()["pair"]["outputs"]["exitCodes"] == {"b": 3}
    (reason,) = project.state()["pair"]["initErrors"]
    assert "last words" in reason
    assert nothing_left(daemon)


def test_a_program_that_the_image_does_not_have_fails_its_trial(project: Project):
    project.declare(unit("one", jobs=[{"name": "a", "executable": "x", "args": ["/no/such"]}]), x={"image": BASE})

    outcome = project.up()

    assert not outcome.ok
    assert "job a cannot be started" in outcome.output
    assert "/no/such" in outcome.output
    assert project.state()["one"]["outputs"]["exitCode"] == 127


@pytest.mark.parametrize("who", ["engine", "provider", "both"])
@pytest.mark.parametrize(("point", "begun"), [("before_start", 1), ("running", 2), ("after_end", 1)])
def test_kill_and_up_again(project: Project, image: Image, daemon: DockerClient, point: str, begun: int, who: str):
    image.declare(image.unit("one", WAIT))
    if point != "running":
        (project.root / "go").touch()

    assert not project.up(XMGEN_FAULT=f"{point}:{who}").ok
    until(lambda: not project.processes(), "no process keeps running")
    assert nothing_left(daemon)
    (project.root / "go").touch()
    outcome = project.recover()

    assert outcome.ok, outcome.output
    assert (project.marks().count("begun"), project.marks().count("ended")) == (begun, 1)
    assert nothing_left(daemon)


def test_ctrl_c_stops_and_removes_containers(project: Project, image: Image, daemon: DockerClient):
    image.declare(image.unit("one", WAIT))
    process = project.start_up()
    until(lambda: project.marks() == ["begun"], "the trial runs")

    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)

    until(lambda: not project.processes(), "no process keeps running")
    assert nothing_left(daemon)
    assert "one" not in project.state()


def test_a_finished_trial_stays_finished_with_another_runner_or_no_daemon(project: Project, image: Image):
    image.declare(image.unit("one", "mark one"), command=["./trial"], working_directory="code")
    assert project.up().ok

    project.configure("runner", "auto")
    without_daemon = project.up(DOCKER_HOST="unix:///no/such/socket")
    assert without_daemon.ok, without_daemon.output
    project.configure("runner", "process")
    assert project.up().ok
    assert project.marks() == ["one"]


@pytest.mark.parametrize(
    ("runner", "command", "host", "expected"),
    [
        ("auto", ["./trial"], None, "container"),
        ("auto", ["./trial"], "unix:///no/such/socket", "process"),
        ("container", ["./trial"], None, "container"),
        ("process", ["./trial"], None, "process"),
        ("auto", None, None, "container"),
        ("auto", None, "unix:///no/such/socket", "image runs in a container, and no Docker daemon answers"),
        ("container", ["./trial"], "unix:///no/such/socket", "image runs in a container, and no Docker daemon answers"),
        ("process", None, None, "image has no command: it only runs in a container"),
    ],
)
def test_the_runner_is_chosen(
    project: Project, image: Image, runner: str, command: list[str] | None, host: str | None, expected: str
):
    """command: what the executable has. host: another daemon. expected: the runner, or what the user is told."""
    project.configure("runner", runner)
    inputs = {"command": command, "working_directory": "code"} if command else {}
    image.declare(image.unit("one", "true"), **inputs)

    outcome = project.up(**({"DOCKER_HOST": host} if host else {}))

    if " " in expected:
        assert not outcome.ok
        assert expected in outcome.output
    else:
        assert outcome.ok, outcome.output
        assert project.state()["one"]["outputs"]["runner"] == expected
        told = "no Docker daemon answers: it runs as a process" in outcome.output
        assert told == (runner == "auto" and host is not None)


def test_ctrl_c_ends_a_build_too(project: Project, image: Image, daemon: DockerClient):
    image.write(dockerfile=f"FROM {BASE}\nRUN sleep 301\n").declare(image.unit("one", "mark one"))
    process = project.start_up()

    def builds() -> list[object]:
        return [
            each for each in daemon.containers.list(ignore_removed=True) if "sleep 301" in str(each.attrs["Config"])
        ]

    until(builds, "the build runs")

    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)

    until(lambda: not project.processes(), "no process keeps running")
    until(lambda: not builds(), "the build has ended")
    assert project.state() == {}
