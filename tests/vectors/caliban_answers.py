"""Our answer to each category of Caliban's vectors: the product's own functions."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xmgen import catalog
from xmgen.catalog import options
from xmgen.catalog.model import Gpu
from xmgen.catalog.vertex import vertex_machine
from xmgen.errors import Problem, XmgenError
from xmgen.experiment import Accelerator
from xmgen.frontends.caliban import (
    cloud_sql_proxy,
    commented_json,
    expansion,
    flags,
    jobs,
    labels,
    launcher,
    machines,
    mlflow,
    packaging,
    project,
    settings,
    source,
)
from xmgen.plan import planner

REJECTED = "rejected, without a traceback"
USER = "alice"
"""Whose name Caliban puts into names; ours is the stack's."""
GROUP = "grp"


def answer(function: Callable[[Any], Any], given: Any) -> Any:
    """Our answer, or REJECTED when the input is refused in words."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return function(given)
        except (XmgenError, SystemExit):
            return REJECTED


def _expand(config: Any) -> Any:
    return list(expansion.expand(config))


def _job_args(given: Any) -> Any:
    return list(flags.job_args(expansion.expand(given["experiment_config"]), given["script_args"]))


def _script_args_labels(args: Any) -> Any:
    return labels.script_args_to_labels(args.split(" ") if isinstance(args, str) else args)


def _spec(parse: Callable[..., machines.Spec]) -> Callable[[Any], Any]:
    def parsed(given: Any) -> Any:
        spec = parse(given["arg"], validate_count=given["validate_count"])
        return {"name": _name(spec.type), "count": spec.count, "accelerator_config": _config(spec)}

    return parsed


def _config(spec: machines.Spec) -> Any:
    found = catalog.accelerator(spec.type)
    assert not isinstance(found, Problem)
    kind = found.vertex_type if isinstance(found, Gpu) else found.vertex.accelerator_type
    return {"type": kind, "count": spec.count}


def _name(accelerator: str) -> str:
    return accelerator.removeprefix("tpu_").upper()


def _counts(name: str) -> Any:
    parse = machines.parse_tpu_spec if re.fullmatch(r"V\d", name) else machines.parse_gpu_spec
    return [count for count in range(65) if answer(lambda c: parse(f"{c}x{name}").count, count) != REJECTED]


def _machines(given: Any) -> Any:
    spec = _spec_of(given["accel"], given["count"])
    found = catalog.accelerator(spec.type)
    assert not isinstance(found, Problem)
    asked = Accelerator(type=found.id, count=spec.count)
    if isinstance(found, Gpu):
        return sorted(each.machine.name for each in options.gpu_options(catalog.catalog(), found, asked, None))
    return sorted(found.vertex.machine_types)


def _spec_of(name: str | None, count: int, *, check: bool = True) -> Any:
    if name is None:
        return None
    parse = machines.parse_tpu_spec if re.fullmatch(r"V\d", name) else machines.parse_gpu_spec
    return parse(f"{count}x{name}", validate_count=check)


def _regions(name: str) -> Any:
    del name
    return "any"


def _machine_type(name: str | None) -> Any:
    if name is None:
        return sorted(catalog.catalog().machines)
    machines.parse_machine_type(name)
    return name


def _job_mode(given: Any) -> Any:
    gpu = machines.parse_gpu_spec(given["gpu_spec"]) if given["gpu_spec"] else None
    tpu = machines.parse_tpu_spec(given["tpu_spec"]) if given["tpu_spec"] else None
    return machines.job_mode(given["use_gpu"], gpu, tpu)


def _deep_learning_images() -> dict[str, str]:
    """Every name that `.calibanconfig.json` has for a Deep Learning Container, and what it stands for."""
    names = (
        f"dlvm:{library}-{mode}{version and f'-{version}'}"
        for mode in ("cpu", "gpu")
        for library, versions in settings.DEEP_LEARNING_VERSIONS.items()
        for version in ("", *versions)
    )
    return {name: settings.deep_learning_image(name) for name in names}


def _base_image(given: Any) -> Any:
    if given is None:
        return _deep_learning_images()
    if isinstance(given, str):
        return settings.DEFAULT_BASE_IMAGES["GPU" if given == "GPU" else "CPU"]
    return settings.base_image(settings.validate(given["config"]), given["mode"])


def _apt(given: Any) -> Any:
    if isinstance(given, list):
        return packaging.apt_commands(given)
    return settings.apt_packages(settings.validate(given["config"]), given["mode"])


def _extras(given: Any) -> Any:
    extras = packaging.base_extras(given["mode"], given["extras"], setup_py=given["setup_py_exists"])
    return {"setup_extras": extras, "pip_target": packaging.pip_target(extras or ())}


def _package(path: str) -> Any:
    with _project() as folder:
        package = packaging.generate_package(path, folder)
    return {
        "executable": list(package.executable),
        "package_path": package.package_path,
        "script_path": package.script_path,
        "main_module": package.main_module,
        "entry_command": package.command,
    }


def _entrypoint(path: str) -> Any:
    with _project() as folder:
        return packaging.entrypoint(packaging.generate_package(path, folder).command)


@contextlib.contextmanager
def _project() -> Any:
    """The folder that the vectors of packages suppose."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trainer").mkdir()
        for file in ("trainer/__init__.py", "trainer/train.py", "setup.py", "run.sh"):
            (folder / file).touch()
        yield folder


def _image_tag(given: Any) -> Any:
    return jobs.image_tag(given["project_id"], given["image_id"])


def _mlflow_args(config: Any) -> Any:
    run = jobs.Run(experiment={}, group="foo")
    return with_parsed_config(run.argv(42, {"a": "x", "b": 7}, mlflow=_has_mlflow(config)))


def _has_mlflow(config: Any) -> bool:
    return bool(config) and config.get("mlflow_config") is not None


def with_parsed_config(args: list[Any]) -> list[Any]:
    """The value of `--caliban_config` as what its JSON means."""
    result = list(args)
    for position, arg in enumerate(args[:-1]):
        if arg == launcher.CONFIG and isinstance(args[position + 1], str):
            result[position + 1] = json.loads(args[position + 1])
    return result


def _launcher_config(config: Any) -> Any:
    # A project's configuration may be unvalidated here, as the vector has it.
    found = mlflow.launcher_config({"mlflow_config": None, "uv": {}, **config})
    services = [[*service[:-1], json.loads(service[-1])] for service in found.services]
    return {"services": services, "env": dict(found.env), "_file": "caliban_launcher_cfg.json"}


def _launcher_merge(given: Any) -> Any:
    return launcher.merge(given["static"], given["dynamic"])


def _launcher_cli(args: Any) -> Any:
    start = [launcher.COMMAND, json.dumps(["python", "-m", "trainer.train"])]
    command, config, rest = launcher.split([*start, *args])
    return {"caliban_config": config, "caliban_command": command, "passthrough": rest}


def _sql_proxy(config: Any) -> Any:
    return {"cmd": cloud_sql_proxy.command(config), "creds": config.get("creds")}


def _limits(given: Any) -> Any:
    return jobs.container_limits(_spec_of(given["accelerator"], given["count"], check=False))


def _selector(given: Any) -> Any:
    return jobs.node_selector(
        preemptible=given["preemptible"],
        machine_type=given["machine_type"],
        # A TPU of Caliban's has eight cores; the vectors leave it out.
        accelerator=_spec_of(given["accelerator"], 8 if re.fullmatch(r"V\d", given["accelerator"] or "") else 1),
    )


def _zone(text: Any) -> Any:
    found = machines.parse_zone(text)
    return None if found is None else list(found)


def _gke_gpu(label: str) -> Any:
    return next((_name(gpu.id) for gpu in catalog.catalog().gpus.values() if gpu.label == label), None)


def _gke_tpu(text: str) -> Any:
    match = re.fullmatch(r"(v\d+[a-z]*)-(\d+)", text)
    if match is None:
        return None
    try:
        spec = machines.parse_tpu_spec(f"{match[2]}x{match[1]}")
    except XmgenError:
        return None
    return [_name(spec.type), spec.count]


def _cluster_spec(given: Any) -> Any:
    """What a cluster of ours has in common with Caliban's: its name and where it is."""
    single = len(given["node_zones"]) == 1
    arguments = ["cluster", "create", "--cluster_name", given["name"], "--zone", given["zone"]]
    arguments += ["--release_channel", given["channel"], *(["--single_zone"] if single else [])]
    with _project() as folder:
        stack = source.stack_of(folder, arguments)
        cluster = planner.plan(source.load(folder, root=folder, stack=stack, flags=arguments)).cluster
    assert cluster is not None
    return {"name": stack, "location": cluster.location}


def _gke_jobs(given: Any) -> Any:
    runs = _runs(given)
    name = given["job_name"]
    return [
        _parsed_job(
            jobs.simple_job(
                run,
                name=name,
                image=given["image"],
                min_cpu=given["min_cpu"],
                min_mem=given["min_mem"],
                index=index,
                mlflow=_has_mlflow(given.get("caliban_config")),
                labels=given.get("labels"),
                accelerator=_spec_of(given.get("accelerator"), given.get("accelerator_count", 1), check=False),
                machine_type=given.get("machine_type"),
                preemptible=given.get("preemptible", True),
            )
        )
        for index, run in enumerate(runs)
    ]


def _parsed_job(job: Any) -> Any:
    [container] = job["spec"]["template"]["spec"]["containers"]
    container["args"] = with_parsed_config(container["args"])
    return job


def _runs(given: Any) -> list[jobs.Run]:
    args = given.get("script_args") or ()
    return [jobs.Run(experiment=each, args=args, group=GROUP) for each in expansion.expand(given["experiment_config"])]


def _caip_jobs(given: Any) -> Any:
    """The training jobs, and on which machine of Vertex AI they run."""
    gpu = machines.parse_gpu_spec(given["gpu_spec"]) if given.get("gpu_spec") else None
    tpu = machines.parse_tpu_spec(given["tpu_spec"]) if given.get("tpu_spec") else None
    name = given.get("job_name") or project.default_job_name(USER)
    tags = jobs.job_labels(name, given["image_tag"], gpu, tpu, (given.get("labels") or {}).items())
    machine = project.vertex_requirements(gpu, tpu, machines.parse_machine_type(given["machine_type"]), given["region"])
    found = vertex_machine(machine)
    if isinstance(found, Problem):
        return REJECTED
    training: Mapping[str, Any] = {
        "image": given["image_tag"],
        "region": found.region,
        "machineType": found.machine_type,
        "accelerator": [found.accelerator_type, found.accelerator_count],
    }
    return list(jobs.job_specs(name, training, tags, _runs(given), mlflow=_has_mlflow(given.get("caliban_config"))))


def _local_jobs(given: Any) -> Any:
    result = []
    for index, run in enumerate(_runs(given)):
        has_mlflow = _has_mlflow(given.get("caliban_config"))
        job = jobs.local_job(run, given["mode"], "IMG", index, given.get("run_args"), mlflow=has_mlflow)
        result.append({**job, "command": with_parsed_config(job["command"])})
    return result


def _dockerfile(given: Any) -> Any:
    config = settings.validate(given.get("config") or {})
    with _project() as folder:
        package = packaging.generate_package(given["module"], folder)
    contents = packaging.Contents(
        apt_packages=settings.apt_packages(config, given["mode"]),
        extras=given.get("setup_extras"),
        conda=bool(given.get("conda_env_path")),
        requirements=bool(given.get("requirements_path")),
        directories=given.get("extra_dirs") or (),
        launcher_config=mlflow.launcher_config(config),
    )
    image = settings.base_image(config, given["mode"]) or settings.DEFAULT_BASE_IMAGES[given["mode"]]
    lines = packaging.dockerfile_instructions(package, contents)
    return [["FROM", image], *map(_instruction, lines), ["ENTRYPOINT", *packaging.entrypoint(package.command)]]


_RUNS = (
    ("groupadd", "create-group"),
    ("useradd", "create-user"),
    ("mkdir", "mkdir"),
    ("apt-get update", "apt"),
    (r"python -m pip install --no-cache-dir -r", "pip-requirements"),
    (r"python -m pip install", "pip-setup"),
    ("conda env update", "conda-env-update"),
)


def _instruction(line: str) -> list[str]:
    """An instruction as the vectors name it."""
    verb, _, rest = line.partition(" ")
    if verb == "RUN":
        if written := re.search(r"> (/\.resources)/(\S+)\Z", rest):
            return ["WRITE", written[2], written[1]]
        return ["RUN", next(name for pattern, name in _RUNS if re.match(pattern, rest))]
    if verb == "ENV":
        return ["ENV", rest.split()[0]]
    if verb == "COPY" and rest.startswith("--from"):
        return ["RUN", "fetch-cloud-sql-proxy"]
    if verb == "COPY":
        return ["COPY", *json.loads(rest.partition(" ")[2])]
    return [verb, rest]


ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "expand": _expand,
    "expand_error": _expand,
    "config_text": lambda given: _expand(commented_json.loads(given["text"], "experiment.json")),
    "args": lambda given: flags.experiment_to_args(given["kwargs"], given["base"]),
    "job_args": _job_args,
    "label_key": labels.key_label,
    "label_value": labels.value_label,
    "sanitize_labels": labels.sanitize_labels,
    "script_args_labels": _script_args_labels,
    "kv_pair": labels.parse_label,
    "gpu_spec": _spec(machines.parse_gpu_spec),
    "tpu_spec": _spec(machines.parse_tpu_spec),
    "accel_counts": _counts,
    "accel_machines": _machines,
    "accel_regions": _regions,
    "machine_type": _machine_type,
    "region": machines.parse_region,
    "job_mode": _job_mode,
    "calibanconfig": settings.validate,
    "base_image": _base_image,
    "apt": _apt,
    "script_args": flags.script_args,
    "extras": _extras,
    "package": _package,
    "entrypoint": _entrypoint,
    "image_tag": _image_tag,
    "mlflow_args": _mlflow_args,
    "launcher_config": _launcher_config,
    "launcher_merge": _launcher_merge,
    "launcher_cli": _launcher_cli,
    "sql_proxy": _sql_proxy,
    "gke_job_name": jobs.sanitize_job_name,
    "container_limits": _limits,
    "node_selector": _selector,
    "zone": _zone,
    "gke_gpu": _gke_gpu,
    "gke_tpu": _gke_tpu,
    "resource_limits": lambda _: [],
    "cluster_spec": _cluster_spec,
    "job_file": jobs.check_job_filename,
    "gke_job": _gke_jobs,
    "caip_job": _caip_jobs,
    "local_job": _local_jobs,
    "dockerfile": _dockerfile,
}
