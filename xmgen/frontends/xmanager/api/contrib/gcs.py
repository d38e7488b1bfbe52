"""Paths on Cloud Storage, as `gs://bucket/folder` and as `/gcs/bucket/folder` where a bucket is mounted."""

from __future__ import annotations

import getpass

from absl import app, flags

_GS_PREFIX = "gs://"
_FUSE_PREFIX = "/gcs/"
gcp_website_url = "https://console.cloud.google.com"


def suggestion(project_name: str) -> str:
    """A path the user may pass as --xm_gcs_path. It names no time: the same script compiles to the same bytes."""
    return f"{_GS_PREFIX}<your bucket>/{getpass.getuser()}/{project_name}"


def get_gcs_path_or_fail(project_name: str) -> str:
    """The value of --xm_gcs_path; raises `app.UsageError` when it is missing or no Cloud Storage path."""
    path: str | None = flags.FLAGS.xm_gcs_path
    example = f"Suggestion: --xm_gcs_path={suggestion(project_name)}"
    if not path:
        raise app.UsageError(f"--xm_gcs_path is missing. {example}")
    if not is_gcs_path(path):
        raise app.UsageError(f"--xm_gcs_path not in gs://bucket/directory or /gcs/path format. {example}")
    return path


def is_gs_path(path: str) -> bool:
    return path.startswith(_GS_PREFIX)


def is_gcs_fuse_path(path: str) -> bool:
    return path.startswith(_FUSE_PREFIX)


def is_gcs_path(path: str) -> bool:
    return is_gs_path(path) or is_gcs_fuse_path(path)


def get_gcs_url(path: str) -> str:
    """Where the Cloud console shows the path."""
    return f"{gcp_website_url}/storage/browser/{_without_prefix(path)}"


def get_gcs_fuse_path(path: str) -> str:
    """The path where the bucket is mounted."""
    return _FUSE_PREFIX + _without_prefix(path)


def get_gs_path(path: str) -> str:
    """The path as a URL."""
    return _GS_PREFIX + _without_prefix(path)


def _without_prefix(path: str) -> str:
    for prefix in (_GS_PREFIX, _FUSE_PREFIX):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    raise ValueError(f"Path not in gs://bucket/directory or /gcs/path format: {path}")
