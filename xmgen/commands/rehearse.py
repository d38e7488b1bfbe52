"""rehearse: does everything of a stack fit, before anything is paid for?"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from xmgen.commands import output, target
from xmgen.commands.progress import line
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.executors.gke.jobs import JOB_LABEL, UNIT_LABEL
from xmgen.project import Project
from xmgen.pulumi_cli.events import Change, Progress, ResourceStep
from xmgen.rehearsal import outcomes
from xmgen.rehearsal.rehearsal import CONTROL_PLANE, Options, Rehearsal
from xmgen.rehearsal.report import (
    Report,
    counted,
    grouped,
    markdown,
    percent,
    sentences,
    some,
    where_they_landed,
)
from xmgen.rehearsal.servers import passing_folder
from xmgen.stack.compiled import CompiledStack

PHASES = {
    "up": "creating everything, in a simulated cloud",
    "settle": "waiting for the pods to be scheduled, and to end",
    "second up": "once more: it must change nothing",
    "destroy": "removing everything",
}

NAMES = 10
"""Units that are few enough to be named."""


class Screen(Protocol):
    def hear(self, phase: str, progress: Progress, change: Change | None) -> None: ...


def rehearse(
    project: Project,
    name: str,
    *,
    options: Options,
    folder: Path | None,
    json: bool,
    as_markdown: bool,
) -> int:
    """Exit code 0 when everything fits, 1 when something does not.

    folder: where the control plane and the simulated cloud are kept; None for one that is removed afterwards.
    """
    if json and as_markdown:
        raise InputError(Problem("--json and --markdown exclude each other: there is one report"))
    if not outcomes.is_seconds(options.pod_seconds):
        raise InputError(Problem(f"--pod-seconds is a number of seconds, not {options.pod_seconds:g}"))
    compiled = target.compiled_stack(project, name, None, ())
    if compiled.cluster is None:
        # Before it asks for SDKs and plugins that such a stack does not need.
        raise InputError(Problem("only stacks whose jobs run on GKE can be rehearsed", where=compiled.name))
    _refuse_idle_rules(compiled, options.pods)
    owner = _owner(project, compiled)
    with ExitStack() as stack:
        stack.enter_context(_every_end_like_ctrl_c())
        place = folder or stack.enter_context(passing_folder(CONTROL_PLANE))
        rehearsal = stack.enter_context(Rehearsal(project, place, options))
        screen = stack.enter_context(_screen(rehearsal, compiled, quiet=json or as_markdown))
        report = rehearsal.run(compiled, owner, screen.hear)
    if json:
        output.print_json(report.as_json())
    elif as_markdown:
        print(markdown(report), end="")
    else:
        print_report(report)
    return 0 if report.fits else 1


@contextmanager
def _every_end_like_ctrl_c() -> Generator[None]:
    """While inside, SIGTERM and SIGHUP end the rehearsal as Ctrl-C does, with all that it has begun; but not one that
    is ignored, as with nohup.
    """

    def interrupt(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    heard = [number for number, handler in previous.items() if handler != signal.SIG_IGN]
    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, previous[number])


def _refuse_idle_rules(compiled: CompiledStack, file: Path | None) -> None:
    """A slip of the pen must not look as if the jobs had done well. Raises InputError."""
    manifests: list[Any] = [manifest for unit in compiled.units for manifest in unit.manifests]
    jobs: list[tuple[str, str, int]] = [
        (labels[UNIT_LABEL], labels[JOB_LABEL], each["spec"].get("completions", 1))
        for each in manifests
        for labels in (each["metadata"]["labels"],)
    ]
    problems = [
        Problem(
            f"{compiled.name} has no such pod: unit {rule.unit!r}, job {rule.job!r}"
            + (f", pod {rule.pod}" if rule.pod is not None else ""),
            where=str(file),
            hint=_meant(rule, jobs),
        )
        for rule in outcomes.unmatched(outcomes.read(file), jobs)
    ]
    if problems:
        raise InputError(*problems)


def _meant(rule: outcomes.Rule, jobs: Sequence[tuple[str, str, int]]) -> str:
    """What is there of the first thing in the rule that is wrong. jobs: unit, job and how many pods it has."""
    of_unit = [each for each in jobs if fnmatchcase(each[0], rule.unit)]
    if pods := [pods for _, job, pods in of_unit if fnmatchcase(job, rule.job)]:
        return f"pods are counted from 0, and it has {max(pods)}"
    given, known = (rule.job, {job for _, job, _ in of_unit}) if of_unit else (rule.unit, {unit for unit, _, _ in jobs})
    names = sorted(known)
    return did_you_mean(given, names) if len(names) <= NAMES else f"such as {names[0]!r}"


def _owner(project: Project, compiled: CompiledStack) -> CompiledStack | None:
    """The stack whose cluster this one uses."""
    shared = compiled.cluster is not None and compiled.cluster.kind == "stack"
    return target.existing(project, compiled.cluster.name) if shared and compiled.cluster else None


def print_report(report: Report) -> None:
    if report.landings:
        output.say("")
        output.print_table(("unit", "job", "pods", "pool", "at the end"), where_they_landed(report))
    if report.pools:
        output.say("")
        output.print_table(
            ("pool", "machine", "nodes", "pods", "cpu", "memory", "accelerators"),
            (
                (
                    use.pool,
                    use.machine,
                    use.nodes,
                    use.pods,
                    percent(use.cpu),
                    percent(use.memory),
                    percent(use.accelerators),
                )
                for use in report.pools
            ),
        )
    for alike in grouped(report.misfits):
        output.say(f"\n{some([each.pod for each in alike])} found no node", style="bold red")
        output.say(f"  the scheduler: {alike[0].scheduler}")
        for reason in alike[0].reasons:
            output.say(f"  {reason}")
        output.say(f"  what to change: {alike[0].change}")
    for each in report.failed:
        output.say(f"\n{each.job} failed", style="yellow")
        output.say(f"  {each.why}")
        for text in each.log:
            output.say(f"    {output.readable(text)}")
    output.say("")
    for text in sentences(report):
        output.say(text)
    verdict = "everything fits" if report.fits else "something does not fit"
    output.say(f"\n{report.stack}: {verdict}", style="bold green" if report.fits else "bold red")


@contextmanager
def _screen(rehearsal: Rehearsal, compiled: CompiledStack, *, quiet: bool) -> Generator[Screen]:
    if quiet:
        yield Silence()
    elif output.console().is_terminal:
        table = LiveTable(rehearsal, compiled)
        with table.live:
            yield table
    else:
        yield Lines()


class Silence:
    def hear(self, phase: str, progress: Progress, change: Change | None) -> None:
        pass


class Lines:
    """A line for a phase and for everything that is done in it."""

    def hear(self, phase: str, progress: Progress, change: Change | None) -> None:
        if change is None:
            print(f"==> {phase}: {PHASES[phase]}", flush=True)
            return
        begins = isinstance(change, ResourceStep) and change.status == "started"
        if not begins and (text := line(change, logs=False)):
            print(text, flush=True)


class LiveTable:
    """What the engine works on, and the pools with their nodes and pods."""

    def __init__(self, rehearsal: Rehearsal, compiled: CompiledStack) -> None:
        self._rehearsal = rehearsal
        self._namespaces = rehearsal.namespaces(compiled)
        self._lock = threading.Lock()
        self._phase = "up"
        self._started = time.monotonic()
        self._done = 0
        self._running: dict[str, ResourceStep] = {}
        self.live = Live(console=output.console(), get_renderable=self.render, refresh_per_second=4, transient=True)

    def hear(self, phase: str, progress: Progress, change: Change | None) -> None:
        with self._lock:
            if change is None:
                self._phase, self._started, self._done = phase, time.monotonic(), 0
                self._running.clear()
                return
            if isinstance(change, ResourceStep):
                key = f"{change.type} {change.name}"
                if change.status == "started":
                    self._running[key] = change
                    return
                self._running.pop(key, None)
                self._done += 1
                if change.status == "done":
                    return
        if text := line(change, logs=False):
            self.live.console.print(Text(text))

    def render(self) -> Group:
        with self._lock:
            seconds = time.monotonic() - self._started
            head = f"{self._phase}: {PHASES[self._phase]}; {self._done} done, {seconds:.0f} s"
            running = list(self._running)[:8]
        pods = self._rehearsal.observer.pods(self._namespaces)
        nodes = Counter(node.pool for node in self._rehearsal.observer.nodes() if not node.gone)
        table = Table(box=None, pad_edge=False)
        for column in ("pool", "nodes", "running", "ended"):
            table.add_column(column)
        for pool in sorted({pool for pool in (*nodes, *(pod.pool for pod in pods)) if pool}):
            phases: Counter[str] = Counter(pod.phase for pod in pods if pod.pool == pool)
            ended = phases["Succeeded"] + phases["Failed"]
            table.add_row(Text(pool), str(nodes[pool]), str(phases["Running"]), str(ended))
        waiting = sum(not pod.node and not pod.gone for pod in pods)
        rows: list[Any] = [Text(head, style="bold"), *(Text(f"  {name}", style="cyan") for name in running)]
        return Group(*rows, table, Text(f"{counted(waiting, 'pod')} without a node"))
