"""`xmgen:index:Code`: code that something else builds. Resource class of generated programs."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from xmgen import resource_types
from xmgen.provider.declared import given

__all__ = ["Code"]


class Code(pulumi.CustomResource):
    """Code as it was when the stack was compiled. Changed code is refused, before anything is built or run from it."""

    def __init__(
        self,
        name: str,
        *,
        directory: str,
        digest: str,
        exclude: Sequence[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """directory: the code, relative to the folder of Pulumi.yaml.
        digest:    hash of `directory` when the stack was compiled.
        exclude:   files of `directory` that are not its code, relative to it, such as the launch script.
        """
        inputs = {"directory": directory, "digest": digest, "exclude": exclude}
        super().__init__(resource_types.CODE, name, given(inputs), opts)
