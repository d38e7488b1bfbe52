"""init and schema."""

from __future__ import annotations

import shlex
from pathlib import Path

from xmgen.commands import output
from xmgen.stack import init as initialise


def init(folder: Path, *, json: bool) -> None:
    done = initialise.init(folder, initialise.project_name(folder))
    if json:
        output.print_json(
            {
                "folder": str(done.root),
                "written": list(done.written),
                "unchanged": list(done.unchanged),
                "kept": list(done.kept),
            }
        )
        return
    for path in done.written:
        output.say(f"wrote {path}")
    for path in done.unchanged:
        output.say(f"{path} is there already")
    for path in done.kept:
        output.say(f"kept {path}, which differs from what xmgen would write", style="yellow")
    if done.around is not None:
        output.say(f"It lies in the project {done.around}, whose stacks commands here do not see.", style="yellow")
    where = "" if done.root == Path.cwd() else f"cd {shlex.quote(str(done.root))}; "
    output.say(f"Next: `{where}xmgen up first/experiment.yaml` compiles and runs the first experiment.")


def schema() -> None:
    from xmgen.frontends import spec

    output.print_json(spec.schema())
