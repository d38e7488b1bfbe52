"""`import xmanager` means xmgen inside the alias, and only there."""

import importlib
import sys
import threading
import types

import pytest

import xmgen.frontends.xmanager.api.xm
import xmgen.frontends.xmanager.api.xm.core
from xmgen.frontends.xmanager import aliasing


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("xmanager.xm", "xmgen.frontends.xmanager.api.xm"),
        ("xmanager.xm.core", "xmgen.frontends.xmanager.api.xm.core"),
        ("xmanager.xm_local", "xmgen.frontends.xmanager.api.xm_local"),
        ("xmanager.xm_local.executables", "xmgen.frontends.xmanager.api.xm_local.executables"),
        ("xmanager.xm_flags", "xmgen.frontends.xmanager.api.xm_flags"),
        ("xmanager.xm_mock", "xmgen.frontends.xmanager.api.xm_mock"),
        ("xmanager.contrib", "xmgen.frontends.xmanager.api.contrib"),
        ("xmanager.contrib.addressing", "xmgen.frontends.xmanager.api.contrib.addressing"),
        ("xmanager.cloud.auth", "xmgen.frontends.xmanager.api.cloud.auth"),
        ("xmanager.vizier.vizier_cloud", "xmgen.frontends.xmanager.api.vizier.vizier_cloud"),
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
        assert names["xm"] is xmgen.frontends.xmanager.api.xm
        assert names["core"] is xmgen.frontends.xmanager.api.xm.core
        assert names["xmanager"].xm is xmgen.frontends.xmanager.api.xm
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
        assert importlib.import_module("xmanager.xm") is xmgen.frontends.xmanager.api.xm
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
        assert importlib.import_module("xmanager.xm") is xmgen.frontends.xmanager.api.xm
    finally:
        leave.set()
        thread.join()
    assert "xmanager" not in sys.modules
    assert sys.meta_path == finders
