"""What Pulumi says is cut down to what a user needs, and nothing that a trial says is."""

from __future__ import annotations

import textwrap

import pytest

from xmgen.pulumi_cli import wording

HOST = '  File "/opt/bin/pulumi-language-python-exec", line 232, in <module>\n    loop.run_until_complete(coro)\n'
SDK = (
    '  File "/venv/site-packages/pulumi/output.py", line 294, in run\n    data = await self._data\n'
    "           ^^^^^^^^^^^^^^^^\n"
)
OWN = '  File "/home/ada/stacks/llm/jobs.py", line 7, in <module>\n    raise TimeoutError("the plugin")\n'
RPC = (
    "grpc.aio._call.AioRpcError: <AioRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNKNOWN\n"
    '\tdetails = "no plugin \\"gcp\\" answers"\n\tdebug_error_string = "UNKNOWN:Error {grpc_status:2}"\n>\n'
)
FAILED = "Program failed with an unhandled exception:"
TRIAL = (
    f'train failed\n{wording.TRACEBACK}\n  File "/code/train.py", line 1, in <module>\n    1 / 0\nZeroDivisionError: x'
)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no such project", "no such project"),
        (f"{FAILED}\n{wording.TRACEBACK}\n{HOST}{SDK}{OWN}KeyError: 'x'\n\n", f"{FAILED} KeyError: 'x'"),
        # An exception may say several lines.
        (
            f"{FAILED}\n{wording.TRACEBACK}\n{HOST}{OWN}TimeoutError: the plugin\nnever answered\n",
            f"{FAILED} TimeoutError: the plugin\nnever answered",
        ),
        # One that led to another.
        (
            f"{wording.TRACEBACK}\n{HOST}{RPC}\nDuring handling of the above exception, another exception occurred:\n\n"
            f"{wording.TRACEBACK}\n{SDK}Exception: invoke failed\n",
            "Exception: invoke failed",
        ),
        (f"{FAILED}\n{wording.TRACEBACK}\n{HOST}{SDK}{RPC}", f'{FAILED} no plugin "gcp" answers'),
        # Indented as a whole.
        (textwrap.indent(f"{wording.TRACEBACK}\n{HOST}{SDK}KeyError: 'x'\n", "    "), "KeyError: 'x'"),
        # On one line.
        (
            f"up: {' '.join(f'{wording.TRACEBACK} {HOST}{SDK}{OWN}TimeoutError: the plugin'.split())}",
            "up: TimeoutError: the plugin",
        ),
        (f"up: {' '.join(f'{wording.TRACEBACK} {SDK}{RPC}'.split())}", 'up: no plugin "gcp" answers'),
        (f"up: {' '.join(f'{wording.TRACEBACK} {HOST}oops'.split())}", "up: an error of the Python program"),
        # What a trial printed is its own.
        (TRIAL, TRIAL),
    ],
)
def test_a_trials_failure_takes_one_line_of_the_engines_messages(said: str, shown: str) -> None:
    assert wording.brief(said) == shown


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "it said nothing, and ended with status 3"),
        (-9, "it said nothing, and was ended by SIGKILL"),
        (-99, "it said nothing, and was ended by signal 99"),
    ],
)
def test_how_it_ended(code: int, text: str) -> None:
    assert wording.ended(code) == text
