"""What stacks on Google Cloud declare alike, wherever jobs run: APIs, bucket, TensorBoards, repository, images."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from xmgen import names, resource_types
from xmgen.executors import registry
from xmgen.experiment import Experiment, Reference
from xmgen.plan.model import Plan, PlannedImage
from xmgen.plan.resources import (
    ConfigurationKey,
    Input,
    Not,
    Options,
    Output,
    Resource,
    Setting,
    Text,
    Variable,
)

PROJECT, REGION, LABELS = Variable("project"), Variable("region"), Variable("labels")
DELETE_OUTPUTS = Variable("delete_outputs")

OBJECT_USER, OBJECT_VIEWER = "roles/storage.objectUser", "roles/storage.objectViewer"
TENSORBOARD_ROLE = "roles/aiplatform.user"

NEEDED = ConfigurationKey()
OPTIONAL = ConfigurationKey(required=False)
SWITCH = ConfigurationKey(type="boolean")


def services(apis: Iterable[str]) -> Resource:
    return Resource(
        variable="services",
        name=Variable("service"),
        type=resource_types.API,
        inputs={"service": Text((Variable("service"), ".googleapis.com")), "disableOnDestroy": False},
        over=("service", tuple(sorted(apis))),
        why="APIs stay enabled after `destroy`: other parts of the project may have come to use them.",
    )


def service(variable: str, api: str) -> Resource:
    """One more API, beside those that every stack needs."""
    inputs: dict[str, Input] = {"service": f"{api}.googleapis.com", "disableOnDestroy": False}
    return Resource(variable=variable, name=api, type=resource_types.API, inputs=inputs)


def labels(experiment: Experiment) -> dict[str, Input]:
    label = names.gcp_label(experiment.title) or experiment.stack
    return {"experiment": label, "stack": experiment.stack, "owner": Setting("owner")}


def account(variable: str, name: str, title: str, stack: str, *depends_on: str, why: str = "") -> Resource:
    """A service account of the stack's."""
    return Resource(
        variable=variable,
        name=name,
        type=resource_types.ACCOUNT,
        inputs={"accountId": names.service_account(stack, name), "displayName": f"{title} of {stack}"},
        options=Options(depends_on=depends_on or ("*services",)),
        why=why,
    )


def bucket(stack: str, variable: str, *, why: str, unless: str = "") -> Resource:
    """Where jobs write. What they wrote outlives the stack, unless the user wants otherwise."""
    return Resource(
        variable=variable,
        name=names.output_bucket(stack),
        type=resource_types.BUCKET,
        inputs={
            "location": REGION,
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "forceDestroy": DELETE_OUTPUTS,
            "labels": LABELS,
        },
        options=Options(depends_on=("*services",), retain_on_delete=Not(DELETE_OUTPUTS)),
        unless=unless,
        why=why,
    )


def tensorboard_variables(experiment: Experiment) -> dict[Reference, str]:
    """What the program calls each TensorBoard."""
    boards = [reference for reference in experiment.references if reference.kind == "tensorboard"]
    return dict(zip(boards, names.unique(names.identifier(f"tensorboard {b.name}") for b in boards), strict=True))


def tensorboards(experiment: Experiment, depends_on: str) -> list[Resource]:
    return [
        Resource(
            variable=variable,
            name=board.name,
            type=resource_types.TENSORBOARD,
            inputs={"displayName": board.name, "region": REGION, "labels": LABELS},
            options=Options(depends_on=(depends_on,), retain_on_delete=Not(DELETE_OUTPUTS)),
        )
        for board, variable in tensorboard_variables(experiment).items()
    ]


def may(variable: str, key: str, bucket: Input, role: str, account: str) -> Resource:
    """A right of an account on a bucket, one of a list."""
    return Resource(
        variable=variable,
        key=key,
        name=key,
        type=resource_types.BUCKET_MEMBER,
        inputs={"bucket": bucket, "role": role, "member": Output(account, "member")},
    )


def may_in_project(variable: str, key: str, project: Input, role: str, account: str) -> Resource:
    return Resource(
        variable=variable,
        key=key,
        name=key,
        type=resource_types.PROJECT_MEMBER,
        inputs={"project": project, "role": role, "member": Output(account, "member")},
    )


def references(experiment: Experiment, output: Input) -> dict[str, Input]:
    """What manifests can only name: tokens, and what each stands for. output: the name of the stack's bucket."""
    boards = tensorboard_variables(experiment)
    result: dict[str, Input] = {}
    for reference in experiment.references:
        match reference.kind:
            case "tensorboard":
                result[reference.token] = Output(boards[reference], "name")
            case "bucket":
                # A stack has one bucket, whatever a launch script calls it.
                result[reference.token] = output
            case "config":
                result[reference.token] = PROJECT if reference.name == "gcp:project" else Setting(reference.name)
            case "secret":
                pass
    return result


def configuration(experiment: Experiment) -> dict[str, ConfigurationKey]:
    """What the experiment itself takes from the stack's configuration."""
    return {
        reference.name: ConfigurationKey(secret=reference.kind == "secret")
        for reference in experiment.references
        if reference.kind in ("config", "secret")
    }


def images(plan: Plan) -> Iterator[Resource]:
    """The repository, the guards of the code, and the images."""
    stack = plan.experiment.stack
    if any(image.push_tag is None for image in plan.images):
        yield Resource(
            variable="repository",
            name=names.on_google(stack),
            type=resource_types.REPOSITORY,
            inputs={"repositoryId": names.on_google(stack), "location": REGION, "format": "DOCKER", "labels": LABELS},
            options=Options(depends_on=("*services",)),
        )
    yield from _shared_repositories(plan)
    folders = _folders(plan)
    for (directory, digest, exclude), name in folders.items():
        inputs: dict[str, Input] = {"directory": directory, "digest": digest}
        if exclude:
            inputs["exclude"] = list(exclude)
        yield Resource(variable="code", key=name, name=name, type=resource_types.CODE, inputs=inputs)
    for image in plan.images:
        yield Resource(
            variable="images",
            key=image.name,
            name=image.name,
            type=resource_types.IMAGE,
            inputs={
                "tags": [_tag(parts) for parts in registry.target(image).tags],
                # Pulumi runs the program in the folder that `main` of Pulumi.yaml names.
                "context": {"location": posixpath.relpath(image.context, "stacks")},
                "dockerfile": {"location": posixpath.relpath(image.dockerfile, "stacks")},
                "platforms": [f"linux/{architecture}" for architecture in image.architectures],
                "push": True,
                "buildOnPreview": False,
            },
            options=Options(depends_on=(f"code.{folders[_folder(image)]}",)),
        )


def registry_variable(plan: Plan) -> dict[str, Input]:
    """What the names of images in the stack's own repository begin with."""
    if all(image.push_tag is not None for image in plan.images):
        return {}
    host = (REGION, "-docker.pkg.dev/", PROJECT, "/", Output("repository", "repositoryId"))
    return {"registry": Text(host)}


def shared_repositories(plan: Plan) -> list[registry.Shared]:
    """Repositories that exist once in a project and belong to no stack."""
    targets = (registry.target(image).shared for image in plan.images)
    return sorted({shared for shared in targets if shared is not None}, key=lambda shared: shared.name)


def _shared_repositories(plan: Plan) -> Iterator[Resource]:
    for shared in shared_repositories(plan):
        yield Resource(
            variable=f"repository_{names.identifier(shared.name)}",
            name=shared.name,
            type=resource_types.REPOSITORY,
            inputs={
                "repositoryId": shared.repository,
                "location": shared.location,
                "project": shared.project or PROJECT,
                "format": "DOCKER",
            },
            options=Options(depends_on=("*services",), retain_on_delete=True),
            only_if="createGcrRepository",
            why=f"{shared.repository} exists once in a project and belongs to no stack: it is looked up. "
            "`createGcrRepository` makes it, and `destroy` leaves it.",
        )


def _folders(plan: Plan) -> dict[tuple[str, str, tuple[str, ...]], str]:
    """The code that images are built from, which several may be, and what its guard is called."""
    distinct = dict.fromkeys(_folder(image) for image in plan.images)
    stack = plan.experiment.stack
    wanted = (
        stack if directory == "." else names.slug(directory) or names.short_hash(directory)
        for directory, _, _ in distinct
    )
    return dict(zip(distinct, names.unique(wanted), strict=True))


def _folder(image: PlannedImage) -> tuple[str, str, tuple[str, ...]]:
    return image.directory, image.digest, image.exclude


def _tag(parts: tuple[registry.Part, ...]) -> Input:
    if len(parts) == 1 and parts[0].text:
        return parts[0].text
    return Text(tuple(Variable(part.word, plain=False) if part.word else part.text for part in parts))
