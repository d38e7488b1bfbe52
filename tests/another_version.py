"""Stacks that another version of xmgen compiled: a byte of its manifests differs, and so do the names of its Jobs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from unittest import mock

from xmgen.executors.gke import security


@contextmanager
def another_version() -> Generator[None]:
    """While inside, this xmgen compiles as that version does."""
    with mock.patch.dict(security.CONTAINER, {"allowPrivilegeEscalation": True}):
        yield
