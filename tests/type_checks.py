"""Generated programs, read by a type checker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(folders: Sequence[Path], libraries: Sequence[Path] = ()) -> list[str]:
    """What pyright says of the programs in folders that lie beside each other. libraries: where else imports are."""
    root = folders[0].parent
    paths = [str(path) for path in (*libraries, ROOT)]
    settings = {
        "include": [folder.name for folder in folders],
        # Each stack is a project of its own: their modules have the same names.
        "executionEnvironments": [{"root": folder.name, "extraPaths": paths} for folder in folders],
        # For the libraries' own imports of each other.
        "extraPaths": paths,
        "reportMissingModuleSource": "none",
    }
    (root / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--project", str(root), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == sum(len(list(folder.glob("*.py"))) for folder in folders)
    return [f"{each['file']}: {each['message']}" for each in report["generalDiagnostics"]]
