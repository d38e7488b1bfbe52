"""`.calibanconfig.json`: its schema, and what it says of the image. Unknown keys are refused, as by Caliban."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
)

from xmgen import rules
from xmgen.errors import InputError, Problem, did_you_mean
from xmgen.frontends.caliban import commented_json

FILE = ".calibanconfig.json"

JobMode = Literal["CPU", "GPU"]

DEFAULT_BASE_IMAGES: dict[JobMode, str] = {
    "CPU": "gcr.io/blueshift-playground/blueshift:cpu-ubuntu1804-py37",
    "GPU": "gcr.io/blueshift-playground/blueshift:gpu-ubuntu1804-py37-cuda101",
}
"""Caliban's own. It built them from Ubuntu 18.04 with Python 3.7; a project that is alive names a newer one."""

DEEP_LEARNING_VERSIONS = {
    "pytorch": ("1.0", "1.1", "1.2", "1.3", "1.4"),
    "tf": ("1.0", "1.13", "1.14", "1.15"),
    "tf2": ("2.0", "2.1", "2.2"),
}
_DEEP_LEARNING_IMAGE = re.compile(r"dlvm:(?P<library>pytorch|tf|tf2)-(?P<mode>cpu|gpu)(?:-(?P<version>[\d.]+))?")


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _apt_packages(value: object) -> object:
    if isinstance(value, dict | list):
        return cast(object, value)
    raise ValueError('write a list of packages, or {"cpu": […], "gpu": […]}')


def _package(value: str) -> str:
    if rule := rules.not_a_debian_package(value):
        raise ValueError(f"{value!r} is no package of Debian: {rule}")
    return value


def _base_image(value: object) -> object:
    if isinstance(value, str | dict):
        return cast(object, value)
    raise ValueError('write an image, or {"cpu": image, "gpu": image}')


Name = Annotated[str, StringConstraints(min_length=1)]
Package = Annotated[str, AfterValidator(_package)]
Image = Annotated[str, BeforeValidator(lambda value: deep_learning_image(value) if isinstance(value, str) else value)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _AptByMode(_Model):
    gpu: list[Package] = []
    cpu: list[Package] = []


class _ImageByMode(_Model):
    # May be left out, but not be null.
    cpu: Image = ""
    gpu: Image = ""


class _Gcloud(_Model):
    project_id: Name = ""
    cloud_key: Name = ""


class _Mlflow(_Model):
    project: str
    region: str
    db: str
    user: str
    password: str
    artifact_root: str
    debug: bool = False


class _UvMlflow(_Model):
    pubsub_project: str = ""
    pubsub_topic: str = "mlflow"


class _Uv(_Model):
    mlflow: _UvMlflow = Field(default_factory=_UvMlflow)


def _by_mode(value: object) -> str:
    # Chosen by what the user wrote, so that an error is of that alternative alone.
    return "by mode" if isinstance(value, dict | BaseModel) else "plain"


AptPackages = Annotated[
    Annotated[list[Package], Tag("plain")] | Annotated[_AptByMode, Tag("by mode")], Discriminator(_by_mode)
]
BaseImage = Annotated[Annotated[Image, Tag("plain")] | Annotated[_ImageByMode, Tag("by mode")], Discriminator(_by_mode)]


class _Config(_Model):
    apt_packages: Annotated[AptPackages, BeforeValidator(_apt_packages)] = Field(default_factory=_AptByMode)
    base_image: Annotated[BaseImage, BeforeValidator(_base_image)] | None = None
    build_time_credentials: bool = False
    default_mode: Annotated[JobMode, BeforeValidator(_upper)] = "CPU"
    gcloud: _Gcloud = Field(default_factory=_Gcloud)
    julia_version: Annotated[str, StringConstraints(strip_whitespace=True)] | None = None
    mlflow_config: _Mlflow | None = None
    uv: _Uv = Field(default_factory=_Uv)


class Config(TypedDict):
    """What `.calibanconfig.json` says, with the defaults that Caliban fills in. mlflow_config: with the keys of
    `_Mlflow`, of which nothing of ours reads the password: it is a secret of the stack's configuration.
    """

    base_image: str | dict[str, str | None] | None
    apt_packages: list[str] | dict[str, list[str]]
    build_time_credentials: bool
    default_mode: JobMode
    gcloud: dict[str, str]
    julia_version: str | None
    mlflow_config: dict[str, Any] | None
    uv: dict[str, dict[str, Any]]


_KEYS = frozenset(
    key for model in (_Config, _AptByMode, _ImageByMode, _Gcloud, _Mlflow, _Uv, _UvMlflow) for key in model.model_fields
)
_SCALAR_DEFAULTS: dict[str, Any] = {"base_image": None, "julia_version": None, "mlflow_config": None}


def read(folder: Path) -> Config:
    """The validated configuration of a project's folder; a project without the file has the defaults."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return validate({})
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(f"cannot be read: {error}", str(file))) from None
    return validate(commented_json.loads(text, FILE))


def validate(config: object) -> Config:
    """The configuration with its defaults. Raises InputError with everything that is wrong."""
    problems = [
        # A default may be null; what is written may not.
        Problem("null is no value", f"{FILE} {key}", "leave the key out")
        for key, value in (cast("dict[str, object]", config).items() if isinstance(config, dict) else ())
        if key in _SCALAR_DEFAULTS and value is None
    ]
    try:
        valid = _Config.model_validate(config)
    except ValidationError as failure:
        problems += list(dict.fromkeys(_problem(error) for error in failure.errors()))
    else:
        if not problems:
            return _with_defaults(valid)
    raise InputError(*problems)


def _with_defaults(valid: _Config) -> Config:
    """What is written, and defaults of the keys that are not: below the top only those that Caliban fills in."""
    written = valid.model_dump(exclude_unset=True)
    result: dict[str, Any] = {
        "base_image": None,
        "build_time_credentials": False,
        "default_mode": "CPU",
        "gcloud": {},
        "julia_version": None,
        "mlflow_config": None,
        "uv": {},
        **written,
    }
    apt, base_image, mlflow = valid.apt_packages, valid.base_image, result["uv"].get("mlflow")
    result["apt_packages"] = apt.model_dump() if isinstance(apt, _AptByMode) else apt
    if isinstance(base_image, _ImageByMode):
        result["base_image"] = {"cpu": base_image.cpu or None, "gpu": base_image.gpu or None}
    if mlflow is not None:
        result["uv"] = {"mlflow": {"pubsub_topic": "mlflow", **mlflow}}
    return cast("Config", result)


def _problem(error: Any) -> Problem:
    # Of the alternatives of a union pydantic names each; the user wrote only keys and positions.
    path = [str(part) for part in error["loc"] if isinstance(part, int) or part in _KEYS]
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        where = ".".join([*path, key] if key not in path[-1:] else path)
        known = _Config.model_fields if len(error["loc"]) == 1 else {}
        return Problem(f"unknown key {key!r}", f"{FILE} {where}", did_you_mean(key, known))
    return Problem(str(error["msg"]).removeprefix("Value error, "), f"{FILE} {'.'.join(path)}".strip())


def deep_learning_image(image: str) -> str:
    """`dlvm:tf2-gpu-2.1` -> the Deep Learning Container of that name; any other image as it is."""
    match = _DEEP_LEARNING_IMAGE.fullmatch(image)
    if not match or (match["version"] and match["version"] not in DEEP_LEARNING_VERSIONS[match["library"]]):
        return image
    version = f".{match['version'].replace('.', '-')}" if match["version"] else ""
    return f"gcr.io/deeplearning-platform-release/{match['library']}-{match['mode']}{version}"


def base_image(config: Config, mode: JobMode) -> str | None:
    """The image that a configuration names for a mode; None when it names none. `{}` in it stands for the mode.

    Raises InputError when it names one for the other mode only, or has several `{}`.
    """
    image = config["base_image"]
    if isinstance(image, dict):
        image = image.get(mode.lower())
        if image is None:
            where = f"{FILE} base_image"
            raise InputError(Problem(f"names no image for {mode} jobs", where, f'add "{mode.lower()}": "<image>"'))
    if image is None:
        return None
    try:
        return deep_learning_image(image.format(mode.lower()))
    except (AttributeError, IndexError, KeyError, ValueError):
        hint = "one {} stands for cpu or gpu"
        raise InputError(Problem(f"{image!r} is no image's name", f"{FILE} base_image", hint)) from None


def apt_packages(config: Config, mode: JobMode) -> list[str]:
    """The Debian packages for a mode, as they are listed."""
    packages = config["apt_packages"]
    return list(packages[mode.lower()] if isinstance(packages, dict) else packages)
