"""Public names of a package: imported when they are first used, whatever else is imported meanwhile."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = """
from sim_node.lazy import public

with public(__name__):
    from {name} import inner as inner
    from {name}.far import distance as distance
    from {name}.load import load as load
    from colorsys import rgb_to_hsv as rgb_to_hsv
"""


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of its own for each test."""
    name = f"lazy_package_{tmp_path.name}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE.format(name=name))
    (folder / "inner.py").write_text("")
    (folder / "far.py").write_text("distance = 3.0")
    (folder / "load.py").write_text("def load(): return 'loaded'")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for each in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[each]


def test_names_are_imported_when_they_are_first_used(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ == ["distance", "inner", "load", "rgb_to_hsv"]
    assert set(package.__all__) <= set(dir(package))
    assert not {f"{name}.far", f"{name}.load"} & set(sys.modules)
    assert package.distance == 3.0
    assert f"{name}.far" in sys.modules
    assert package.inner is sys.modules[f"{name}.inner"]
    assert package.rgb_to_hsv is importlib.import_module("colorsys").rgb_to_hsv
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'distanc'"):
        package.distanc  # noqa: B018
    names: dict[str, object] = {}
    exec(f"from {name} import *", names)
    assert set(package.__all__) <= set(names)


def test_a_name_stays_when_the_module_of_its_name_is_imported(name: str) -> None:
    package = importlib.import_module(name)
    importlib.import_module(f"{name}.load")
    assert package.load() == "loaded"


def test_imports_of_other_threads_go_on(name: str) -> None:
    """While a package notes its names, other threads import modules as ever."""
    package = importlib.import_module(name)
    ended = threading.Event()
    faults: list[BaseException] = []

    def import_others() -> None:
        while not ended.is_set():
            sys.modules.pop("colorsys", None)
            names: dict[str, object] = {}
            exec("from colorsys import rgb_to_hsv", names)
            if not callable(names["rgb_to_hsv"]):
                faults.append(TypeError(repr(names["rgb_to_hsv"])))

    thread = threading.Thread(target=import_others)
    thread.start()
    for _ in range(200):
        importlib.reload(package)
    ended.set()
    thread.join()
    assert faults == []
    assert package.distance == 3.0
