"""Code: as it was compiled (`xmgen:index:Code`), and packaged for this machine (`xmgen:local:Executable`)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

from xmgen.errors import OperationError, Problem, XmgenError
from xmgen.provider import daemon, images
from xmgen.provider.images import Images
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.settings import Runner, Settings
from xmgen.provider.unit import INPUTS, Packaged, malformed
from xmgen.provider.wire import UNKNOWN, Properties, Value, has_unknown, plain

_WITHOUT_IMAGE = "no Docker daemon answers: it runs as a process, without its image, in the environment of xmgen"


class CodeResource:
    """`xmgen:index:Code`: it compares, and refuses code that is not what was compiled. There is nothing to create.

    root: the project's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        problems = malformed(news, INPUTS, ("directory", "digest"))
        if problems or has_unknown(news):
            return problems
        code = Packaged.of(request.urn.name, "container", cast("Properties", plain(news)))
        try:
            await asyncio.to_thread(images.check_code, self._root, code, request.urn.stack)
        except XmgenError as error:
            return {"digest": Problem(str(error))}
        return {}

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        return Difference(changes=differences(plain(olds), plain(news)))

    async def create(self, request: Request, news: Properties) -> State:
        return State(id=request.urn.name, outputs=cast("Properties", plain(news)))

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        return State(id=id, outputs=cast("Properties", plain(news)))

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        if not state:
            raise OperationError(Problem("Code cannot be imported", hint="`pulumi up` notes it again; nothing is lost"))
        return State(id=id, outputs=state, inputs=inputs)

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        """The code is the user's."""


class ExecutableResource:
    """root: the project's folder."""

    def __init__(self, root: Path, settings: Settings, images: Images) -> None:
        self._root = root
        self._settings = settings
        self._images = images

    async def check(self, request: Request, news: Properties, olds: Properties | None) -> dict[str, Problem]:
        problems = _malformed(news)
        if problems or has_unknown(news):
            return problems
        try:
            packaged = await asyncio.to_thread(self._packaged, request, news, None)
            await asyncio.to_thread(images.check_code, self._root, packaged, request.urn.stack)
        except XmgenError as error:
            return {"digest" if news.get("digest") else "image": Problem(str(error))}
        # What ran to its end in a container needs none any more: then a daemon that is gone is no mistake.
        if packaged.runner == "container" and plain(news) != plain(olds or {}):
            why = await asyncio.to_thread(daemon.unreachable)
            if why:
                return {"dockerfile" if packaged.dockerfile else "image": _no_daemon(packaged, why)}
        return {}

    async def diff(self, request: Request, news: Properties, olds: Properties, state: Properties) -> Difference:
        changes = differences(plain(olds), plain(news))
        if changes or has_unknown(news):
            return Difference(changes=changes)
        packaged = await asyncio.to_thread(self._packaged, request, news, _runner(state))
        return Difference(changes=differences(state.get("packaged"), packaged.wire(), "packaged"), of_outputs=True)

    async def create(self, request: Request, news: Properties) -> State:
        return await self._package(request, news, {})

    async def update(self, request: Request, id: str, news: Properties, olds: Properties, state: Properties) -> State:
        result = await self._package(request, news, state)
        if not request.preview:
            await self._remove_image(state, kept=result.outputs)
        return result

    async def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> State | None:
        if not state:
            raise OperationError(
                Problem("an Executable cannot be imported", hint="`pulumi up` packages it again; nothing is lost")
            )
        # An image that is gone is built again by whatever needs it.
        return State(id=id, outputs=state, inputs=inputs)

    async def delete(self, request: Request, id: str, inputs: Properties, state: Properties) -> None:
        await self._remove_image(state, kept={})

    async def _package(self, request: Request, news: Properties, old: Properties) -> State:
        inputs = cast("Properties", plain(news))
        outputs: Properties = {**inputs}
        if has_unknown(inputs):
            outputs |= {"runner": UNKNOWN, "imageId": UNKNOWN, "packaged": UNKNOWN}
            return State(id=request.urn.name, outputs=outputs)
        packaged = await asyncio.to_thread(self._packaged, request, inputs, _runner(old))
        image: Value = ""
        if packaged.image and packaged.runner == "process" and self._settings.runner == "auto" and not request.preview:
            await request.log.info(_WITHOUT_IMAGE)
        if packaged.runner == "container":
            if request.preview:
                image = old.get("imageId") or UNKNOWN if old.get("packaged") == packaged.wire() else UNKNOWN
            else:
                await self._images.ensure(packaged, request.urn.stack, request.log)
                image = await asyncio.to_thread(images.find, packaged.image)
        outputs |= {"runner": packaged.runner, "imageId": image, "packaged": packaged.wire()}
        return State(id=request.urn.name, outputs=outputs)

    def _packaged(self, request: Request, news: Properties, before: Runner | None) -> Packaged:
        """Reads the Dockerfile and may ask for the daemon. before: where it ran until now, to stay there when in doubt.

        Raises OperationError when it can run nowhere.
        """
        packaged = Packaged.of(request.urn.name, "process", cast("Properties", plain(news)))
        if packaged.dockerfile:
            packaged = replace(packaged, image=self._tag(packaged))
        return replace(packaged, runner=self._choose(packaged, before))

    def _tag(self, packaged: Packaged) -> str:
        try:
            dockerfile = (self._root / packaged.dockerfile).read_bytes()
        except OSError as error:
            raise OperationError(Problem(f"cannot be read: {error.strerror}", where=packaged.dockerfile)) from None
        return images.tag(packaged.name, packaged.digest, dockerfile, packaged.context_path)

    def _choose(self, packaged: Packaged, before: Runner | None) -> Runner:
        if not packaged.image:
            return "process"
        if not packaged.command:
            if self._settings.runner == "process":
                raise OperationError(
                    Problem(
                        f"{packaged.name} has no command: it only runs in a container",
                        hint="`--set xmgen:runner=auto`",
                    )
                )
            return "container"
        if self._settings.runner != "auto":
            return self._settings.runner
        return "process" if daemon.unreachable() else "container"

    async def _remove_image(self, state: Properties, kept: Properties) -> None:
        old, new = cast("Properties", state.get("packaged") or {}), cast("Properties", kept.get("packaged") or {})
        if old.get("dockerfile") and old.get("runner") == "container" and old.get("image") != new.get("image"):
            await asyncio.to_thread(images.remove, str(old["image"]))


def _malformed(news: Properties) -> dict[str, Problem]:
    problems, inputs = malformed(news, INPUTS), cast("Properties", plain(news))
    if inputs.get("image") and (inputs.get("dockerfile") or inputs.get("directory")):
        problems.setdefault("image", Problem("is prebuilt: neither `dockerfile` nor `directory` goes with it"))
    if not any(inputs.get(key) for key in ("image", "dockerfile", "command")):
        problems.setdefault("command", Problem("needs a `command`, a `dockerfile` or an `image`"))
    if inputs.get("dockerfile") and not (inputs.get("directory") and inputs.get("digest")):
        problems.setdefault("directory", Problem("`dockerfile` needs `directory`, its build context, and `digest`"))
    return problems


def _runner(state: Properties) -> Runner | None:
    return "container" if state.get("runner") == "container" else "process" if state.get("runner") else None


def _no_daemon(packaged: Packaged, why: str) -> Problem:
    hint = "start Docker, or set DOCKER_HOST to the daemon you mean"
    if packaged.command:
        hint += ", or `--set xmgen:runner=auto`"
    return Problem(f"{packaged.name} runs in a container, and no Docker daemon answers ({why})", hint=hint)
