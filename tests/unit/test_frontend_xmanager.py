"""Launch scripts as their users write them: how they are run, what flags they take, what they leave behind."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from absl import flags as absl_flags

from xmgen import names
from xmgen.errors import InputError, Problem
from xmgen.experiment import Experiment
from xmgen.frontends.xmanager import loader as xmanager

LAUNCH = """
from xmanager import xm, xm_local

def launch(*args, title="a sweep"):
    with xm_local.create_experiment(title) as experiment:
        [image] = experiment.package([xm.container(xm_local.Local.Spec(), "busybox")])
        experiment.add(xm.Job(image, xm_local.Local(), args=list(map(str, args))))
"""


def write(folder: Path, text: str, name: str = "launcher.py") -> Path:
    """A launch script that may call `launch(...)`: one work unit with these arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    script.write_text(LAUNCH + textwrap.dedent(text), encoding="utf-8")
    return script


def load(script: Path, *flags: str) -> Experiment:
    return xmanager.load(script, root=script.parent, stack="sweep", flags=flags)


def args(experiment: Experiment) -> list[object]:
    """Of the only unit's only job."""
    [unit] = experiment.units
    [job] = unit.jobs
    return list(job.args)


def problems(script: Path, *flags: str) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load(script, *flags)
    return list(caught.value.problems)


def test_the_experiment_is_named_after_its_script_and_stack(tmp_path: Path) -> None:
    experiment = xmanager.load(write(tmp_path / "a", "launch(1)"), root=tmp_path, stack="sweep")
    assert (experiment.title, experiment.stack, experiment.source, experiment.experiment_id) == (
        "a sweep",
        "sweep",
        "a/launcher.py",
        names.experiment_id("sweep"),
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("launch('ran')", id="no main"),
        pytest.param("def main(_): launch('ran')", id="main(_), run as `xmanager launch` does"),
        pytest.param("def main(): launch('ran')", id="main()"),
        pytest.param(
            """
            from absl import app
            def main(argv): launch('ran')
            if __name__ == '__main__': app.run(main)
            """,
            id="app.run",
        ),
        pytest.param(
            """
            from absl.app import run
            def start(argv): launch('ran')
            if "__main__" == __name__: run(start)
            """,
            id="from absl.app import run",
        ),
        pytest.param("if __name__ == '__main__': launch('ran')", id="no main, only the guard"),
        pytest.param(
            """
            import sys
            def main(): launch('ran')
            if __name__ == '__main__': sys.exit(main())
            """,
            id="sys.exit(main())",
        ),
        pytest.param(
            """
            from absl import app
            @xm.run_in_asyncio_loop
            async def main(_):
                async with xm_local.create_experiment('a sweep') as experiment:
                    [image] = experiment.package([xm.container(xm_local.Local.Spec(), 'busybox')])
                    await experiment.add(xm.Job(image, xm_local.Local(), args=['ran']))
            if __name__ == '__main__': app.run(main)
            """,
            id="run_in_asyncio_loop",
        ),
        pytest.param(
            """
            import asyncio
            async def ran(): return 'ran'
            def main(_): launch(asyncio.get_event_loop().run_until_complete(ran()))
            """,
            id="a loop of the script's own",
        ),
        pytest.param(
            """
            import dataclasses, pickle, typing
            @dataclasses.dataclass
            class Trial:
                name: "str"
            def main(_):
                assert typing.get_type_hints(Trial) == {'name': str}
                launch(pickle.loads(pickle.dumps(Trial('ran'))).name)
            if __name__ == '__main__': main(None)
            """,
            id="classes of the script's own",
        ),
    ],
)
def test_a_script_is_run_as_its_user_would_run_it(text: str, tmp_path: Path) -> None:
    assert args(load(write(tmp_path, text))) == ["ran"]


FLAGS = """
    from absl import app, flags
    flags.DEFINE_float('learning_rate', 0.1, 'Rate.')
    flags.DEFINE_boolean('verbose', True, 'Talk.')
    flags.DEFINE_multi_string('tag', [], 'Tags.')
    def main(argv):
        value = flags.FLAGS
        launch(value.learning_rate, value.verbose, value.tag, argv[1:])
    if __name__ == '__main__': app.run(main)
"""


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ([], ["0.1", "True", "[]", "[]"]),
        (["--learning_rate=0.2", "--noverbose"], ["0.2", "False", "[]", "[]"]),
        (["--learning_rate", "0.3", "word"], ["0.3", "True", "[]", "['word']"]),
        (["--learning_rate=1e-5", "--tag=a", "--tag=b c"], ["1e-05", "True", "['a', 'b c']", "[]"]),
        (["--", "--learning_rate=0.2"], ["0.1", "True", "[]", "['--learning_rate=0.2']"]),
        (["--undefok=other", "--other=1"], ["0.1", "True", "[]", "[]"]),
    ],
)
def test_flags_are_parsed_as_absl_does(flags: list[str], values: list[str], tmp_path: Path) -> None:
    assert args(load(write(tmp_path, FLAGS), *flags)) == values


@pytest.mark.parametrize(
    ("flags", "messages", "hint"),
    [
        (["--learning_rat=1"], ["unknown flag --learning_rat"], "did you mean '--learning_rate'?"),
        (["--learning_rat", "--x"], ["unknown flag --learning_rat", "unknown flag --x"], "its flags: --learning_rate,"),
        (["--nolearning_rate"], ["unknown flag --nolearning_rate"], "its flags: --learning_rate, --tag, --verbose"),
        (["--learning_rate=fast"], ["flag --learning_rate=fast: could not convert"], "its flags: --learning_rate"),
        (["--learning_rate"], ["Missing value for flag --learning_rate"], "its flags: --learning_rate"),
        (["--help"], ["--help starts no experiment"], "its flags: --learning_rate, --tag, --verbose"),
    ],
)
def test_wrong_flags(flags: list[str], messages: list[str], hint: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, FLAGS), *flags)
    assert [problem.where for problem in found] == ["launcher.py"] * len(messages)
    for problem, message in zip(found, messages, strict=True):
        assert problem.message.startswith(message)
    assert hint in found[0].hint


def test_required_flags_and_usage_errors_are_problems_of_the_command_line(tmp_path: Path) -> None:
    required = write(
        tmp_path,
        """
        from absl import app, flags
        flags.DEFINE_string('data', None, 'Data.')
        def main(argv):
            if len(argv) > 1: raise app.UsageError('too many words')
            launch()
        if __name__ == '__main__':
            flags.mark_flag_as_required('data')
            app.run(main)
        """,
    )
    assert problems(required) == [
        Problem("flag --data=None: Flag --data must have a value other than None.", "launcher.py", "its flags: --data")
    ]
    assert problems(required, "--data=x", "word") == [Problem("too many words", "launcher.py", "its flags: --data")]


def test_a_script_without_flags_says_so(tmp_path: Path) -> None:
    assert problems(write(tmp_path, "def main(_): launch()"), "--nodes=2") == [
        Problem("unknown flag --nodes", "launcher.py", "it defines no flags of its own")
    ]


def test_xmanagers_own_flags_exist(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        from absl import flags
        def main(_): launch(flags.FLAGS.xm_k8s_service_account_name, flags.FLAGS.xm_use_kaniko)
        """,
    )
    assert args(load(script, "--xm_k8s_service_account_name=runner", "--xm_use_kaniko")) == ["runner", "True"]
    assert args(load(script)) == ["default", "False"]


@pytest.mark.parametrize(
    "read", ["sys.argv[1]", "list(sys.argv)[1]", "sys.argv.copy()[1]", "(sys.argv + [])[1]", "[*sys.argv][1]"]
)
def test_a_script_may_read_its_command_line_itself(read: str, tmp_path: Path) -> None:
    assert args(load(write(tmp_path, f"import sys; launch({read})"), "word")) == ["word"]


def test_other_parsers_see_the_command_line(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import argparse, sys
        from absl import app
        def parse(argv):
            parser = argparse.ArgumentParser()
            parser.add_argument('--rate', type=float)
            return parser.parse_args(argv[1:])
        def main(options): launch(options.rate, *sys.argv[1:])
        if __name__ == '__main__': app.run(main, flags_parser=parse)
        """,
    )
    assert args(load(script, "--rate=0.5")) == ["0.5", "--rate=0.5"]


def test_two_scripts_in_one_process_do_not_disturb_each_other(tmp_path: Path) -> None:
    text = """
        import helper
        from absl import app, flags
        from package import part
        from package.inner import deeper
        flags.DEFINE_string('name', {default!r}, 'A flag of the same name.')
        def main(_): launch(flags.FLAGS.name, helper.VALUE, part.VALUE, flags.FLAGS.of_helper)
        if __name__ == '__main__': app.run(main)
    """
    scripts: dict[str, Path] = {}
    for name in ("one", "two"):
        helper = f"from absl import flags\nVALUE = {name!r}\nflags.DEFINE_string('of_helper', {name!r}, '')\n"
        (tmp_path / name / "package" / "inner").mkdir(parents=True)
        (tmp_path / name / "package" / "inner" / "deeper.py").write_text("", encoding="utf-8")
        (tmp_path / name / "helper.py").write_text(helper, encoding="utf-8")
        (tmp_path / name / "package" / "part.py").write_text(f"VALUE = {name!r}\n", encoding="utf-8")
        scripts[name] = write(tmp_path / name, text.format(default=name))
    for name in ("one", "two", "one"):
        assert args(load(scripts[name])) == [name] * 4
        assert args(load(scripts[name], "--name=x")) == ["x", name, name, name]


def test_a_helper_changed_between_two_compiles_is_read_again(tmp_path: Path) -> None:
    script = write(tmp_path, "import helper; launch(helper.VALUE)")
    for value in (1, 2):
        (tmp_path / "helper.py").write_text(f"VALUE = {value}\n", encoding="utf-8")
        assert args(load(script)) == [str(value)]
    assert not (tmp_path / "__pycache__").exists()


def test_nothing_of_a_script_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "found.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    script = write(
        tmp_path / "scripts",
        """
        import os, signal, sys
        from absl import flags
        os.umask(0o777)
        sys.setrecursionlimit(900)
        sys.excepthook = print
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.alarm(1000)
        sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'elsewhere'))
        import found
        flags.DEFINE_string('name', '', '')
        os.environ['LEFT'] = 'behind'
        del os.environ['HERE']
        os.chdir('/')
        import asyncio
        asyncio.run(asyncio.sleep(0))
        def main(_): launch()
        """,
    )
    monkeypatch.setenv("HERE", "before")

    def state() -> object:
        umask = os.umask(0o022)
        os.umask(umask)
        return (
            list(sys.path),
            sys.argv,
            set(sys.modules),
            sys.modules["__main__"],
            dict(os.environ),
            Path.cwd(),
            asyncio.get_event_loop(),
            sorted(absl_flags.FLAGS),
            absl_flags.FLAGS.is_parsed(),
            umask,
            sys.getrecursionlimit(),
            sys.excepthook,
            signal.getsignal(signal.SIGTERM),
            signal.getitimer(signal.ITIMER_REAL),
        )

    asyncio.set_event_loop(asyncio.new_event_loop())  # and stays: later tests may want one
    load(script)  # what xmgen itself imports on first use is imported now
    before = state()
    load(script, "--name=x")
    assert state() == before


def test_the_same_experiment_from_any_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = write(
        tmp_path / "project",
        """
        with xm_local.create_experiment('a sweep') as experiment:
            [code] = experiment.package(
                [xm.python_container(xm_local.Local.Spec(), xm.ModuleName('train'), path='code')]
            )
            experiment.add(xm.Job(code, xm_local.Local()))
        """,
    )
    (tmp_path / "project" / "code").mkdir()
    (tmp_path / "project" / "code" / "train.py").write_text("", encoding="utf-8")
    first = load(script)
    monkeypatch.chdir("/")
    assert dataclasses.asdict(load(script)) == dataclasses.asdict(first)
    monkeypatch.chdir(tmp_path)
    relative = xmanager.load(Path("project/launcher.py"), root=Path("project"), stack="sweep")
    assert dataclasses.asdict(relative) == dataclasses.asdict(first)


def test_what_a_script_prints_goes_to_stderr(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import os, subprocess, sys
        print('printed')
        sys.stdout.write('written\\n')
        subprocess.run(['echo', 'from a child'])
        os.write(1, b'to the descriptor\\n')
        launch()
        """,
    )
    program = (
        "from pathlib import Path; from xmgen.frontends.xmanager import loader as xmanager; print('before');"
        f"xmanager.load(Path({str(script)!r}), root=Path({str(tmp_path)!r}), stack='sweep'); print('after')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "before\nafter\n"
    assert sorted(result.stderr.splitlines()) == ["from a child", "printed", "to the descriptor", "written"]
