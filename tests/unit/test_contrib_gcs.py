"""Cloud Storage paths (`xmanager.contrib.gcs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from absl import app, flags
from absl.testing import flagsaver

from xmgen.frontends.xmanager.api import xm_local
from xmgen.frontends.xmanager.api.contrib import gcs

assert xm_local  # defines --xm_gcs_path


@pytest.mark.parametrize(
    ("path", "url", "mounted", "console"),
    [
        ("gs://a/b/c", "gs://a/b/c", "/gcs/a/b/c", "https://console.cloud.google.com/storage/browser/a/b/c"),
        ("/gcs/a", "gs://a", "/gcs/a", "https://console.cloud.google.com/storage/browser/a"),
    ],
)
def test_forms_of_a_path(path: str, url: str, mounted: str, console: str) -> None:
    assert gcs.is_gcs_path(path)
    assert (gcs.get_gs_path(path), gcs.get_gcs_fuse_path(path), gcs.get_gcs_url(path)) == (url, mounted, console)


@pytest.mark.parametrize("path", ["a/b", "gs:/a", "/gcsfuse/a", ""])
@pytest.mark.parametrize("convert", [gcs.get_gs_path, gcs.get_gcs_fuse_path, gcs.get_gcs_url])
def test_other_paths_are_refused(path: str, convert: Callable[[str], str]) -> None:
    assert not gcs.is_gcs_path(path)
    with pytest.raises(ValueError, match="Path not in gs://bucket/directory or /gcs/path format"):
        convert(path)


@pytest.fixture
def parsed_flags() -> Iterator[None]:
    with flagsaver.flagsaver():
        flags.FLAGS.mark_as_parsed()
        yield
    flags.FLAGS.unparse_flags()


@pytest.mark.usefixtures("parsed_flags")
def test_the_flag_must_hold_a_path() -> None:
    with flagsaver.flagsaver(xm_gcs_path="gs://a/b"):
        assert gcs.get_gcs_path_or_fail("project") == "gs://a/b"
    with flagsaver.flagsaver(xm_gcs_path="a/b"), pytest.raises(app.UsageError, match="not in gs://bucket/directory"):
        gcs.get_gcs_path_or_fail("project")
    with flagsaver.flagsaver(xm_gcs_path=None), pytest.raises(app.UsageError, match="--xm_gcs_path is missing"):
        gcs.get_gcs_path_or_fail("project")
