"""A recorded vector of XManager's against our record: every difference is reported, save those of `rules`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tests.vectors import canonical
from tests.vectors.records import ExperimentRecord, JobRecord, PackageableRecord
from xmgen.experiment import Arg, ShellSafeArg

TMP = "<TMP>"
_KEYS = {
    "vector": {"packageables", "launches"},
    "packageable": {"spec", "fields", "executor_spec", "args", "env"},
    "launch": {"unit", "unit_name", "executor", "jobs"},
    "job": {"full_name", "name", "args", "env", "req", "tb", "docker_options"},
}
_ARGS_TRAVEL_WITH_THE_EXECUTABLE = {"Container", "Dockerfile", "Binary", "BazelBinary", "BazelContainer"}


def differences(vector: Any, ours: ExperimentRecord) -> list[str]:
    """One line each, with the place in the vector; none when the vector and our record say the same."""
    if malformed := list(_malformed(vector)):
        return malformed
    vector = _marked(vector, ours)
    return [*_packageables(vector["packageables"], ours.packageables), *_launches(vector, ours)]


def _marked(vector: Any, ours: ExperimentRecord) -> Any:
    """The vector with its experiment id marked wherever it stands (rule `experiment-id`)."""
    number = canonical.clock(vector)
    own = [[job.args, job.env] for job in ours.jobs] + [[each.args, each.env] for each in ours.packageables]
    if number is None or any(number in text for text in canonical.strings(own)):
        return vector
    return canonical.replaced(vector, {number: canonical.XID})


def _malformed(vector: Any) -> Iterator[str]:
    """A part that we would not compare must not be passed over in silence."""
    yield from _wrong_keys("vector", vector, "vector")
    if not isinstance(vector, dict):
        return
    for kind, plural in (("packageable", "packageables"), ("launch", "launches")):
        parts = vector.get(plural)
        if not isinstance(parts, list):
            yield f"{plural}: is no list"
            continue
        for index, part in enumerate(parts):
            yield from _wrong_keys(kind, part, f"{plural}[{index}]")
            if kind == "launch" and isinstance(part, dict):
                for number, job in enumerate(part.get("jobs", [])):
                    yield from _wrong_keys("job", job, f"{plural}[{index}].jobs[{number}]")
    if not vector.get("launches"):
        yield "launches: the vector has none"


def _wrong_keys(kind: str, part: Any, place: str) -> Iterator[str]:
    if not isinstance(part, dict):
        yield f"{place}: is no object"
        return
    optional = {"invocation"} if kind == "vector" else set[str]()
    for key in sorted(_KEYS[kind] - set(part)):
        yield f"{place}.{key}: missing from the vector"
    for key in sorted(set(part) - _KEYS[kind] - optional):
        yield f"{place}.{key}: nothing of ours to compare it with"


def _packageables(expected: Sequence[Any], got: Sequence[PackageableRecord]) -> Iterator[str]:
    yield from _same("packageables", [each["spec"] for each in expected], [each.spec for each in got])
    for index, (theirs, ours) in enumerate(zip(expected, got, strict=False)):
        place = f"packageables[{index}]"
        yield from _same(f"{place}.executor_spec", theirs["executor_spec"], ours.executor_spec)
        yield from _fields(f"{place}.fields", theirs["fields"], ours.fields)
        yield from _args(f"{place}.args", theirs["args"], ours.args)
        yield from _same(f"{place}.env", _texts(theirs["env"]), dict(ours.env))


def _fields(place: str, expected: Mapping[str, Any], got: Mapping[str, object]) -> Iterator[str]:
    yield from _same(place, sorted(expected), sorted(got))
    got = _with_temporary_folder(expected, got)
    for name in expected.keys() & got.keys():
        yield from _same(f"{place}.{name}", canonical.parsed(expected[name]), canonical.parsed(got[name]))


def _with_temporary_folder(expected: Mapping[str, Any], got: Mapping[str, object]) -> Mapping[str, object]:
    """Ours with `<TMP>` for the folder that the vector calls so (rule `temporary-folder`)."""
    path = got.get("path")
    if expected.get("path") != TMP or not isinstance(path, str) or not _is_generated(path):
        return got
    return canonical.replaced(got, {path: TMP, PurePosixPath(path).name: TMP})


def _is_generated(path: str) -> bool:
    """Not a folder of the checkout: paths below it are relative, and what we generate has one folder there."""
    return PurePosixPath(path).is_absolute() or path.startswith(".xmgen/")


def _launches(vector: Mapping[str, Any], ours: ExperimentRecord) -> Iterator[str]:
    expected: dict[tuple[str, str, str], list[Any]] = {}
    for launch in vector["launches"]:
        expected.setdefault((launch["unit_name"], launch["unit"], launch["executor"]), []).extend(launch["jobs"])
    got: dict[tuple[str, str, str], list[JobRecord]] = {}
    for job in ours.jobs:
        got.setdefault((job.unit_name, job.unit, job.executor), []).append(job)
    yield from _same("launches", sorted(expected), sorted(got))
    for key in expected.keys() & got.keys():
        place = f"launches {key[0]} on {key[2]}"
        yield from _same(f"{place}: jobs", [job["name"] for job in expected[key]], [job.name for job in got[key]])
        for theirs, job in zip(expected[key], got[key], strict=False):
            yield from _job(f"{place}: {theirs['name']}", theirs, job, vector["packageables"])


def _job(place: str, theirs: Mapping[str, Any], ours: JobRecord, packageables: Sequence[Any]) -> Iterator[str]:
    defaults: Mapping[str, Any] = dict(enumerate(packageables)).get(ours.packageable, {})
    yield from _same(f"{place}.full_name", theirs["full_name"], ours.full_name)
    yield from _job_args(f"{place}.args", theirs["args"], ours, defaults)
    yield from _same(f"{place}.env", _texts({**defaults.get("env", {}), **theirs["env"]}), dict(ours.env))
    yield from _same(f"{place}.req", _requirements(theirs["req"], ours.req), dict(ours.req))
    yield from _same(f"{place}.tb", _call("TensorboardCapability", theirs["tb"]), ours.tensorboard)
    yield from _same(f"{place}.docker_options", _docker_options(theirs["docker_options"]), ours.docker_options)


def _job_args(place: str, theirs: Sequence[str], ours: JobRecord, packageable: Mapping[str, Any]) -> Iterator[str]:
    """Rule `merging`: first the job's own, then the merged ones."""
    if packageable.get("spec") in _ARGS_TRAVEL_WITH_THE_EXECUTABLE and _equal(theirs, ours.args):
        return
    if different := list(_args(place, theirs, ours.given)):
        yield from different
        return
    kept = [token for token in packageable.get("args", []) if not canonical.keys(token) & ours.unset]
    yield from _args(f"{place} with its packageable's", canonical.merged(kept, theirs), ours.args)


def _requirements(text: Any, ours: Mapping[str, object]) -> object:
    """Rules `architecture` and `service-tier`."""
    match canonical.parsed(text):
        case ("JobRequirements", dict(fields)):
            result = {name: _lower(value) if name in _ENUMS else value for name, value in fields.items()}
            if ours.get("service_tier") == _TIER_LEFT_OUT:
                result.setdefault("service_tier", _TIER_LEFT_OUT)
            if "architecture" not in ours and result.keys() - _NO_ACCELERATOR:
                result.pop("architecture", None)
            return result
        case other:
            return other


_TIER_LEFT_OUT = "prod"
_ENUMS = {"architecture", "service_tier"}
_NO_ACCELERATOR = _ENUMS | {"cpu", "memory", "ephemeral_storage", "location", "replicas", "num_slices"}


def _lower(value: object) -> object:
    return value.rpartition(".")[2].lower() if isinstance(value, str) else value


def _docker_options(text: Any) -> object:
    """Rule `docker-options`."""
    fields = _call("DockerOptions", text)
    if not isinstance(fields, dict):
        return fields
    return {name: {} if value is None and name in {"ports", "volumes"} else value for name, value in fields.items()}


def _call(name: str, text: Any) -> object:
    """The fields of `name(field=value)`; None for "None"; anything else as it is."""
    if text in (None, "None"):
        return None
    match canonical.parsed(text):
        case (called, dict(fields)) if called == name:
            return fields
        case other:
            return other


def _args(place: str, expected: Sequence[str], got: Sequence[Arg]) -> Iterator[str]:
    if not _equal(expected, got):
        yield f"{place}: expected {list(expected)}, got {[a.shell if isinstance(a, ShellSafeArg) else a for a in got]}"


def _equal(expected: Sequence[str], got: Sequence[Arg]) -> bool:
    """Rule `quoting`."""
    return len(expected) == len(got) and all(
        any(ours == reading for reading in canonical.readings(theirs))
        for theirs, ours in zip(expected, got, strict=True)
    )


def _texts(env: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in env.items() if value is not None}


def _same(place: str, expected: object, got: object) -> Iterator[str]:
    if expected != got:
        yield f"{place}: expected {expected!r}, got {got!r}"
