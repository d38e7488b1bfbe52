"""What `xmgen logs` shows of trials on this machine when they have printed nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import experiment, job
from tests.compiled_stacks import compiled_stack
from xmgen.commands import logs, target
from xmgen.errors import OperationError
from xmgen.project import Project
from xmgen.provider.journal import RunFolder


@pytest.mark.parametrize(
    ("printed", "shown"),
    [("", ("", "Nothing has been printed.\n")), ("done\n", ("done\n", ""))],
)
def test_a_log_that_is_empty_is_said_to_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    printed: str,
    shown: tuple[str, str],
) -> None:
    project, plan = Project(root=tmp_path), compiled_stack(experiment(job()))
    monkeypatch.setattr(target, "existing", lambda project, stack: plan)
    (unit,) = plan.units
    (planned,) = plan.experiment.units[unit.position].jobs
    with pytest.raises(OperationError, match="no log yet"):
        logs.logs(project, "sweep", [unit.name], follow=False, tail=None, since=None)
    log = RunFolder(tmp_path, plan.experiment.stack, unit.name).log(planned.name)
    log.parent.mkdir(parents=True)
    log.write_text(printed)
    logs.logs(project, "sweep", [unit.name], follow=False, tail=None, since=None)
    assert tuple(capsys.readouterr()) == shown
