"""Launch scripts that go wrong: one error in the user's own terms, no traceback of ours."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from xmgen.errors import InputError, Problem
from xmgen.frontends.xmanager import loader as xmanager
from xmgen.frontends.xmanager import stall

HEAD = "from xmanager import xm, xm_local\n"


def problems(folder: Path, text: str, *flags: str, helper: str = "") -> list[Problem]:
    """Of a script whose second line is the first of `text`."""
    script = folder / "launcher.py"
    script.write_text(HEAD + textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    if helper:
        (folder / "helper.py").write_text(textwrap.dedent(helper).lstrip("\n"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        xmanager.load(script, root=folder, stack="sweep", flags=flags)
    return list(caught.value.problems)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        xmanager.load(tmp_path / "no.py", root=tmp_path, stack="sweep")
    assert caught.value.problems == (Problem("cannot be read: No such file or directory", where="no.py"),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = (1\n", Problem("syntax error: '(' was never closed", "launcher.py:2", "x = (1\n      ^")),
        ("if x:\n    y = = 1\n", Problem("syntax error: invalid syntax", "launcher.py:3", "y = = 1\n      ^")),
        (
            "x = 'no end\n",
            Problem("syntax error: unterminated string literal", "launcher.py:2", "x = 'no end\n      ^"),
        ),
    ],
)
def test_a_syntax_error_shows_its_line(text: str, problem: Problem, tmp_path: Path) -> None:
    [found] = problems(tmp_path, text)
    assert (found.message.split(" (detected")[0], found.where, found.hint) == (
        problem.message,
        problem.where,
        problem.hint,
    )


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"x = 1\0\n", b"# coding: no-such\n"])
def test_what_is_no_text(content: bytes, tmp_path: Path) -> None:
    script = tmp_path / "launcher.py"
    script.write_bytes(content)
    with pytest.raises(InputError) as caught:
        xmanager.load(script, root=tmp_path, stack="sweep")
    assert caught.value.problems[0].where.startswith("launcher.py")


def test_a_syntax_error_in_a_module_of_the_scripts(tmp_path: Path) -> None:
    assert problems(tmp_path, "import helper", helper="x = 1\ny = (2\n") == [
        Problem("syntax error: '(' was never closed", "helper.py:2", "y = (2\n      ^")
    ]


def shown(problem: Problem, folder: Path) -> str:
    """The traceback with the script's folder left out."""
    return problem.hint.replace(f"{folder.resolve()}/", "")


def test_an_exception_carries_the_scripts_own_traceback(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        from absl import app
        import helper
        def main(_):
            with xm_local.create_experiment('x') as experiment:
                helper.divide(1, 0)
        if __name__ == '__main__':
            app.run(main)
        """,
        helper="""
        def divide(a, b):
            return a / b
        """,
    )
    assert (problem.message, problem.where) == (
        "the launch script raised ZeroDivisionError: division by zero",
        "launcher.py:6",
    )
    assert shown(problem, tmp_path) == textwrap.dedent(
        """\
        Traceback (most recent call last):
          File "launcher.py", line 8, in <module>
            app.run(main)
          File "launcher.py", line 6, in main
            helper.divide(1, 0)
          File "helper.py", line 2, in divide
            return a / b
                   ~~^~~"""
    )


def test_an_exception_in_a_generator(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        async def generator(work_unit):
            raise ValueError('no data')
        with xm_local.create_experiment('x') as experiment:
            experiment.add(generator)
        """,
    )
    assert (problem.message, problem.where) == ("the launch script raised ValueError: no data", "launcher.py:3")
    assert shown(problem, tmp_path) == textwrap.dedent(
        """\
        Traceback (most recent call last):
          File "launcher.py", line 4, in <module>
            with xm_local.create_experiment('x') as experiment:
          File "launcher.py", line 3, in generator
            raise ValueError('no data')"""
    )


def test_what_led_to_an_exception_is_shown_too(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        try:
            {}['rate']
        except KeyError as error:
            raise RuntimeError('no rate') from error
        """,
    )
    text = shown(problem, tmp_path)
    assert "KeyError: 'rate'" in text
    assert "The above exception was the direct cause" in text
    assert "xmgen" not in text
    assert problem.message == "the launch script raised RuntimeError: no rate"
    assert text.endswith("raise RuntimeError('no rate') from error")


def test_what_was_raised_is_said_once_however_many_lines_it_has(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        r"""
        error = ValueError('no data\nfor 2026')
        error.add_note('ask the owner')
        raise error
        """,
    )
    assert problem.message == "the launch script raised ValueError: no data\nfor 2026\nask the owner"
    assert shown(problem, tmp_path) == textwrap.dedent(
        """\
        Traceback (most recent call last):
          File "launcher.py", line 4, in <module>
            raise error"""
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "import sys; sys.exit(3)",
            Problem("the launch script ended itself: status 3", "launcher.py:2"),
        ),
        (
            "import sys; sys.exit('no data here')",
            Problem("the launch script ended itself: no data here", "launcher.py:2"),
        ),
        (
            "raise BaseException('on purpose')",
            Problem("the launch script raised BaseException: on purpose", "launcher.py:2"),
        ),
        (
            "import no_such_module",
            Problem("the launch script raised ModuleNotFoundError: No module named 'no_such_module'", "launcher.py:2"),
        ),
        (
            "from xmanager import no_such_name",
            Problem(
                "there is no module xmanager.no_such_name",
                "launcher.py:2",
            ),
        ),
        (
            "xm.JobRequirements(t5=1)",
            Problem("unknown ResourceType 't5'", "launcher.py:2"),
        ),
        (
            "x = 1",
            Problem(
                "the launch script creates no experiment",
                "launcher.py",
                "call xm_local.create_experiment(...) in main, or at the top of the script",
            ),
        ),
        (
            "with xm_local.create_experiment('x'): pass",
            Problem("the experiment has no work unit", "launcher.py", "add jobs with experiment.add(xm.Job(...))"),
        ),
    ],
)
def test_scripts_that_give_no_experiment(text: str, problem: Problem, tmp_path: Path) -> None:
    [found] = problems(tmp_path, text)
    assert (found.message.split(" (")[0], found.where) == (problem.message, problem.where)
    if problem.hint:
        assert found.hint == problem.hint


def test_several_experiments(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        for title in ('one', 'two'):
            with xm_local.create_experiment(title) as experiment:
                [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
                experiment.add(xm.Job(image, xm_local.Local()))
        """,
    )
    assert (problem.message, problem.where) == ("the script adds to 2 experiments: 'one', 'two'", "launcher.py")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("unit.get_status()", "ExperimentUnit.get_status()"),
        ("unit.stop()", "ExperimentUnit.stop()"),
        ("vertex.get_default_client().get_state('job')", "vertex.Client.get_state()"),
        ("vertex.get_default_client().launch('job', [])", "vertex.Client.launch()"),
        ("kubernetes.node_selector_from_executor(None)", "kubernetes.node_selector_from_executor()"),
        ("kubernetes.Client.launch = print", "kubernetes.Client.launch = ..."),
        ("auth.get_creds()", "auth.get_creds()"),
        ("utils.get_region()", "utils.get_region()"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in a try"])
def test_what_only_the_cloud_can_answer_is_refused_with_call_and_line(
    call: str, name: str, wrapped: bool, tmp_path: Path
) -> None:
    [problem] = problems(tmp_path, _script(call, wrapped))
    assert problem.message == f"{name} has no answer at compile time: nothing runs yet"
    assert problem.where == "launcher.py:9"
    assert problem.hint


def _script(call: str, wrapped: bool) -> str:
    lines = [
        "from xmanager.cloud import auth, kubernetes, utils, vertex",
        "@xm.run_in_asyncio_loop",
        "async def main(_):",
        "    async with xm_local.create_experiment('x') as experiment:",
        "        [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])",
        "        unit = await experiment.add(xm.Job(image, xm_local.Local()))",
        "        try:" if wrapped else "        if True:",
        f"            {call}",
        "        except Exception: pass" if wrapped else "",
    ]
    return "\n".join(lines) + "\n"


STUDY = """
from google.cloud import aiplatform_v1beta1 as aip
from xmanager.vizier import vizier_cloud
with xm_local.create_experiment('x') as experiment:
    [image] = experiment.package([xm.container(xm_local.Vertex.Spec(), 'busybox')])
    study = vizier_cloud.NewStudy(
        study_config=aip.StudySpec(
            algorithm=aip.StudySpec.Algorithm.RANDOM_SEARCH,
            metrics=[aip.StudySpec.MetricSpec(metric_id='loss')],
        )
    )
    exploration = vizier_cloud.VizierExploration(experiment, xm.Job(image, xm_local.Vertex()), study, 3, 2)
    {call}
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("exploration.launch()", "vizier_cloud.VizierExploration.launch()"),
        ("study.study()", "vizier_cloud.NewStudy.study()"),
        ("study.vz_client.suggest_trials()", "vizier_cloud.NewStudy.vz_client"),
        ("aip.VizierServiceClient()", "google.cloud.aiplatform_v1beta1.VizierServiceClient"),
    ],
)
def test_a_study_that_chooses_trials_while_it_runs_is_refused(call: str, name: str, tmp_path: Path) -> None:
    [problem] = problems(tmp_path, STUDY.format(call=call))
    assert (problem.message, problem.where) == (
        f"{name} has no answer at compile time: nothing runs yet",
        "launcher.py:13",
    )


def test_xm_cloud_is_refused_with_what_to_use_instead(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, "from xmanager import xm_cloud\nxm_cloud.create_experiment('x')")
    assert problem.where == "launcher.py:3"
    assert "xm_local.create_experiment" in problem.hint


NEVER = {
    "a future that nobody resolves": (
        """
        import asyncio
        @xm.run_in_asyncio_loop
        async def main(_):
            async with xm_local.create_experiment('x'):
                await asyncio.Future()
        """,
        "launcher.py:6",
    ),
    "a generator": (
        """
        import asyncio
        with xm_local.create_experiment('x') as experiment:
            async def generator(work_unit):
                await asyncio.Event().wait()
            experiment.add(generator)
        """,
        "launcher.py:5",
    ),
    "in a loop of the script's own": (
        """
        import asyncio
        async def main():
            await asyncio.gather(asyncio.sleep(0.01), asyncio.Future())
        if __name__ == '__main__':
            asyncio.run(main())
        """,
        "launcher.py:4",
    ),
}


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["in the foreground", "with Ctrl-C ignored"])
def handler(request: pytest.FixtureRequest) -> Iterator[object]:
    """Of SIGINT: a shell's script ignores it in what it runs in the background."""
    before = signal.signal(signal.SIGINT, request.param)
    yield request.param
    assert signal.signal(signal.SIGINT, before) is request.param


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("case", NEVER)
def test_a_wait_that_nothing_can_end(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stall, "INTERVAL", 0.05)
    text, place = NEVER[case]
    [problem] = problems(tmp_path, text)
    assert (problem.message, problem.where) == (
        "the launch script would wait for ever: nothing that is left to run can end this wait",
        place,
    )
    assert capfd.readouterr().err == ""


def test_a_slow_script_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "INTERVAL", 0.05)
    script = tmp_path / "launcher.py"
    script.write_text(
        HEAD
        + textwrap.dedent(
            """
            import asyncio, subprocess, threading, time
            with xm_local.create_experiment('x') as experiment:
                async def generator(work_unit):
                    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.5)
                    await asyncio.sleep(0.5)
                    await (await asyncio.create_subprocess_exec('sleep', '0.5')).wait()
                    [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
                    work_unit.add(xm.Job(image, xm_local.Local()))
                experiment.add(generator)
                thread = threading.Thread(target=time.sleep, args=(0.5,))
                thread.start()
                thread.join()
                subprocess.run(['sleep', '0.5'])
            """
        ),
        encoding="utf-8",
    )
    assert len(xmanager.load(script, root=tmp_path, stack="sweep").units) == 1


def test_what_a_script_passed_over_is_reported_with_what_it_failed_of(tmp_path: Path) -> None:
    first, second = problems(
        tmp_path,
        """
        from xmanager.cloud import auth
        try:
            credentials = auth.get_creds()
        except Exception:
            credentials = None
        credentials.token
        """,
    )
    assert (first.where, first.message.split(" has")[0]) == ("launcher.py:4", "auth.get_creds()")
    assert second.where == "launcher.py:7"
    assert second.message.startswith("the launch script raised AttributeError")


def test_flags_for_a_script_that_reads_none(tmp_path: Path) -> None:
    text = """
        with xm_local.create_experiment('x') as experiment:
            [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
            experiment.add(xm.Job(image, xm_local.Local()))
        """
    assert problems(tmp_path, text, "--rate=1", "x") == [
        Problem("the launch script does not read its command line: --rate=1 x", "launcher.py")
    ]


@pytest.mark.parametrize(
    ("executable", "job", "message"),
    [
        ("xm.ModuleName(5)", "", "ModuleName.module_name must be a text, got 5"),
        ("xm.ModuleName('')", "", "ModuleName.module_name is empty"),
        ("xm.CommandList([])", "", "CommandList.commands is empty"),
        ("xm.CommandList('python train.py')", "", "CommandList.commands must be a list of texts"),
        ("xm.CommandList([5])", "", "a command of CommandList must be a text, got 5"),
        ("xm.CommandList(['a\\0'])", "", "its definition contains a NUL character: 'a\\x00'"),
        ("xm.ModuleName('a\\ud800')", "", "its definition contains half of a surrogate pair: 'a\\ud800'"),
        ("xm.ModuleName('a'), base_image='b\\0'", "", "its definition contains a NUL character: 'b\\x00'"),
        ("xm.ModuleName('a'), path='..'", "", "lies outside the project"),
        ("xm.ModuleName('a'), path='x' * 5000", "", "cannot be read: File name too long"),
        ("xm.ModuleName('a')", "name=5", "Job.name must be a text, got 5"),
        (
            "xm.ModuleName('a')",
            "args={'a': {'b', 'c'}}",
            "a set has no order: it would be another argument in every run",
        ),
        ("xm.ModuleName('a')", "env_vars={'A': {1}}", "a set has no order: it would be another argument in every run"),
    ],
)
def test_values_of_no_use(executable: str, job: str, message: str, tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        f"""
        with xm_local.create_experiment('x') as experiment:
            [image] = experiment.package([xm.python_container(xm_local.Local.Spec(), {executable})])
            experiment.add(xm.Job(image, xm_local.Local(), {job}))
        """,
    )
    assert problem.message == message


def test_a_value_that_is_another_text_in_every_run(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        with xm_local.create_experiment('x') as experiment:
            [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
            experiment.add(xm.Job(image, xm_local.Local(), args={'f': lambda: 1}))
        """,
    )
    assert "<lambda> at 0x" in problem.message
    assert problem.where == "launcher.py:4"


def test_an_identity_that_is_no_text(tmp_path: Path) -> None:
    [problem] = problems(
        tmp_path,
        """
        with xm_local.create_experiment('x') as experiment:
            [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
            experiment.add(xm.Job(image, xm_local.Local()), identity=5)
        """,
    )
    assert problem == Problem("the identity of a unit must be a text, got 5", "launcher.py:4")
