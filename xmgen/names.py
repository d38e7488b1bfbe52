"""Every naming rule, in one place.

A user may title things as they like; each function here turns any text into a name that is valid where it is used.
"""

from __future__ import annotations

import functools
import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from xmgen.experiment import Arg, Role, ShellSafeArg, WorkUnit

_DIGEST = re.compile(r"[^A-Za-z0-9]sha256[^A-Za-z0-9][0-9a-f]{64}")

SERVICE, NAMESPACE = "experiments", "default"
"""XManager's: the headless Service through which jobs on a cluster find each other, and where it has everything. The
Service of a stack has that name in the stack's own namespace."""

UNIT_SLUG_LENGTH = 40
"""Characters of a unit's slug. With its hash and a counter a logical name stays below 54: Pulumi and Kubernetes append
up to nine characters, and 63 is the limit of a DNS label."""

STACK_LENGTH = 40
"""Characters of a stack's name: names of resources are made of it."""

ON_GOOGLE_LENGTH = 40 - 8
"""Characters of a name that Pulumi appends eight to, and of which GKE makes a cluster's."""

GENERIC_STEMS = frozenset({"experiment", "launch", "launcher", "main", "xm_launch"})
"""File names that say nothing of the experiment; its folder's name does."""

YAML_SUFFIXES = (".yaml", ".yml")
SOURCE_SUFFIXES = (".py", *YAML_SUFFIXES)
"""Of the files that are compiled: launch scripts; experiments and clusters in YAML. A Caliban project is a folder."""

NO_STACKS = frozenset({"backend"})
"""Names that stand for something else beside the stacks' folders in `.xmgen/`: `.xmgen/backend` is Pulumi's state."""


@functools.lru_cache(maxsize=4096)
def slug(text: str, limit: int = 63) -> str:
    """Lower-case letters, digits and single hyphens; starts and ends with a letter or digit.

    The end is kept when the text is too long, because it usually says more. Empty when nothing of the text is left.
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    result = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")
    return result[-limit:].lstrip("-")


def shortened(text: str, limit: int) -> str:
    """A slug that is not longer: its first word, and as many of its last ones as fit; those say most."""
    if len(text) <= limit:
        return text
    first, *rest = text.split("-")
    first = first[: limit // 2]
    kept: list[str] = []
    room = limit - len(first)
    for word in reversed(rest):
        room -= len(word) + 1
        if room < 0:
            break
        kept.append(word)
    return "-".join([first, *reversed(kept)])


def stack_name(text: str) -> str:
    """A stack's name from a file's or folder's: what Pulumi and a file system both take."""
    name = slug(text, limit=STACK_LENGTH) or f"experiment-{short_hash(text)}"
    return f"{name}-experiment" if name in NO_STACKS else name


def stack_of_source(file: str, folder: str) -> str:
    """`launcher.py` in `quickstart` -> `quickstart`, `resnet.yaml` -> `resnet`. folder: the name of the file's folder;
    empty for the project's own, which is called as its user likes and names nothing.
    """
    stem = PurePosixPath(file).stem
    return stack_name(folder if folder and stem in GENERIC_STEMS else stem.removesuffix(".cluster"))


def experiment_id(stack: str) -> int:
    """XManager's experiment id: thirteen digits, as its wall clock in milliseconds has, but stable for the stack."""
    return 10**12 + int.from_bytes(hashlib.sha256(stack.encode()).digest()[:8], "big") % (9 * 10**12)


def full_job_name(experiment: int, unit: WorkUnit, job: str) -> str:
    """XManager's name of a job, which its args and env may contain."""
    return f"{unit_prefix(experiment, unit.role, unit.id)}_{job}"


def unit_prefix(experiment: int, role: Role, number: int) -> str:
    """What the names of a unit's jobs begin with; XManager's name of the unit. number: its id."""
    return f"{experiment}_auxiliary" if role == "auxiliary" else f"{experiment}_{number}"


def address(host: str, service: str = SERVICE, namespace: str = NAMESPACE) -> str:
    """XManager's address of a job on a cluster. host: its host name."""
    return f"{host}.{service}.{namespace}.svc.cluster.local"


def gcp_label(text: str) -> str:
    """The value of a label of a Google Cloud resource: lower-case letters, digits and hyphens, at most 63."""
    return slug(text, 63)


def on_google(stack: str) -> str:
    """A stack's name where it names what Google judges: a letter first, and room for what Pulumi appends to the name of
    a cluster, which has 40 characters at most. The stack's own, wherever that will do.
    """
    if stack[0].isalpha() and len(stack) <= ON_GOOGLE_LENGTH:
        return stack
    name = stack if stack[0].isalpha() else f"x{stack}"
    return f"{name[: ON_GOOGLE_LENGTH - 9].rstrip('-')}-{short_hash(stack)}"


def service_account(stack: str, purpose: str) -> str:
    """Id of a service account: 6 to 30 lower-case letters, digits and hyphens, a letter first."""
    name = f"{stack}-{purpose}"
    if len(name) > 30:
        name = f"{stack[: 30 - 10 - len(purpose)].rstrip('-')}-{short_hash(stack)}-{purpose}"
    return name if name[0].isalpha() else f"x{name}"[:30]


def output_bucket(stack: str) -> str:
    """What the name of a stack's bucket begins with; Pulumi appends eight characters, and Cloud Storage takes 63.

    The bucket outlives the stack, so it says whose it is. Cloud Storage takes no name that holds `google`, begins with
    `goog` or looks as if it did.
    """
    name = f"{stack}-output"
    return "output" if re.search("g[o0]{2}g", name) or len(name) > 63 - 8 else name


def namespace(stack: str) -> str:
    """The Kubernetes namespace of a stack: of its name, unless that is one of Kubernetes' or GKE's own."""
    return f"xmgen-{stack}" if stack == "default" or stack.startswith(("kube-", "gke-", "gmp-")) else stack


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def identifier(text: str) -> str:
    """A Python identifier that is no keyword."""
    name = slug(text).replace("-", "_") or f"x_{short_hash(text)}"
    name = f"_{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def unique(wanted: Iterable[str]) -> Iterator[str]:
    """The names in order; the second of one name gets `-2`, the third `-3`."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    for name in wanted:
        candidate = name
        while candidate in used:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}-{counts[name]}"
        used.add(candidate)
        yield candidate


def unit_slug(unit: WorkUnit, experiment: int) -> str:
    """A readable name made of nothing but the unit's own content, so that other units never rename it.

    The user's label, else the first job's name and as many of its last arguments as fit: a sweep's come last.
    Arguments that hold a positional name are left out, since they change when trials are reordered.
    """
    if unit.label:
        return slug(unit.label, UNIT_SLUG_LENGTH) or "unit"
    job = unit.jobs[0]
    # A job of a prebuilt image without a name of its own has that of the image, digest and all.
    name = slug(_DIGEST.sub("", job.name), UNIT_SLUG_LENGTH) or "job"
    return "-".join([name, *_argument_slugs(job.args, str(experiment), UNIT_SLUG_LENGTH - len(name))])


def _argument_slugs(args: Sequence[Arg], experiment: str, room: int) -> list[str]:
    parts: list[str] = []
    value = False
    for arg in reversed(args):
        if isinstance(arg, ShellSafeArg) or experiment in arg:
            continue
        part = _argument_slug(arg)
        if not part:
            continue
        room -= len(part) + 1
        if room < 0:
            if parts and value and arg.startswith("-"):
                # Without its name a value reads as if it were that of the word before.
                parts.pop()
            break
        parts.append(part)
        value = not arg.startswith("-")
    return parts[::-1]


# The trials of a sweep share most of their arguments.
@functools.lru_cache(maxsize=4096)
def _argument_slug(arg: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", arg.lower()).strip("-")
