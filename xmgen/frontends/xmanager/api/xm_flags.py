"""The absl flags that XManager defines. Launch scripts may read and set them; none has an effect on what is compiled,
except `--xm_launch_script` (in `xmgen.frontends.xmanager.api.xm.utils`)."""

from __future__ import annotations

from absl import flags

BUILD_IMAGE_LOCALLY = flags.DEFINE_boolean("xm_build_image_locally", True, "Build images on this machine.")
USE_DOCKER_COMMAND = flags.DEFINE_boolean("xm_use_docker_command", True, "Build with the docker command.")
SHOW_DOCKER_COMMAND_PROGRESS = flags.DEFINE_boolean(
    "xm_show_docker_command_progress", False, "Show the output of builds."
)
WRAP_LATE_BINDINGS = flags.DEFINE_boolean(
    "xm_wrap_late_bindings", False, "Resolve addresses of worker pools inside the container."
)
CLOUD_BUILD_TIMEOUT_SECONDS = flags.DEFINE_integer("xm_cloud_build_timeout_seconds", 1200, "Time limit of a build.")
USE_CLOUD_BUILD_CACHE = flags.DEFINE_boolean("xm_use_cloud_build_cache", False, "Reuse the image tagged latest.")
USE_KANIKO = flags.DEFINE_boolean("xm_use_kaniko", False, "Build with kaniko.")
KANIKO_CACHE_TTL = flags.DEFINE_string("xm_kaniko_cache_ttl", "336h", "Life of kaniko's cache.")
GCP_SERVICE_ACCOUNT_NAME = flags.DEFINE_string(
    "xm_gcp_service_account_name", "xmanager", "Service account of jobs on Vertex AI, without @project."
)
K8S_SERVICE_ACCOUNT_NAME = flags.DEFINE_string(
    "xm_k8s_service_account_name", "default", "Kubernetes service account of jobs."
)
DB_YAML_CONFIG_PATH = flags.DEFINE_string("xm_db_yaml_config_path", None, "Settings of XManager's database.")
UPGRADE_DB = flags.DEFINE_boolean("xm_upgrade_db", False, "Upgrade XManager's database.")
BAZEL_COMMAND = flags.DEFINE_string("xm_bazel_command", "bazel", "The command that runs Bazel.")
USE_MULTIPLEXER = flags.DEFINE_boolean("xm_use_multiplexer", None, "Show local jobs in a terminal multiplexer.")
OPEN_MULTIPLEXER_WINDOW = flags.DEFINE_integer("xm_open_multiplexer_window", None, "Window to switch to, from 1.")
SUBPROCESS_DOCKER = flags.DEFINE_boolean("xm_subprocess_docker_impl", False, "Run containers with the docker command.")
GCS_PATH = flags.DEFINE_string("xm_gcs_path", None, "Folder for output: gs://bucket/folder.")


def should_use_multiplexer() -> bool:
    """Whether the flags ask for a terminal multiplexer."""
    return (
        bool(USE_MULTIPLEXER.value)
        if USE_MULTIPLEXER.value is not None
        else (OPEN_MULTIPLEXER_WINDOW.value is not None)
    )
