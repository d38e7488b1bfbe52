"""Who and where in Google Cloud: references that the generated program resolves, never credentials."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from absl import flags

from xmgen.experiment import Reference
from xmgen.frontends.xmanager import recording
from xmgen.frontends.xmanager.api.xm import problems

PROJECT = Reference(kind="config", name="gcp:project")
BUCKET = Reference(kind="bucket", name="staging")


def get_project_name() -> str:
    """A reference to the project of the stack's configuration."""
    return recording.current().reference(PROJECT)


def get_bucket() -> str:
    """$GOOGLE_CLOUD_BUCKET_NAME, or a reference to the stack's bucket."""
    return os.environ.get("GOOGLE_CLOUD_BUCKET_NAME") or recording.current().reference(BUCKET)


def get_service_account() -> str:
    """The address of the account that --xm_gcp_service_account_name names."""
    return f"{flags.FLAGS.xm_gcp_service_account_name}@{get_project_name()}.iam.gserviceaccount.com"


def enable_apis() -> None:
    """Nothing to do: the generated program enables what it uses."""


def get_project_number() -> NoReturn:
    raise problems.refuse("auth.get_project_number()", "use auth.get_project_name(), which the stack resolves")


def get_creds(scopes: Sequence[str] = ()) -> NoReturn:
    del scopes
    raise problems.refuse(
        "auth.get_creds()", "compiling needs no credentials: do what needs them in a job of the experiment"
    )
