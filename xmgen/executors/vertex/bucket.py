"""Where the jobs of a stack on Vertex AI write: the stack's configuration says it, on whatever machine `up` runs.

XManager takes $GOOGLE_CLOUD_BUCKET_NAME. A bucket is part of every job, so another machine's environment would replace
them all: what the variable says is decided once, and kept with the stack.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from xmgen.errors import InputError, Problem
from xmgen.project import Project
from xmgen.stack import configuration
from xmgen.stack.configuration import Setting

VARIABLE = "GOOGLE_CLOUD_BUCKET_NAME"
KEY = "bucket"


def refuse_undecided(project: Project, stack: str, settings: Sequence[str]) -> None:
    """Raise InputError where the environment names a bucket and the stack's configuration does not say whether its jobs
    write there. settings: of the command line, `key=value`.
    """
    named = os.environ.get(VARIABLE, "")
    if not named:
        return
    given = {setting.partition("=")[0].removeprefix(f"{project.name}:") for setting in settings}
    if KEY in given or not configuration.missing(project, stack, [Setting(KEY, needed=True)]):
        return
    raise InputError(
        Problem(
            f"${VARIABLE} is {named!r}, but the configuration of {stack} does not say where its jobs write",
            hint=f"once: `--set {KEY}={named}` for that bucket, `--set {KEY}=` for one of the stack's own",
        )
    )
