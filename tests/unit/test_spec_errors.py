"""Mistakes in an experiment.yaml: each with its line, its key path and the remedy, all of them at once."""

# ruff: noqa: E501 - a row of a table reads best on one line

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.spec_files import HEAD, load, load_units, problems
from xmgen import catalog
from xmgen.errors import InputError
from xmgen.plan import planner

JOB = "job: {executable: trainer, executor: {kind: local}}"


RESOURCES = "known: cpu, ram, disk, architecture, location, replicas, service_tier, local_gpu, " + ", ".join(
    [*catalog.catalog().gpus, *catalog.catalog().tpus]
)
"""What a key of `requirements` may be; other hardware is never proposed for one that is none."""


def unit_problems(root: Path, units: str) -> list[str]:
    """units: what stands below `work_units:`, from line 5 on."""
    found = problems(root, HEAD + "".join(f"  {line}\n" for line in units.splitlines()))
    return [problem.replace(" work_units.", " …") for problem in found]


def test_everything_is_reported_together_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
titel: T
title: 5
executables:
  train: {kind: python_containr, path: code}
  other:
    kind: python_container
    path: nowhere
    entrypoint: {module: train}
work_units:
  a:
    job: {executable: trian, executor: {kind: local, requirements: {v10: 1}}}
    depends_on: [b]
  b:
    job: {executable: train, executor: {kind: local}, args: {x: [[1]]}}
    depends_on: [a, c]
"""
    assert problems(tmp_path, text) == [
        "12 work_units.a.depends_on: work units wait for each other: a -> b -> a",
        "1 titel: unknown key 'titel'\n  did you mean 'title'?",
        "2 title: must be a text, not the number 5\n  quote it",
        "4 executables.train.kind: unknown kind 'python_containr'\n  did you mean 'python_container'?",
        "4 executables.train: the key 'entrypoint' is missing",
        "7 executables.other.path: there is no folder 'nowhere'",
        "8 executables.other.entrypoint.module: unknown key 'module'\n  did you mean 'module_name'?",
        "11 work_units.a.job.executable: there is no executable 'trian'\n  did you mean 'train'?",
        f"11 work_units.a.job.executor.requirements.v10: unknown key 'v10'\n  {RESOURCES}",
        "14 work_units.b.job.args.x: a list in a list cannot be an argument\n  quote it if the text is meant",
        "15 work_units.b.depends_on[1]: there is no work unit 'c'\n  known: a, b",
    ]


def test_what_is_wrong_below_an_unknown_kind_is_reported_with_it(tmp_path: Path) -> None:
    """A misspelt kind is taken for the one that is meant; of any other, what is wrong whichever it is."""
    text = """\
title: T
executables:
  meant: {kind: python_containr, path: nowhere, entrypont: {module_name: train}}
  any: {kind: pod, image_path: redis, nonsense: 1, env: {}}
  none: {path: code, push_image_tag: 5}
work_units:
  a: {job: {executable: meant, executor: {kind: kubernete, cpus: 1, requirements: {t44: 1}}}}
  b:
    jobs:
      one: {executable: meant, executor: {kind: gce, cpus: 1, requirements: {t44: 1}, service: true}}
"""
    assert problems(tmp_path, text) == [
        "3 executables.meant.kind: unknown kind 'python_containr'\n  did you mean 'python_container'?",
        "3 executables.meant: the key 'entrypoint' is missing",
        "3 executables.meant.path: there is no folder 'nowhere'",
        "3 executables.meant.entrypont: unknown key 'entrypont'\n  did you mean 'entrypoint'?",
        "4 executables.any.kind: unknown kind 'pod'\n  known: binary, container, dockerfile, python_container",
        "4 executables.any.nonsense: unknown key 'nonsense'",
        "4 executables.any.env: unknown key 'env'",
        "5 executables.none: the key 'kind' is missing\n  one of python_container, dockerfile, container, binary",
        "7 work_units.a.job.executor.kind: unknown kind 'kubernete'\n  did you mean 'kubernetes'?",
        f"7 work_units.a.job.executor.requirements.t44: unknown key 't44'\n  {RESOURCES}",
        "7 work_units.a.job.executor.cpus: unknown key 'cpus'\n  known: kind, priority, requirements, reservation, retries, service, shared_memory, tpu_runtime_version, volumes",
        "10 work_units.b.jobs.one.executor.kind: unknown kind 'gce'\n  known: kubernetes, local, vertex",
        f"10 work_units.b.jobs.one.executor.requirements.t44: unknown key 't44'\n  {RESOURCES}",
        "10 work_units.b.jobs.one.executor.cpus: unknown key 'cpus'",
    ]


def test_an_unknown_kind_alone_is_one_problem(tmp_path: Path) -> None:
    assert unit_problems(tmp_path, "a: {job: {executable: trainer, executor: {kind: Vertex, timeout: 60}}}") == [
        "5 …a.job.executor.kind: unknown kind 'Vertex'\n  did you mean 'vertex'?"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title: T\n", ["1: the key 'executables' is missing", "1: the key 'work_units' is missing"]),
        (
            "title: ' '\nexecutables: {}\nwork_units:\n",
            [
                "1 title: must not be empty",
                "2 executables: must not be empty",
                "3 work_units: must be a mapping, not empty",
            ],
        ),
        (HEAD.replace("T\n", "''\n") + f"  a: {{{JOB}}}\n", ["1 title: must not be empty"]),
    ],
)
def test_a_section_that_is_missing_or_empty_is_named(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert problems(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("executable", "expected"),
    [
        ("5", ": must be a mapping, not the number 5"),
        ("{path: code}", ": the key 'kind' is missing\n  one of python_container, dockerfile, container, binary"),
        ("{kind: 5}", ".kind: unknown kind '5'\n  known: binary, container, dockerfile, python_container"),
        ("{kind: container}", ": the key 'image_path' is missing"),
        ("{kind: container, image: x, image_path: y}", ".image: unknown key 'image'\n  did you mean 'image_path'?"),
        ("{kind: container, image_path: ''}", ".image_path: must not be empty"),
        ("{kind: container, image_path: x, env: {}}", ".env: unknown key 'env'\n  did you mean 'env_vars'?"),
        (
            "{kind: python_container, entrypoint: {}}",
            ".entrypoint: needs exactly one of module_name, commands; has none of them",
        ),
        (
            "{kind: python_container, entrypoint: {module_name: a, commands: [b]}}",
            ".entrypoint: needs exactly one of module_name, commands; has commands and module_name",
        ),
        ("{kind: python_container, entrypoint: {commands: []}}", ".entrypoint.commands: must not be empty"),
        ("{kind: python_container, entrypoint: train}", ".entrypoint: must be a mapping, not the text 'train'"),
        (
            "{kind: python_container, path: code/train.py, entrypoint: {module_name: a}}",
            ".path: 'code/train.py' is a file, not a folder",
        ),
        ("{kind: dockerfile, path: ..}", ".path: '..' lies outside the project"),
        (f"{{kind: dockerfile, path: {'x' * 400}}}", f".path: '{'x' * 40}' cannot be read: File name too long"),
        ("{kind: dockerfile, path: code}", ": there is no file 'code/Dockerfile'"),
        ("{kind: dockerfile, path: code, dockerfile: code}", ".dockerfile: 'code' is a folder, not a file"),
        ("{kind: binary, path: tool}", ".path: there is no file 'tool'"),
        ("{kind: binary, path: /bin/sh}", ".path: '/bin/sh' is not a relative path\n  write it relative to this file"),
        ('{kind: binary, path: "a\\0"}', r".path: 'a\x00' is not a relative path" "\n  write it relative to this file"),
    ],
)  # fmt: skip
def test_executables(tmp_path: Path, executable: str, expected: str) -> None:
    text = f"title: T\nexecutables:\n  e: {executable}\nwork_units:\n  u: {{job: {{executable: e, executor: {{kind: local}}}}}}\n"
    assert problems(tmp_path, text) == [f"3 executables.e{expected}"]


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ("local", ": must be a mapping, not the text 'local'\n  write {kind: local}"),
        ("{}", ": the key 'kind' is missing\n  one of local, kubernetes, vertex"),
        ("{kind: Local}", ".kind: unknown kind 'Local'\n  did you mean 'local'?"),
        ("{kind: vertex, service: true}", ".service: unknown key 'service'\n  did you mean 'service_account'?"),
        ("{kind: local, service: 1}", ".service: must be true or false, not the number 1"),
        ("{kind: local, service: yes}", ".service: must be true or false, not the text 'yes'"),
        ("{kind: local, requirements: {cpu: '1'}}", ".requirements.cpu: must be a number, not the text '1'"),
        ("{kind: local, requirements: {cpu: 0}}", ".requirements.cpu: input should be greater than 0"),
        (
            "{kind: local, requirements: {ram: 4Gi}}",
            ".requirements.ram: must be a number of bytes, or a text such as 4GiB\n"
            "  units: KiB, MiB, GiB, TiB, PiB, KB, MB, GB, TB, PB",
        ),
        (
            "{kind: local, requirements: {ram: 0}}",
            ".requirements.ram: must be a number of bytes, or a text such as 4GiB\n"
            "  units: KiB, MiB, GiB, TiB, PiB, KB, MB, GB, TB, PB",
        ),
        ("{kind: local, requirements: {memory: 1}}", ".requirements.memory: unknown key 'memory'\n  did you mean 'ram'?"),
        ("{kind: local, requirements: {T4: 1}}", ".requirements.T4: unknown key 'T4'\n  did you mean 't4'?"),
        ("{kind: local, requirements: {v10: 1}}", f".requirements.v10: unknown key 'v10'\n  {RESOURCES}"),
        ("{kind: local, requirements: {gpu: 1}}", f".requirements.gpu: unknown key 'gpu'\n  say which: {', '.join(catalog.catalog().gpus)}, local_gpu"),
        ("{kind: local, requirements: {a100_60gb: 1}}", f".requirements.a100_60gb: unknown key 'a100_60gb'\n  {RESOURCES}"),
        ("{kind: local, requirements: {t4: 1.5}}", ".requirements.t4: must be the number of GPUs per replica, 1 or more"),
        ("{kind: local, requirements: {t4: true}}", ".requirements.t4: must be the number of GPUs per replica, 1 or more"),
        (
            "{kind: local, requirements: {v100: 4x2}}",
            ".requirements.v100: GPUs have no topology\n  give the number per replica here, and `replicas` beside it",
        ),
        (
            "{kind: local, requirements: {tpu_v5e: 4x}}",
            ".requirements.tpu_v5e: must be a number of chips, or a topology such as 4x4\n  slices are written 4x4*2",
        ),
        (
            "{kind: local, requirements: {t4: 1, tpu_v2: 8}}",
            ".requirements: a job has one kind of accelerator, not t4 and tpu_v2",
        ),
        (
            "{kind: local, requirements: {service_tier: bach}}",
            ".requirements.service_tier: the text 'bach' is not one of prod, batch, freebie\n  did you mean 'batch'?",
        ),
        ("{kind: local, docker_options: {ports: {http: 80}}}", ".docker_options.ports.http: input should be a valid integer, unable to parse string as an integer"),
        ("{kind: local, docker_options: {ports: {80: '80'}}}", ".docker_options.ports.80: must be a whole number, not the text '80'"),
        ("{kind: local, docker_options: {ports: {80: 65536}}}", ".docker_options.ports.80: input should be less than or equal to 65535"),
        ("{kind: local, docker_options: {volumes: {../x: /y}}}", ".docker_options.volumes.'../x': '../x' lies outside the project"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_executor_is_said_where_it_stands(tmp_path: Path, executor: str, expected: str) -> None:
    found = unit_problems(tmp_path, f"u: {{job: {{executable: trainer, executor: {executor}}}}}")
    assert found == [f"5 …u.job.executor{expected}"]


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("args: 5", ".args: must be a mapping, not the number 5"),
        ("args: {a: {b: 1}}", ".args.a: a mapping cannot be an argument\n  only `{shell: text}` and `{address: job}` can; quote it if the text is meant"),
        ("args: {a: {shell: 1}}", ".args.a: a mapping cannot be an argument\n  only `{shell: text}` and `{address: job}` can; quote it if the text is meant"),
        ("args: {a: [null]}", ".args.a: null cannot stand in a list of values\n  quote it if the text is meant: 'null'"),
        ("args: [a, null]", ".args[1]: null cannot stand in a list of values\n  quote it if the text is meant: 'null'"),
        ("args: [true]", ".args[0]: true cannot stand alone in a list of arguments\n  quote it if the text is meant: 'true'"),
        ("args: {'': 1}", ".args.'': an argument's name is empty"),
        ('args: {a: "\\0"}', ".args.a: holds a NUL character, which no argument or variable can"),
        ("env_vars: {A: true}", ".env_vars.A: an environment variable is a text or a number, not true\n  quote it if the text is meant: 'true'"),
        ("env_vars: {A: }", ".env_vars.A: an environment variable is a text or a number, not null\n  quote it if the text is meant: 'null'"),
        ("env_vars: {A: [1]}", ".env_vars.A: an environment variable is a text, a number, `{secret: name}` or `{address: job}`"),
        ("env_vars: {A: {b: c}}", ".env_vars.A: a mapping cannot be an environment variable\n  only `{secret: name}` and `{address: job}` can"),
        ("args: {a: {address: 5}}", ".args.a: an address is the name of a job of the group, and a port if need be\n  such as `{address: ps:2222}`"),
        ("args: {a: {address: []}}", ".args.a: an address is the name of a job of the group, and a port if need be\n  such as `{address: ps:2222}`"),
        ("args: {a: {address: 'ps:0'}}", ".args.a: 0 is no port\n  from 1 to 65535, such as `{address: ps:2222}`"),
        ("env_vars: {A: {address: [ps, 'ps:99999']}}", ".env_vars.A: 99999 is no port\n  from 1 to 65535, such as `{address: ps:2222}`"),
        *(
            (f"env_vars: {{A: {{secret: {written}}}}}", f".env_vars.A: {name!r} cannot name a secret\n  {rule}")
            for written, name, rule in (
                ('"a:b:c"', "a:b:c", "letters, digits, `.`, `_` and `-`, such as apiKey"),
                ('"x\\ny"', "x\ny", "letters, digits, `.`, `_` and `-`, such as apiKey"),
                ('"a b"', "a b", "letters, digits, `.`, `_` and `-`, such as apiKey"),
                ('"xmgen:cpus"', "xmgen:cpus", "that is configuration in plain text: call the secret otherwise, such as apiKey"),
                ("owner", "owner", "that is configuration in plain text: call the secret otherwise, such as apiKey"),
            )
        ),
        ("env_vars: {A: {address: 'ps:x'}}", ".env_vars.A: an address is the name of a job of the group, and a port if need be\n  such as `{address: ps:2222}`"),
        ("env_vars: {1A: x}", ".env_vars.1A: '1A' cannot name an environment variable\n  letters, digits and _, no digit first"),
        ("env_vars: {A-B: x}", ".env_vars.A-B: 'A-B' cannot name an environment variable\n  letters, digits and _, no digit first"),
        ("env_vars: [A]", ".env_vars: must be a mapping, not a list"),
    ],
)  # fmt: skip
def test_arguments_and_variables(tmp_path: Path, job: str, expected: str) -> None:
    found = unit_problems(tmp_path, f"u: {{job: {{executable: trainer, executor: {{kind: local}}, {job}}}}}")
    assert found == [f"5 …u.job{expected}"]


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ("u: {job: {executable: trainer, executor: {kind: local}, args: [{address: u}]}}", ["5 …u: a job alone has nobody to find at an address\n  jobs that start together stand under `jobs`"]),
        ("u: {jobs: {a: {executable: trainer, executor: {kind: local}, args: [{address: ab}]}}}", ["5 …u: there is no job 'ab' in this group to address\n  did you mean 'a'?"]),
        ("u: {jobs: {a: {executable: trainer, executor: {kind: local}}}, sweep: {list: [{a: {env_vars: {A: {address: b}}}}]}}", ["5 …u: there is no job 'b' in this group to address\n  known: a"]),
        ("u: {jobs: {a: {executable: trainer, executor: {kind: vertex}, args: [{address: a}]}}}", ["5 …u: jobs on Vertex AI have no addresses before they run\n  let the program read CLUSTER_SPEC"]),
        ("u: {}", ["5 …u: the key 'job' is missing\n  or `jobs`, for a group"]),
        ("u: {jobs: {}}", ["5 …u.jobs: must not be empty"]),
        (f"u: {{{JOB}, jobs: {{a: 5}}}}", ["5 …u.jobs.a: must be a mapping, not the number 5", "5 …u.job: cannot stand beside `jobs`"]),
        ("u: {job: {executor: {kind: local}}}", ["5 …u.job: the key 'executable' is missing"]),
        ("u: {job: {executable: trainer}}", ["5 …u.job: the key 'executor' is missing"]),
        (f"a b: {{{JOB}}}", ["5 …'a b': 'a b' cannot be a name\n  up to 63 letters, digits, _ and -; no - at the start"]),
        (f"..: {{{JOB}}}", ["5 …'..': '..' cannot be a name\n  up to 63 letters, digits, _ and -; no - at the start"]),
        (f"u: {{{JOB}, depend_on: [u]}}", ["5 …u.depend_on: unknown key 'depend_on'\n  did you mean 'depends_on'?"]),
        (f"u: {{{JOB}, depends_on: v}}", ["5 …u.depends_on: must be a list, not the text 'v'"]),
        (f"u: {{{JOB}, depends_on: [u]}}", ["5 …u.depends_on: work units wait for each other: u -> u"]),
        (f"one: {{{JOB}}}\ntwo: {{{JOB}, depends_on: [on]}}", ["6 …two.depends_on[0]: there is no work unit 'on'\n  did you mean 'one'?"]),
        (f"u: {{{JOB}, role: aux}}", ["5 …u.role: the text 'aux' is not one of work_unit, auxiliary\n  known: auxiliary, work_unit"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_work_unit_is_said_where_it_stands(
    tmp_path: Path, units: str, expected: list[str]
) -> None:
    assert unit_problems(tmp_path, units) == expected


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("[]", ": must not be empty"),
        ("5", ": must be a mapping, not the number 5"),
        ("{}", ": needs exactly one of grid, zip, list, random; has none of them"),
        ("{grid: {args: {a: [1]}}, zip: {args: {a: [1]}}}", ": needs exactly one of grid, zip, list, random; has grid and zip"),
        ("{grids: {args: {a: [1]}}}", ".grids: unknown key 'grids'\n  did you mean 'grid'?"),
        ("{grid: {}}", ": the sweep is empty\n  it needs `args` or `env_vars` with at least one name"),
        ("{grid: {args: {}}}", ": the sweep is empty\n  it needs `args` or `env_vars` with at least one name"),
        ("{grid: {a: [1]}}", ".grid.a: unknown key 'a'\n  known: args, env_vars"),
        ("{grid: {args: {a: []}}}", ".grid.args.a: must not be empty"),
        ("{grid: {args: {a: 1}}}", ".grid.args.a: must be a list, not the number 1"),
        ("{zip: {args: {a: [1], b: [1, 2]}}}", ": zip needs lists of one length\n  a has 1, b has 2"),
        ("{list: []}", ".list: must not be empty"),
        ("{list: [5]}", ".list[0]: must be a mapping, not the number 5"),
        ("{grid: {args: {a: [1]}}, count: 5}", ": count and seed belong to a random block"),
        ("{random: {args: {a: {uniform: [0, 1]}}}}", ": a random block needs a count\n  such as `count: 20`"),
        ("{random: {args: {}}, count: 1}", ": the sweep is empty\n  it needs `args` or `env_vars` with at least one name"),
        ("{random: {args: {a: {uniform: [0, 1]}}}, num_trials: 5, count: 1}", ".num_trials: unknown key 'num_trials'\n  did you mean 'count'?"),
        ("{random: {args: {a: {uniform: [0]}}}, count: 1}", ".random.args.a.uniform: needs 2 items, not 1"),
        ("{random: {args: {a: {uniform: [0, 1, 2]}}}, count: 1}", ".random.args.a.uniform: needs 2 items, not 3"),
        ("{random: {args: {a: {uniform: [1, 0]}}}, count: 1}", ".random.args.a: the lowest value comes first, and the highest is above it"),
        ("{random: {args: {a: {log_uniform: [0, 1]}}}, count: 1}", ".random.args.a: log_uniform needs values above 0"),
        ("{random: {args: {a: {int: [0.5, 1]}}}, count: 1}", ".random.args.a.int[0]: must be a whole number, not the number 0.5"),
        ("{random: {args: {a: {uniform: [0, .inf]}}}, count: 1}", ".random.args.a.uniform[1]: input should be a finite number"),
        ("{random: {args: {a: {normal: [0, 1]}}}, count: 1}", ".random.args.a.normal: unknown key 'normal'\n  did you mean 'uniform'?"),
        ("[{grid: {args: {a: [1]}}}, {list: [{args: {a: 1}}]}]", ": a is swept by two blocks\n  the later would hide the earlier"),
        (f"[{{grid: {{args: {{a: &l [{', '.join(['1'] * 400)}], b: *l}}}}}}]", ": the sweep has 160000 trials, more than 100000\n  a random block takes a sample"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_sweep_is_said_where_it_stands(tmp_path: Path, sweep: str, expected: str) -> None:
    place = "" if expected.startswith((": a is", ": the sweep has")) else ".sweep"
    assert unit_problems(tmp_path, f"u: {{{JOB}, sweep: {sweep}}}") == [f"5 …u{place}{expected}"]


def test_a_sweep_that_means_a_job_the_group_does_not_have(tmp_path: Path) -> None:
    units = (
        "u:\n"
        "  jobs:\n"
        "    server: {executable: trainer, executor: {kind: local}}\n"
        "  sweep: {grid: {sever: {args: {a: [1]}}}}\n"
    )
    assert unit_problems(tmp_path, units) == [
        "5 …u: the sweep sets values of 'sever', which is no job of this group\n  did you mean 'server'?"
    ]


def test_a_mistake_behind_an_alias_is_reported_where_it_is_used(tmp_path: Path) -> None:
    text = (
        "x-job: &job\n"
        "  executable: trainer\n"
        "  executr: {kind: local}\n" + HEAD + "  a: {job: *job}\n  b: {job: {<<: *job, executor: {kind: local}}}\n"
    )
    assert problems(tmp_path, text) == [
        "3 work_units.a.job.executr: unknown key 'executr'\n  did you mean 'executor'?",
        "3 work_units.b.job.executr: unknown key 'executr'\n  did you mean 'executor'?",
        "8 work_units.a.job: the key 'executor' is missing",
    ]


def test_braces_in_a_name_are_no_template(tmp_path: Path) -> None:
    assert unit_problems(tmp_path, "u: {job: {executable: '{message} {0}', executor: {kind: local}}}") == [
        "5 …u.job.executable: there is no executable '{message} {0}'\n  known: trainer"
    ]


def machine_problems(root: Path, units: str) -> list[tuple[str, str, str]]:
    """What the planner says of a file that is right in itself."""
    experiment = load_units(root, units)
    with pytest.raises(InputError) as caught:
        planner.plan(experiment)
    return [(each.where, each.message, each.hint) for each in caught.value.problems]


def test_what_no_machine_has_is_said_of_the_requirements_that_ask_for_it(tmp_path: Path) -> None:
    found = machine_problems(
        tmp_path,
        """\
a:
  job:
    executable: trainer
    executor:
      kind: kubernetes
      requirements: {t4: 1, cpu: 96}
b:
  jobs:
    one: {executable: trainer, executor: {kind: kubernetes, requirements: {a100: 3}}}
    two: {executable: trainer, executor: {kind: kubernetes, requirements: {tpu_v5e: 3x5}}}
""",
    )
    assert [(where, message) for where, message, _ in found] == [
        (
            "experiment.yaml:10 work_units.a.job.executor.requirements, work unit 1, job a",
            "no machine has room for 96 vCPUs, 2 GiB of memory with t4=1",
        ),
        (
            "experiment.yaml:13 work_units.b.jobs.one.executor.requirements, work unit 2, job one",
            "a100=3: no machine has 3 of these GPUs",
        ),
        (
            "experiment.yaml:14 work_units.b.jobs.two.executor.requirements, work unit 2, job two",
            "tpu_v5e has no topology '3x5'",
        ),
    ]
    assert found[2][2] == "known: 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16"


def test_executors_of_several_places_are_for_several_files(tmp_path: Path) -> None:
    found = machine_problems(
        tmp_path,
        """\
a: {job: {executable: trainer, executor: {kind: local}}}
b: {job: {executable: trainer, executor: {kind: vertex}}}
""",
    )
    assert found == [
        (
            "experiment.yaml:6 work_units.b.job.executor, work unit 2, job b",
            "some work units run on this machine and others on Vertex AI, but a stack runs in one place",
            "compile them into stacks of their own: move some to a file of their own",
        )
    ]


def test_a_program_of_this_machine_is_none_for_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
    with pytest.raises(InputError) as caught:
        planner.plan(
            load(
                tmp_path,
                """\
title: T
executables:
  tool: {kind: binary, path: tool}
work_units:
  a: {job: {executable: tool, executor: {kind: kubernetes}}}
""",
            )
        )
    assert [each.where for each in caught.value.problems] == ["experiment.yaml:3 executables.tool"]
