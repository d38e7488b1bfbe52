"""What the provider does for `xmgen:index:Code`: it compares, and refuses code that is not what was compiled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from xmgen.errors import OperationError, Problem, XmgenError
from xmgen.provider import images
from xmgen.provider.resource import Difference, Request, State, differences
from xmgen.provider.unit import Packaged, malformed
from xmgen.provider.wire import Properties, has_unknown, plain

INPUTS = ("directory", "digest", "exclude")


class CodeResource:
    """root: the project's folder. There is nothing to create: its inputs are all there is."""

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
