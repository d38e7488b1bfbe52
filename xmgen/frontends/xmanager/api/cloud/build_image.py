"""Docker instructions of a Python container."""

from __future__ import annotations


def default_steps(directory: str, use_deep_module: bool) -> list[str]:
    """The instructions that copy a project folder `directory` of the build context and install what it requires.

    use_deep_module: keep `/workdir` as working directory, so that the folder is a package.
    """
    project = f"/workdir/{directory}" if use_deep_module else f"/{directory}"
    return [
        *(["RUN mkdir /workdir", "WORKDIR /workdir"] if use_deep_module else []),
        "ENV LANG=C.UTF-8",
        "RUN apt-get update --allow-releaseinfo-change && apt-get install -y git netcat",
        "RUN python -m pip install --upgrade pip",
        f"COPY {directory}/requirements.txt {project}/requirements.txt",
        f"RUN python -m pip install -r {directory}/requirements.txt",
        f"COPY {directory}/ {project}",
        f"RUN chown -R 1000:root {project} && chmod -R 775 {project}",
        *([] if use_deep_module else [f"WORKDIR {directory}"]),
    ]
