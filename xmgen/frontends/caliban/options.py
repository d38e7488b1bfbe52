"""Caliban's command line: what each command takes, and what of it means something here."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from xmgen.errors import InputError, Problem
from xmgen.frontends.caliban import flags, jobs, labels, machines
from xmgen.frontends.caliban.machines import Spec

Command = Literal["run", "cloud", "submit", "create", "delete"]

_EXTRAS = re.compile(r"[A-Za-z0-9][-A-Za-z0-9._, ]*")
_ELSEWHERE = {
    "build": "`xmgen caliban run` compiles the image's Dockerfile; `xmgen up` builds it",
    "shell": "it starts no experiment: use Caliban itself, or `docker run -it`",
    "notebook": "it starts no experiment: use Caliban itself, or Jupyter",
    "status": "`xmgen status STACK`",
    "stop": "`xmgen destroy STACK`",
    "resubmit": "`xmgen up STACK` runs what failed again",
    "ls": "`gcloud container clusters list`",
    "pod": "`kubectl get pods --namespace STACK`",
    "node_pool": "`gcloud container node-pools list`",
    "job ls": "`xmgen status STACK`, or `kubectl get jobs --namespace STACK`",
    "job submit_file": "`kubectl create --filename FILE`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A Caliban command. Options that a command does not take have their default."""

    command: Command
    module: str = ""
    script_args: tuple[str, ...] = ()
    use_gpu: bool = True
    cloud_key: str | None = None
    extras: tuple[str, ...] = ()
    no_cache: bool = False
    directories: tuple[str, ...] = ()
    experiment_config: str | None = None
    dry_run: bool = False
    xgroup: str | None = None
    image: str | None = None
    docker_run_args: tuple[str, ...] = ()
    project_id: str | None = None
    region: str | None = None
    machine_type: str | None = None
    gpu_spec: Spec | None = None
    tpu_spec: Spec | None = None
    force: bool = False
    name: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    cluster_name: str | None = None
    min_cpu: int | None = None
    min_mem: int | None = None
    tpu_driver: str | None = None
    preemptible: bool = True
    preemptible_tpu: bool = True
    export: str | None = None
    zone: str | None = None
    release_channel: str = "REGULAR"
    single_zone: bool = False


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        # A stack's flags should mean the same when a later version has more options.
        super().__init__(**settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        hint = f"`xmgen {self.prog} --help` lists the options; the program's own arguments follow `--`"
        raise InputError(Problem(message, self.prog, hint))


def parse(arguments: Sequence[str]) -> Options:
    """The command line after `caliban`. Raises InputError with what is wrong with it."""
    before, _, _ = _split(arguments)
    _refuse_elsewhere(before)
    values = vars(_parser().parse_args(before))
    values = {key: value for key, value in values.items() if value is not None and not key.endswith("_command")}
    for key in ("extras", "directories"):
        values[key] = tuple(values.get(key, ()))
    hint = "names of extras in setup.py, such as dev"
    problems = [
        # They become a line of the Dockerfile.
        Problem(f"{extra!r} is no extra", "--extras", hint)
        for extra in values["extras"]
        if not _EXTRAS.fullmatch(extra)
    ]

    def checked(function: Any, *texts: str) -> Any:
        try:
            return function(*texts)
        except InputError as error:
            problems.extend(error.problems)
            return None

    for key, parser in (("gpu_spec", machines.parse_gpu_spec), ("tpu_spec", machines.parse_tpu_spec)):
        if key in values:
            values[key] = checked(parser, values[key])
    for key, check in (
        ("region", machines.parse_region),
        ("machine_type", machines.parse_machine_type),
        ("export", jobs.check_job_filename),
    ):
        if key in values:
            checked(check, values[key])
    values["labels"] = tuple(checked(labels.parse_label, text) or ("", "") for text in values.get("labels", ()))
    values["docker_run_args"] = checked(_words, values.get("docker_run_args", "")) or ()
    if problems:
        raise InputError(*problems)
    options = Options(**values, script_args=tuple(_split(arguments)[2]))
    _check_together(options)
    return options


def _words(text: str) -> tuple[str, ...]:
    """Caliban divides at blanks; a quote stands for itself. One that is never closed is a slip of the pen."""
    try:
        shlex.split(text)
    except ValueError as error:
        hint = "options are divided at blanks, and need no quotes"
        raise InputError(Problem(f"{text!r}: {str(error).lower()}", "--docker_run_args", hint)) from None
    return tuple(text.split())


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """What is Caliban's, the separator if there is one, and what is the program's."""
    words = list(arguments)
    if flags.SEPARATOR not in words:
        return words, [], []
    position = words.index(flags.SEPARATOR)
    return words[:position], [flags.SEPARATOR], flags.script_args(words[position:]) or []


def with_option(arguments: Sequence[str], option: str, value: str) -> list[str]:
    """The command line with an option set, in the place of one that is there."""
    before, separator, rest = _split(arguments)
    for position, word in enumerate(before):
        if word == option:
            return [*before[: position + 1], value, *before[position + 2 :], *separator, *rest]
        if word.startswith(f"{option}="):
            return [*before[:position], f"{option}={value}", *before[position + 1 :], *separator, *rest]
    return [*before[:1], option, value, *before[1:], *separator, *rest]


def _refuse_elsewhere(words: Sequence[str]) -> None:
    """Commands that start no experiment."""
    commands = [word for word in words if not word.startswith("-")][:3]
    names = commands[:1] if commands[:1] != ["cluster"] else [" ".join(commands[1:count]) for count in (2, 3)]
    for name in names:
        if name in _ELSEWHERE:
            raise InputError(Problem(f"`caliban {' '.join(commands)}` has no stack", hint=_ELSEWHERE[name]))


def _check_together(options: Options) -> None:
    machines.job_mode(options.use_gpu, options.gpu_spec, options.tpu_spec)
    if options.gpu_spec and options.tpu_spec:
        raise InputError(Problem("a job has either GPUs or a TPU", hint="leave out --gpu_spec or --tpu_spec"))
    if options.release_channel != "REGULAR":
        hint = "leave it out: clusters of a stack follow the REGULAR channel"
        raise InputError(Problem(f"there is no choice of {options.release_channel}", "--release_channel", hint))
    if options.zone is not None and machines.parse_zone(options.zone) is None:
        raise InputError(Problem(f"{options.zone!r} is no zone", "--zone", "such as us-central1-a"))
    for option, value in (("--min_cpu", options.min_cpu), ("--min_mem", options.min_mem)):
        if value is not None and value < 0:
            raise InputError(Problem(f"{value} is no amount", option, "0 means Caliban's default"))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="caliban", description="Caliban's commands, compiled to stacks.")
    commands = parser.add_subparsers(dest="first_command", required=True, metavar="run|cloud|cluster")
    run = commands.add_parser("run", help="experiments on this machine")
    run.set_defaults(command="run")
    _building(run)
    _executing(run)
    run.add_argument("--no_cache", action="store_true", help="has no effect: an image's tag names its content")
    run.add_argument("--image_id", dest="image", help="an image to use instead of building one")
    run.add_argument("--docker_run_args", metavar="ARGS", help="-v, -p and -e options for the container")
    cloud = commands.add_parser("cloud", help="experiments on Vertex AI")
    cloud.set_defaults(command="cloud")
    _building(cloud)
    _executing(cloud)
    _submitting(cloud)
    cloud.add_argument("--no_cache", action="store_true", help="has no effect: an image's tag names its content")
    cloud.add_argument("--region", help="region of the jobs (default: $REGION, else the stack's configuration)")
    cloud.add_argument("--machine_type", help="such as n1-standard-8")
    cluster = commands.add_parser("cluster", help="experiments on GKE")
    _cluster(cluster.add_subparsers(dest="cluster_command", required=True))
    return parser


def _building(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nogpu", dest="use_gpu", action="store_false", help="CPUs only")
    parser.add_argument("--cloud_key", metavar="FILE", help="a service account's key; never part of an image")
    parser.add_argument("--extras", action="append", help="extras of setup.py")
    parser.add_argument("-d", "--dir", dest="directories", action="append", help="further folders for the image")


def _executing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("module", help="trainer.train, trainer/train.py or any script")
    parser.add_argument("--experiment_config", metavar="FILE", help="a sweep in JSON, or `stdin`")
    parser.add_argument("--dry_run", action="store_true", help="print what would be done")
    parser.add_argument("--xgroup", help="name of the group of experiments")


def _submitting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image_tag", dest="image", help="an image to use instead of building one")
    parser.add_argument("--project_id", help="has no effect on a stack: its configuration says the project")
    parser.add_argument("--gpu_spec", metavar="NUMxGPU_TYPE", help="such as 8xV100")
    parser.add_argument("--tpu_spec", metavar="NUMxTPU_TYPE", help="such as 8xV3")
    parser.add_argument("--force", action="store_true", help="has no effect: what cannot run is refused")
    parser.add_argument("--name", help="name of the jobs")
    parser.add_argument("-l", "--label", dest="labels", action="append", metavar="KEY=VALUE")


def _cluster(commands: Any) -> None:
    jobs_parser = commands.add_parser("job", help="jobs of a cluster")
    submit = jobs_parser.add_subparsers(dest="job_command", required=True).add_parser("submit", help="a sweep of jobs")
    submit.set_defaults(command="submit")
    _building(submit)
    _executing(submit)
    _submitting(submit)
    submit.add_argument("--cluster_name", help="another stack's cluster, or one that exists (default: the stack's own)")
    submit.add_argument("--min_cpu", type=int, help="thousandths of a CPU")
    submit.add_argument("--min_mem", type=int, help="MB of memory")
    submit.add_argument("--tpu_driver", help="has no effect: a TPU of today has no driver to choose")
    submit.add_argument("--nonpreemptible_tpu", dest="preemptible_tpu", action="store_false")
    submit.add_argument("--nonpreemptible", dest="preemptible", action="store_false", help="no Spot machines")
    submit.add_argument("--export", metavar="FILE", help="write the Jobs to .yaml or .json files instead")
    create = commands.add_parser("create", help="a cluster of its own stack")
    create.set_defaults(command="create")
    delete = commands.add_parser("delete", help="destroy a cluster's stack")
    delete.set_defaults(command="delete")
    for parser in (create, delete):
        parser.add_argument("--project_id", help="has no effect on a stack: its configuration says the project")
        parser.add_argument("--cloud_key", help="has no effect: Pulumi uses your own credentials")
        parser.add_argument("--cluster_name")
        parser.add_argument("--zone")
    create.add_argument("--dry_run", action="store_true", help="print what would be done")
    create.add_argument("--release_channel", default="REGULAR")
    create.add_argument("--single_zone", action="store_true", help="nodes in the one zone only")
