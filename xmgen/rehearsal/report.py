"""What a rehearsal found out: plain data, and its text for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from xmgen.rehearsal.cloud.scheduling import Amounts, added
from xmgen.rehearsal.observer import Node, Pod

ACCELERATORS = ("nvidia.com/gpu", "google.com/tpu")

NAMED = 3
"""Pods that are named, of those that are alike."""

LISTED = 200
"""Rows of a table in Markdown: what a pull request takes is limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """nodes: how many it had at most. cpu, memory, accelerators: how full its fullest node was, from 0 to 1; GKE's own
    pods are not counted. accelerators is None where there are none."""

    pool: str
    machine: str
    nodes: int
    pods: int
    cpu: float
    memory: float
    accelerators: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """unit: as rules of `--pods` name it; the Job's name is shorter. why: how a pod that failed did."""

    unit: str
    job: str
    pod: str
    pool: str
    node: str
    phase: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """A pod that found no node. scheduler: its own words. change: what would help."""

    job: str
    pod: str
    scheduler: str
    reasons: tuple[str, ...]
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A resource that could not be created or deleted, in the words of Google, Kubernetes or the builder."""

    resource: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """why: the pod, and how it ended. log: its last lines."""

    job: str
    why: str
    log: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Report:
    """failed: Jobs that were told to fail, which says nothing against the stack. second_up: what a second `up` changed,
    by operation. changed: the resources, by type and name. left: what `destroy` left behind. kept: what it left on
    purpose. assumed: what the program looks up, and is taken to exist. filled: configuration that was missing. images:
    the references, digests included, by name. registry: where they were pushed; empty when none were built.
    """

    stack: str
    created: dict[str, int] = field(default_factory=dict[str, int])
    images: dict[str, str] = field(default_factory=dict[str, str])
    registry: str = ""
    landings: list[Landing] = field(default_factory=list[Landing])
    pools: list[PoolUse] = field(default_factory=list[PoolUse])
    misfits: list[Misfit] = field(default_factory=list[Misfit])
    split: list[str] = field(default_factory=list[str])
    failed: list[FailedJob] = field(default_factory=list[FailedJob])
    failures: list[Failure] = field(default_factory=list[Failure])
    second_up: dict[str, int] = field(default_factory=dict[str, int])
    changed: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    assumed: list[str] = field(default_factory=list[str])
    filled: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def fits(self) -> bool:
        return not (self.misfits or self.split or self.failures or self.second_up or self.left)

    def as_json(self) -> dict[str, Any]:
        return {"fits": self.fits, **asdict(self)}


def landings(pods: Iterable[Pod]) -> list[Landing]:
    found = [
        Landing(
            unit=pod.unit,
            job=pod.job or pod.name,
            pod=pod.name,
            pool=pod.pool,
            node=pod.node,
            phase=pod.phase,
            why=pod.why,
        )
        for pod in pods
        if pod.node
    ]
    return sorted(found, key=lambda each: (each.pool, each.job, each.pod))


def misfits(pods: Iterable[Pod], command: str) -> list[Misfit]:
    """command: compiles the stack again."""
    return [
        Misfit(
            job=pod.job or pod.name,
            pod=pod.name,
            scheduler=pod.refused or "the scheduler has not looked at it",
            reasons=tuple(pod.reasons),
            change=advice(pod.reasons, command),
        )
        for pod in pods
        if not pod.node and not pod.gone and pod.phase == "Pending"
    ]


def advice(reasons: Sequence[str], command: str) -> str:
    """What to change so that a pod fits, from why no pool can take it."""
    whys = [reason.partition(": ")[2] for reason in reasons]
    if any(reason.startswith("claim ") for reason in reasons):
        return "another storage class for the claim"
    if any("Quota" in why for why in whys):
        return "ask for more quota, or run fewer of these jobs at once"
    if any(why.startswith("its volumes are in") for why in whys):
        return "a pool in the zone of its volumes, or volumes that are not bound to a zone"
    if any("has all of its" in why for why in whys):
        return "its pool is at its limit: a larger maximum, or fewer jobs at once"
    if any("needed" in why for why in whys):
        return "ask for less, or for a machine that leaves more to jobs (docs/catalog.md says what GKE reserves)"
    if any("is not known" in why for why in whys):
        return "a machine of the catalog (docs/catalog.md): of others a rehearsal knows no size"
    if not reasons:
        return "the stack has no node pool"
    return f"no pool has nodes of the kind that the job selects: `{command}` compiles the stack again"


def grouped(misfits: Iterable[Misfit]) -> list[list[Misfit]]:
    """Those together that find no node for the same reasons: a sweep's trials are much alike."""
    groups: dict[tuple[object, ...], list[Misfit]] = {}
    for each in misfits:
        groups.setdefault((each.reasons, each.change), []).append(each)
    return list(groups.values())


def where_they_landed(report: Report) -> list[tuple[str, str, int, str, str]]:
    """For every job, how many of its pods were in which pool, and what became of them."""
    counts = Counter((each.unit, each.job, each.pool, each.why or each.phase) for each in report.landings)
    return [(unit, job, count, pool, end) for (unit, job, pool, end), count in counts.items()]


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def some(names: Sequence[str]) -> str:
    """The first few of them, and how many there are."""
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{len(names)} pods ({', '.join(names[:NAMED])}, …)"


def pool_uses(nodes: Iterable[Node], pods: Sequence[Pod]) -> list[PoolUse]:
    by_pool: dict[str, list[Node]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool, []).append(node)
    on_node: dict[str, list[Pod]] = {}
    for pod in pods:
        on_node.setdefault(pod.node, []).append(pod)
    uses: list[PoolUse] = []
    for pool, found in sorted(by_pool.items()):
        peaks = [(node, peak(on_node.get(node.name, []))) for node in found]

        def fullest(resource: str, peaks: list[tuple[Node, Amounts]] = peaks) -> float:
            shares = [most.get(resource, 0) / (node.allocatable.get(resource, 0) or 1) for node, most in peaks]
            return round(max(shares), 3)

        accelerator = next((each for each in ACCELERATORS if each in found[0].allocatable), None)
        uses.append(
            PoolUse(
                pool=pool,
                machine=found[0].machine,
                nodes=len(found),
                pods=sum(len(on_node.get(node.name, [])) for node in found),
                cpu=fullest("cpu"),
                memory=fullest("memory"),
                accelerators=fullest(accelerator) if accelerator else None,
            )
        )
    return uses


def peak(pods: Sequence[Pod]) -> Amounts:
    """The most that pods of one node requested at once, of each resource."""
    result: Amounts = {}
    for moment in pods:
        # It is highest when one has just started.
        running = [
            pod for pod in pods if pod.started <= moment.started and (not pod.ended or pod.ended > moment.started)
        ]
        total = added(pod.requests for pod in [*running, *([] if moment in running else [moment])])
        result = {name: max(amount, result.get(name, 0)) for name, amount in {**result, **total}.items()}
    return result


def split(pods: Iterable[Pod], whole: set[str]) -> list[str]:
    """Slices whose pods are not together on a pool of their own. whole: the pools that are slices of several hosts."""
    pools: dict[str, set[str]] = {}
    jobs: dict[str, set[str]] = {}
    for pod in pods:
        if pod.pool in whole:
            pools.setdefault(pod.job, set()).add(pod.pool)
            jobs.setdefault(pod.pool, set()).add(pod.job)
    return [f"the pods of {job} are on {len(found)} slices" for job, found in sorted(pools.items()) if len(found) > 1]


def markdown(report: Report) -> str:
    """For a pull request."""
    verdict = "everything fits" if report.fits else "**something does not fit**"
    lines = [f"### Rehearsal of `{report.stack}`: {verdict}", ""]
    if report.pools:
        lines += [
            "| Pool | Machine | Nodes | Pods | CPU | Memory | Accelerators |",
            "|---|---|---:|---:|---:|---:|---:|",
        ]
        lines += [
            f"| `{use.pool}` | `{use.machine}` | {use.nodes} | {use.pods} | "
            f"{percent(use.cpu)} | {percent(use.memory)} | {percent(use.accelerators)} |"
            for use in report.pools
        ]
        lines.append("")
    if report.misfits:
        lines += [
            "| Pods without a node | In the scheduler's words | Why no pool takes them | What to change |",
            "|---|---|---|---|",
        ]
        for alike in grouped(report.misfits):
            first = alike[0]
            reasons = "<br>".join(map(_cell, first.reasons))
            pods = _cell(some([f"`{each.pod}`" for each in alike]))
            lines.append(f"| {pods} | {_cell(first.scheduler)} | {reasons} | {_cell(first.change)} |")
        lines.append("")
    lines += [_item("\n".join([f"{each.job} failed: {each.why}", *each.log])) for each in report.failed]
    lines += [_item(text) for text in sentences(report)]
    lines += _landings(report)
    return "\n".join(lines) + "\n"


def _landings(report: Report) -> list[str]:
    """Where every pod was, folded up: it is long."""
    rows = where_they_landed(report)
    if not rows:
        return []
    more = [f"\n… and {counted(len(rows) - LISTED, 'row')} more, which `--json` has"] if len(rows) > LISTED else []
    return [
        "",
        "<details><summary>Where the pods ran</summary>",
        "",
        "| Work unit | Job | Pods | Pool | At the end |",
        "|---|---|---:|---|---|",
        *(
            f"| `{unit}` | `{job}` | {count} | `{pool}` | {_cell(end)} |"
            for unit, job, count, pool, end in rows[:LISTED]
        ),
        *more,
        "",
        "</details>",
    ]


def _item(text: str) -> str:
    """Of a list. What follows the first line is quoted, such as a builder's output."""
    first, *rest = text.splitlines()
    return "\n".join([f"- {first}", *([""] if rest else []), *(f"      {line}" for line in rest)])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _created(by_type: Mapping[str, int]) -> str:
    """What there is most of comes first."""
    kinds: Counter[str] = Counter()
    for type, count in by_type.items():
        kinds[type.rpartition(":")[2]] += count
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda each: (-each[1], each[0])))
    return f"{counted(kinds.total(), 'resource')} created" + (f": {what}" if what else "")


def sentences(report: Report) -> list[str]:
    """The rest of the report, beside its tables and jobs that failed."""
    lines = [f"{each.resource}: {each.message}" for each in report.failures]
    lines += report.split
    lines.append(f"{counted(len(report.landings), 'pod')} scheduled")
    lines.append(_created(report.created))
    if report.images:
        how = f"built and pushed to {report.registry}" if report.registry else "digests computed, nothing built"
        lines.append(f"images: {how}: {', '.join(report.images)}")
    if report.second_up:
        changes = ", ".join(f"{count} to {name}" for name, count in report.second_up.items())
        which = f" ({', '.join(report.changed)})" if report.changed else ""
        lines.append(f"a second `up` is not empty: {changes}{which}")
    elif not report.failures:
        lines.append("a second `up` changes nothing")
    if report.left:
        lines.append(f"`destroy` leaves behind: {', '.join(report.left)}")
    elif "destroy" in report.seconds:
        lines.append("`destroy` leaves nothing behind")
    if report.kept:
        lines.append(f"kept on purpose: {', '.join(report.kept)}")
    if report.assumed:
        lines.append(f"taken to exist: {', '.join(report.assumed)}")
    if report.filled:
        lines.append(f"not set, filled in for the rehearsal: {', '.join(report.filled)}")
    return lines
