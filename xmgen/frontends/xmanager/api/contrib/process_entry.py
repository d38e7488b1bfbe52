"""Runs in a parameter controller's container: the pickled coroutine, in an XManager experiment of its own.

It is copied beside the code; what it imports is installed there.
"""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import os
import pickle
import sys

from absl import app, flags
from xmanager import xm, xm_local

_DATA_FILE = flags.DEFINE_string("data_file", None, "Pickle of (experiment id, coroutine function, args, kwargs).")
_INIT_FILE = flags.DEFINE_string("init_file", None, "Pickle of folders to import from.")


def _load(path):
    with open(path, "rb") as file:  # noqa: PTH123
        return pickle.load(file)  # noqa: S301


def main(argv):
    del argv
    here = os.getcwd()  # noqa: PTH109
    sys.path.append(here)
    if _INIT_FILE.value:
        sys.path[:0] = [os.path.join(here, folder) for folder in _load(_INIT_FILE.value)]  # noqa: PTH118
    experiment_id, function, args, kwargs = _load(_DATA_FILE.value)
    # Loading imported the user's modules, which may define flags of their own.
    _parse(sys.argv)

    @xm.run_in_asyncio_loop
    async def run():
        title = f"experiment_id={experiment_id} controller={function.__name__}"
        async with xm_local.create_experiment(title) as experiment:
            await function(experiment, *args, **kwargs)

    run()  # pyright: ignore[reportUnusedCoroutine]


def _parse(argv):
    flags.FLAGS.unparse_flags()
    return flags.FLAGS(argv, known_only=True)[:1]


if __name__ == "__main__":
    app.run(main, flags_parser=_parse)
