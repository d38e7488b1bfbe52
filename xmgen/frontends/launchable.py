"""What a folder holds that can be compiled, for whoever names the folder and means that."""

from __future__ import annotations

from pathlib import Path

from xmgen import names


def meant_by(folder: Path) -> str:
    """`did you mean first/experiment.yaml?`, of the launch scripts and experiments in a folder that have a usual name.
    Empty where there are none, or where it is no folder.
    """
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    meant = [str(path) for path in there if path.suffix in names.SOURCE_SUFFIXES and path.stem in names.GENERIC_STEMS]
    return f"did you mean {' or '.join(meant)}?" if meant else ""
