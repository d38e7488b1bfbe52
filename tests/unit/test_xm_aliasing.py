"""`import xmanager` means xmgen inside the alias, and only there."""

import importlib
import sys
import threading
import types

import pytest

import xmgen.xm
import xmgen.xm.core
from xmgen.frontends import aliasing


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("xmanager.xm", "xmgen.xm"),
        ("xmanager.xm.core", "xmgen.xm.core"),
        ("xmanager.xm_local", "xmgen.xm_local"),
        ("xmanager.xm_local.executables", "xmgen.xm_local.executables"),
        ("xmanager.xm_flags", "xmgen.xm_flags"),
        ("xmanager.xm_mock", "xmgen.xm_mock"),
        ("xmanager.contrib", "xmgen.xm_contrib.contrib"),
        ("xmanager.contrib.addressing", "xmgen.xm_contrib.contrib.addressing"),
        ("xmanager.cloud.auth", "xmgen.xm_contrib.cloud.auth"),
        ("xmanager.vizier.vizier_cloud", "xmgen.xm_contrib.vizier.vizier_cloud"),
    ],
)
def test_modules_are_ours(name, ours):
    with aliasing.aliased():
        module = importlib.import_module(name)
        assert module is importlib.import_module(ours)
        assert sys.modules[name] is module
    assert module.__spec__.name == module.__name__ == ours
    assert not [name for name in sys.modules if name.partition(".")[0] == "xmanager"]


def test_both_ways_to_import():
    with aliasing.aliased():
        names = {}
        exec("from xmanager import xm, xm_local\nimport xmanager.xm.core as core\nimport xmanager", names)
        assert names["xm"] is xmgen.xm
        assert names["core"] is xmgen.xm.core
        assert names["xmanager"].xm is xmgen.xm
        assert names["xm_local"].auth is importlib.import_module("xmanager.cloud.auth")


@pytest.mark.parametrize("name", ["xmanager.nothing", "xmanager.xm.nothing", "xmanager.contrib.nothing"])
def test_what_is_not_there(name):
    with aliasing.aliased(), pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_an_installed_xmanager_is_back_afterwards(monkeypatch):
    installed = types.ModuleType("xmanager")
    part = types.ModuleType("xmanager.xm")
    monkeypatch.setitem(sys.modules, "xmanager", installed)
    monkeypatch.setitem(sys.modules, "xmanager.xm", part)
    with pytest.raises(LookupError), aliasing.aliased():
        assert importlib.import_module("xmanager.xm") is xmgen.xm
        raise LookupError
    assert sys.modules["xmanager"] is installed
    assert sys.modules["xmanager.xm"] is part


def test_aliases_may_overlap():
    finders = list(sys.meta_path)
    inside, leave = threading.Event(), threading.Event()

    def other():
        with aliasing.aliased():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with aliasing.aliased():
        thread.start()
        assert inside.wait(30)
    try:
        assert importlib.import_module("xmanager.xm") is xmgen.xm
    finally:
        leave.set()
        thread.join()
    assert "xmanager" not in sys.modules
    assert sys.meta_path == finders
