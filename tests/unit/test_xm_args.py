"""Arguments and environment: from what a launch script writes to what a program receives."""

import enum

import pytest

from tests.unit import launching
from xmgen.errors import InputError
from xmgen.experiment import ShellSafeArg
from xmgen.frontends.xmanager.api import xm, xm_local


class Mode(enum.Enum):
    FAST = 1


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        (None, ()),
        ({}, ()),
        ({"lr": 0.1, "name": "adam"}, ("--lr=0.1", "--name=adam")),
        ({"yes": True, "no": False}, ("--yes", "--nono")),
        ({"a": None}, ()),
        ({"a": "None"}, ("--a=None",)),
        ({"a": ""}, ("--a=",)),
        ({"a": [1, "b c"]}, ("--a=1", "--a=b c")),
        ({"a": (1, 2)}, ("--a=1", "--a=2")),
        ({"a": []}, ()),
        ({"a": [[1, 2]]}, ("--a=[[1, 2]]",)),
        ({"a": [True, None]}, ("--a=True", "--a=None")),
        ({"a": {"b": 1}}, ("--a={'b': 1}",)),
        ({"mode": Mode.FAST}, ("--mode=FAST",)),
        ({1: False}, ("--no1",)),
        ({"lr": 1e-5}, ("--lr=1e-05",)),
        ({"text": 'it\'s $HOME; "quoted"\n*'}, ('--text=it\'s $HOME; "quoted"\n*',)),
        (["--foo", "x y", None, 1, True, Mode.FAST], ("--foo", "x y", "None", "1", "True", "FAST")),
        ([""], ("",)),
        ([xm.ShellSafeArg("$HOME/x")], (ShellSafeArg("$HOME/x"),)),
        ({"home": xm.ShellSafeArg("$HOME")}, (ShellSafeArg("--home=$HOME"),)),
        ({"a b": xm.ShellSafeArg("$X")}, (ShellSafeArg("'--a b'=$X"),)),
        ({"x": [1, xm.ShellSafeArg("$X")]}, ("--x=1", ShellSafeArg("--x=$X"))),
        ("--foo", ValueError),
        (b"--foo", ValueError),
        ({1, 2}, TypeError),
        (42, TypeError),
    ],
)
def test_what_a_program_receives(given, argv):
    if isinstance(argv, tuple):
        assert xm.SequentialArgs.from_collection(given).to_argv() == argv
    else:
        with pytest.raises(argv) as error:
            xm.SequentialArgs.from_collection(given)
        assert isinstance(error.value, InputError)


@pytest.mark.parametrize(
    ("operands", "argv"),
    [
        ([{"a": 1, "b": 2}, ["pos"], {"a": 3, "c": 4}], ("--a=3", "--b=2", "pos", "--c=4")),
        ([{"a": 1}, {"a": None}], ()),
        ([{"a": None}, {"a": 1}], ("--a=1",)),
        ([{"a": [1, 2]}, {"a": 3}], ("--a=3",)),
        ([{"verbose": True}, {"verbose": False}], ("--noverbose",)),
        ([["x"], ["x"]], ("x", "x")),
        ([None, {"a": 1}, None], ("--a=1",)),
        ([xm.merge_args({"a": 1}, ["p"]), {"a": 2}], ("--a=2", "p")),
        ([], ()),
    ],
)
def test_merging_keeps_the_first_place_and_the_last_value(operands, argv):
    assert xm.merge_args(*operands).to_argv() == argv


def test_merging_changes_no_operand():
    base = xm.merge_args({"a": 1}, ["x"])
    xm.merge_args(base, {"a": 2, "b": 3}, ["y"])
    assert base == xm.merge_args({"a": 1}, ["x"])


def test_args_as_lists_for_a_shell_and_for_argv():
    args = xm.merge_args({"a": "b c"}, [xm.ShellSafeArg("$X"), "it's"])
    assert args.to_list() == ["--a='b c'", "$X", "'it'\"'\"'s'"]
    assert args.to_list(xm.utils.ARGV_ESCAPER) == ["--a=b c", "$X", "it's"]
    assert args.to_list(xm.utils.ARGV_ESCAPER, lambda key, value: f"{key} {value}") == ["--a b c", "$X", "it's"]
    assert args.to_dict() == {"a": "b c", "$X": True, "it's": True}
    assert args.to_dict(kwargs_only=True) == {"a": "b c"}


def test_args_rewritten_and_removed():
    args = xm.merge_args({"a": "x", "n": 1}, ["x", 2])
    assert args.rewrite_args(str.upper).to_argv() == ("--a=X", "--n=1", "X", "2")
    assert args.remove_args("a").remove_args("x").to_argv() == ("--n=1", "2")
    assert args.to_argv() == ("--a=x", "--n=1", "x", "2")


def test_a_shell_safe_argument_does_not_become_text_unnoticed():
    with pytest.raises(RuntimeError, match="no longer be expanded"):
        f"{xm.ShellSafeArg('$X')}"


def test_a_warning_for_none_once_for_each_flag(tmp_path, capsys):
    def body(experiment):
        for _ in range(3):
            experiment.add(launching.job(args={"warm_start": None}))

    launching.launch(launching.project(tmp_path), body)
    assert capsys.readouterr().err.count("warm_start=None") == 1


@pytest.mark.parametrize(
    ("own", "jobs", "added", "argv"),
    [
        ({"a": 1, "b": 2}, {}, None, ("--a=1", "--b=2")),
        ({"a": 1, "b": 2}, {"a": 3}, None, ("--a=3", "--b=2")),
        ({"a": 1}, {"a": 2}, {"a": 3}, ("--a=3",)),
        ({"a": [1, 2]}, {"a": [3]}, None, ("--a=3",)),
        ({"a": True}, {"a": None}, None, ()),
        (["pos"], {"a": 1}, ["more"], ("pos", "--a=1", "more")),
        (None, {"a": "b c"}, None, ("--a=b c",)),
    ],
)
def test_an_executables_args_are_merged_with_the_jobs(tmp_path, own, jobs, added, argv):
    def body(experiment):
        job = xm.Job(launching.trainer(args=own), xm_local.Local(), args=jobs)
        experiment.add(job, args=None if added is None else {"args": added})

    [unit] = launching.launch(launching.project(tmp_path), body).units
    assert unit.jobs[0].args == argv


@pytest.mark.parametrize(
    ("own", "jobs", "added", "env"),
    [
        ({}, {}, {}, {}),
        ({"A": 1}, {"B": 2.5}, {"C": True}, {"A": "1", "B": "2.5", "C": "True"}),
        ({"A": 1}, {"A": 2}, {}, {"A": "2"}),
        ({"A": 1}, {"A": 2}, {"A": 3}, {"A": "3"}),
        ({"A": 1}, {"A": None}, {}, {}),
        ({}, {"MODE": Mode.FAST}, {}, {"MODE": "FAST"}),
        ({}, {"TEXT": "a\nb $X 'c'"}, {}, {"TEXT": "a\nb $X 'c'"}),
        ({}, {"EMPTY": ""}, {}, {"EMPTY": ""}),
    ],
)
def test_environment_values_become_texts(tmp_path, own, jobs, added, env):
    def body(experiment):
        job = xm.Job(launching.trainer(env_vars=own), xm_local.Local(), env_vars=jobs)
        experiment.add(job, args={"env_vars": added})

    [unit] = launching.launch(launching.project(tmp_path), body).units
    assert unit.jobs[0].env == env


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "Ä", 3])
def test_names_of_environment_variables_are_checked(name):
    with pytest.raises(ValueError, match="is no name of an environment variable"):
        xm.Job(None, None, env_vars={name: "x"})


def test_an_environment_variable_no_shell_will_expand(tmp_path):
    with pytest.raises(TypeError, match=r"environment variable A is an xm\.ShellSafeArg"):
        launching.launch(
            launching.project(tmp_path),
            lambda experiment: experiment.add(launching.job(env_vars={"A": xm.ShellSafeArg("$X")})),
        )


def test_texts_that_no_program_can_receive_are_reported_together(tmp_path):
    def body(experiment):
        experiment.add(launching.job("first", args=["ok", "a\0b"], env_vars={"V": "\ud800"}))
        experiment.add(launching.job("second", args={"x": xm.ShellSafeArg("\0")}))

    with pytest.raises(InputError) as error:
        launching.launch(launching.project(tmp_path), body)
    assert [(problem.where.partition(", ")[2], problem.message) for problem in error.value.problems] == [
        ("work unit 1, job first", "argument 2 contains a NUL character: 'a\\x00b'"),
        ("work unit 1, job first", "environment variable V contains half of a surrogate pair: '\\ud800'"),
        ("work unit 2, job second", "argument 1 contains a NUL character: '--x=\\x00'"),
    ]
