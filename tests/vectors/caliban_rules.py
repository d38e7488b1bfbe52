"""Where our right answer differs on purpose from Caliban's. By rule; no vector is named here.

A rule says what Caliban's answer has to become. docs/caliban.md lists the rules with their reasons.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.vectors.caliban_answers import GROUP, REJECTED, USER
from xmgen import catalog
from xmgen.catalog.model import Gpu, MachineType, Tpu
from xmgen.errors import Problem
from xmgen.frontends.caliban.labels import key_label, value_label

Transform = Callable[[Any, Any], Any]
"""(input, Caliban's answer) -> what ours must be."""


@dataclass(frozen=True, slots=True)
class Rule:
    categories: frozenset[str]
    says: str
    transform: Transform


RULES: dict[str, Rule] = {}


def _rule(name: str, *categories: str) -> Callable[[Transform], Transform]:
    def register(transform: Transform) -> Transform:
        RULES[name] = Rule(frozenset(categories), " ".join((transform.__doc__ or "").split()), transform)
        return transform

    return register


def adjusted(vector: dict[str, Any], expected: Any) -> tuple[Any, list[str]]:
    """What our answer must be by the rules of the vector's category, and the rules that change Caliban's."""
    names: list[str] = []
    for name, rule in RULES.items():
        if vector["category"] in rule.categories:
            changed = rule.transform(vector["input"], copy.deepcopy(expected))
            if changed != expected:
                names.append(name)
                expected = changed
    return expected, names


def _accelerator(name: str) -> Gpu | Tpu | None:
    found = catalog.accelerator(f"tpu_{name}" if re.fullmatch(r"[vV]\d[a-z]*", name) else name)
    return None if isinstance(found, Problem) else found


def _exists(found: Gpu | Tpu | None, count: int) -> bool:
    """TPUs by cores, as Caliban counts them: on GKE the catalog's topologies, on Vertex 8 and multiples of 32."""
    if isinstance(found, Gpu):
        return count in found.counts
    if found is None:
        return False
    chips = [_chips(topology) for topology in found.documented]
    return count in [each * found.cores_per_chip for each in chips] or count == 8 or (count > 0 and count % 32 == 0)


def _chips(topology: str) -> int:
    result = 1
    for side in topology.split("x"):
        result *= int(side)
    return result


@_rule("machines", "gpu_spec", "tpu_spec")
def _specs(given: Any, expected: Any) -> Any:
    """Which accelerators exist, and how many of them a machine has, is what the catalog says of today."""
    match = re.fullmatch(r"\s*([+-]?\d+)\s*x(\S+)", given["arg"])
    found = _accelerator(match[2]) if match else None
    if match is None or found is None or (given["validate_count"] and not _exists(found, int(match[1]))):
        return REJECTED
    kind = found.vertex_type if isinstance(found, Gpu) else found.vertex.accelerator_type
    name, count = found.id.removeprefix("tpu_").upper(), int(match[1])
    return {"name": name, "count": count, "accelerator_config": {"type": kind, "count": count}}


@_rule("counts", "accel_counts")
def _counts(name: Any, expected: Any) -> Any:
    """Counts are the catalog's."""
    return [count for count in range(65) if _exists(_accelerator(name), count)]


@_rule("machine tables", "accel_machines", "machine_type")
def _machine_tables(given: Any, expected: Any) -> Any:
    """Machine types are the catalog's: N1 machines take GPUs as they do today, others exist as well, `cloud_tpu` is a
    name of AI Platform's."""
    known = catalog.catalog()
    if given is None:
        return sorted(known.machines)
    if isinstance(given, str):
        return given if given in known.machines else REJECTED
    found = _accelerator(given["accel"])
    if isinstance(found, Tpu):
        return sorted(found.vertex.machine_types)
    if found is None or given["count"] not in found.counts:
        return REJECTED
    if not found.attach_limits:
        return sorted(m.name for m in known.machines.values() if _comes_with(m, found, given["count"]))
    limit = found.attach_limits[given["count"]]
    attaching = (m for m in known.machines.values() if m.attaches_gpus)
    return sorted(m.name for m in attaching if m.vcpus <= limit.vcpus and m.memory_gib <= limit.memory_gib)


def _comes_with(machine: MachineType, found: Gpu, count: int) -> bool:
    return (machine.accelerator, machine.accelerator_count) == (found.id, count)


@_rule("regions", "region", "accel_regions")
def _regions(given: Any, expected: Any) -> Any:
    """A region is a region by its form. Whether it exists, and which accelerators are there, only the cloud knows of
    today: any region is taken."""
    if isinstance(expected, list):
        return "any" if all(re.fullmatch(r"[a-z]+-[a-z]+\d+", region) for region in expected) else expected
    return given if re.fullmatch(r"[a-z]+-[a-z]+\d+", given) else REJECTED


@_rule("labels of nodes", "gke_gpu", "gke_tpu")
def _node_labels(given: Any, expected: Any) -> Any:
    """What GKE calls an accelerator is what the catalog says of today."""
    if match := re.fullmatch(r"(v\d+[a-z]*)-(\d+)", given):
        found, count = _accelerator(match[1]), int(match[2])
        if not isinstance(found, Tpu):
            return None
        cores = found.cores_per_chip if found.counted_in == "cores" else 1
        sizes = {_chips(each) * cores for each in found.topologies}
        return [match[1].upper(), count] if count in sizes or (found.vertex.cores and count == 8) else None
    gpus = {gpu.label: gpu.id.upper() for gpu in catalog.catalog().gpus.values()}
    return gpus.get(given)


@_rule("job names", "gke_job_name", "gke_job")
def _job_names(given: Any, expected: Any) -> Any:
    """A name is one that Kubernetes takes: a full stop that does not stand between letters or digits is a hyphen, and
    57 characters leave room for those that Kubernetes adds. A container's name has no full stop."""
    if isinstance(expected, str):
        return expected if expected == REJECTED else _job_name(expected)
    if isinstance(expected, list):
        for job in expected:
            name = _job_name(job["metadata"]["generateName"][:-1])
            job["metadata"]["generateName"] = f"{name}-"
            job["spec"]["template"]["spec"]["containers"][0]["name"] = name.replace(".", "-")
    return expected


def _job_name(theirs: str) -> str:
    dots = re.sub(r"\.(?![a-z0-9])|(?<![a-z0-9])\.", "-", theirs)
    return dots[:57].rstrip("-.")


@_rule("GKE of today", "container_limits", "node_selector", "gke_job")
def _gke(given: Any, expected: Any) -> Any:
    """Preemptible machines are Spot machines; the label of the machine type has left beta; a TPU is chips of a node
    with a topology, chosen by node labels, and has no driver to annotate. What GKE no longer has, or has on several
    hosts only, is refused."""
    name = given.get("accelerator")
    found = _accelerator(name) if name else None
    count = given.get("accelerator_count", given.get("count", 8 if name in ("V2", "V3") else 1))
    if name and (found is None or (isinstance(found, Gpu) and "count" not in given and count not in found.counts)):
        return REJECTED
    if isinstance(found, Tpu) and (found.id != "tpu_v3" or count != 8):
        return REJECTED
    tpu = isinstance(found, Tpu)
    if isinstance(expected, list):
        for job in expected:
            template = job["spec"]["template"]
            pod = template["spec"]
            template.pop("metadata", None)
            selector = _selector(pod.pop("nodeSelector", None), tpu)
            pod |= {"nodeSelector": selector} if selector else {}
            for toleration in pod["tolerations"]:
                toleration["key"] = _LABELS.get(toleration["key"], toleration["key"])
            resources = pod["containers"][0]["resources"]
            resources |= {"limits": _limits(resources["limits"])} if "limits" in resources else {}
        return expected
    return _limits(expected) if "count" in given else _selector(expected, tpu)


_LABELS = {
    "cloud.google.com/gke-preemptible": "cloud.google.com/gke-spot",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _selector(theirs: Any, tpu: bool) -> Any:
    ours = {_LABELS.get(key, key): value for key, value in (theirs or {}).items()}
    if tpu:
        ours |= {"cloud.google.com/gke-tpu-accelerator": "tpu-v3-device", "cloud.google.com/gke-tpu-topology": "2x2"}
    return ours or None


def _limits(theirs: Any) -> Any:
    """A v3-8 is four chips."""
    if theirs and any(key.startswith("cloud-tpus") for key in theirs):
        return {"google.com/tpu": 4}
    return theirs


@_rule("cluster", "resource_limits", "cluster_spec")
def _cluster(given: Any, expected: Any) -> Any:
    """A stack's cluster has the node pools that its jobs need, each with a limit: no node auto-provisioning, hence no
    limits of it, and no pool without a purpose. Name and place are Caliban's; a cluster with nodes in several zones is
    a regional one."""
    if isinstance(given, list):
        return []
    single = len(given["node_zones"]) == 1
    zone = expected["cluster"]["zone"]
    return {"name": expected["cluster"]["name"], "location": zone if single else zone.rpartition("-")[0]}


@_rule("run names", "mlflow_args", "gke_job", "local_job", "caip_job")
def _run_names(given: Any, expected: Any) -> Any:
    """An MLflow run is called after its group and its place in it (in a stack: after its arguments), not after a user
    and a time: the same experiment has the same name."""
    group = "foo" if isinstance(expected, list) and expected[:1] == ["--caliban_config"] else GROUP
    return _replaced(expected, rf"\b{USER}-<TS>-(\d+)", rf"{group}-\1")


def _replaced(value: Any, pattern: str, by: str) -> Any:
    if isinstance(value, str):
        return re.sub(pattern, by, value)
    if isinstance(value, list):
        return [_replaced(each, pattern, by) for each in value]
    if isinstance(value, dict):
        return {key: _replaced(each, pattern, by) for key, each in value.items()}
    return value


@_rule("password", "launcher_config")
def _password(given: Any, expected: Any) -> Any:
    """The database's password is no part of an image. It is a secret of the stack; the launcher puts it where
    `{password}` stands, encoded as the URI needs it."""
    mlflow = given.get("mlflow_config")
    if not mlflow:
        return expected
    from urllib.parse import quote

    uri = expected["env"]["MLFLOW_TRACKING_URI"]
    theirs = f"//{mlflow['user']}:{mlflow['password']}@"
    expected["env"]["MLFLOW_TRACKING_URI"] = uri.replace(theirs, f"//{quote(mlflow['user'], safe='')}:{{password}}@")
    return expected


@_rule("prefixes", "launcher_cli")
def _prefixes(given: Any, expected: Any) -> Any:
    """The launcher takes `--caliban_command` and `--caliban_config`, written out, and nothing else: what merely begins
    like them, and `-h` and `--help`, are the program's."""
    options = ("--caliban_command", "--caliban_config")

    def stolen(word: str) -> bool:
        name = word.partition("=")[0]
        short = name not in options and name not in ("-", "--") and any(each.startswith(name) for each in options)
        return short or word in ("-h", "--help")

    if not any(map(stolen, given)) or any(word.partition("=")[0] in options for word in given):
        return expected
    return {"caliban_config": {}, "caliban_command": ["python", "-m", "trainer.train"], "passthrough": given}


@_rule("image ids", "image_tag")
def _image_ids(given: Any, expected: Any) -> Any:
    """An image's id is its hash without `sha256:`, which cannot stand in a name."""
    return expected.replace("/sha256:", "/")


@_rule("values", "script_args_labels", "caip_job")
def _values(given: Any, expected: Any) -> Any:
    """A negative number after a flag is its value, and so is what follows an equals sign. The launcher's own argument
    is no flag of the program's and makes no label."""
    if isinstance(expected, list):
        for job in expected:
            args = job["trainingInput"]["args"]
            if "--caliban_config" in args:
                position = args.index("--caliban_config")
                args = [*args[:position], *args[position + 2 :]]
                job["labels"].pop("caliban_config", None)
            job["labels"] = _with_values(job["labels"], args)
        return expected
    args = given.split(" ") if isinstance(given, str) else given or []
    return _with_values(expected, args) if isinstance(expected, dict) else expected


_NUMBER = re.compile(r"-[0-9.]+([eE][+-]?[0-9]+)?")


def _with_values(labels: dict[str, str], args: list[str]) -> dict[str, str]:
    flags = [arg for arg in args if arg.startswith("-")]
    if not any(_NUMBER.fullmatch(arg) or "=" in arg for arg in flags):
        return labels
    for arg in flags:
        if _NUMBER.fullmatch(arg) or "=" in arg:
            labels.pop(key_label(arg), None)
    for arg, following in zip(args, [*args[1:], ""], strict=True):
        if not arg.startswith("-") or _NUMBER.fullmatch(arg):
            continue
        name, equals, value = arg.partition("=")
        if not equals and (_NUMBER.fullmatch(following) or not following.startswith("-")):
            value = following
        if key_label(name):
            labels[key_label(name)] = value_label(value)
    return labels


@_rule("Vertex AI", "caip_job")
def _vertex(given: Any, expected: Any) -> Any:
    """AI Platform's training is gone: a job runs on Vertex AI, on the smallest machine there with as much as the one
    that was asked for. A job has GPUs or a TPU, not both."""
    asked = catalog.catalog().machines.get(given["machine_type"])
    if asked is None or (given.get("gpu_spec") and given.get("tpu_spec")):
        return REJECTED
    kind, count = None, 0
    machines = [catalog.catalog().machines[name] for name in catalog.catalog().vertex.cpu_machines]
    for option in ("gpu_spec", "tpu_spec"):
        if not given.get(option):
            continue
        number, _, name = given[option].partition("x")
        found, count = _accelerator(name), int(number)
        if found is None or not _exists(found, count):
            return REJECTED
        if isinstance(found, Tpu):
            return _vertex_jobs(expected, given, "cloud-tpu", [found.vertex.accelerator_type, count])
        kind = found.vertex_type
        known = catalog.catalog()
        rows = [
            row for row in known.vertex.attach_counts if count in row.counts.get(found.id, ()) and not row.uncertain
        ]
        own = [m for m in known.machines.values() if _comes_with(m, found, count) and m.vertex]
        machines = [known.machines[row.machine] for row in rows] if found.attach_limits else own
    large = [m for m in machines if m.vcpus >= asked.vcpus and m.memory_bytes >= asked.memory_bytes]
    if not large:
        return REJECTED
    return _vertex_jobs(expected, given, min(large, key=lambda m: m.size).name, [kind, count])


def _vertex_jobs(expected: Any, given: Any, machine: str, accelerator: list[Any]) -> Any:
    for job in expected:
        job["trainingInput"] = {
            "image": job["trainingInput"]["masterConfig"]["imageUri"],
            "region": given["region"],
            "machineType": machine,
            "accelerator": accelerator,
            "args": job["trainingInput"]["args"],
        }
    return expected


@_rule("credentials", "dockerfile")
def _credentials(given: Any, expected: Any) -> Any:
    """No credentials in an image: jobs in the cloud have an identity, on this machine they find the user's mounted."""
    baked = (["RUN", "activate-service-account"], ["RUN", "adc-placeholder"])
    return [
        line
        for line in expected
        if line not in baked
        and not (line[0] == "COPY" and line[-1].endswith(("credentials.json", "creds.json")))
        and not line[-1].startswith("GOOGLE_APPLICATION_CREDENTIALS=")
    ]


@_rule("user", "dockerfile")
def _user(given: Any, expected: Any) -> Any:
    """The user in an image has no name of anybody's: it is `caliban`, 1000:1000, whoever compiles."""
    return _replaced(_replaced(expected, r"/home/\w+", "/home/caliban"), r"\A\d+:\d+\Z", "1000:1000")


@_rule("written files", "dockerfile")
def _written(given: Any, expected: Any) -> Any:
    """The launcher's files are written by the Dockerfile itself, and only those that are used; the Cloud SQL proxy is
    copied from its own image, which takes no root."""
    mlflow = (given.get("config") or {}).get("mlflow_config")
    files = ("cloud_sql_proxy.py", "caliban_launcher.py", "caliban_launcher_cfg.json")
    result: list[list[str]] = []
    for line in expected:
        name = line[1].removeprefix("./")
        if line[0] == "COPY" and name in files:
            result += [["WRITE", name, line[2]]] if mlflow or name == files[1] else []
        else:
            result.append(line)
    fetch = ["RUN", "fetch-cloud-sql-proxy"]
    if fetch in result:
        position = result.index(fetch)
        result[position - 1 : position + 2] = [fetch]
    return result
