"""OpenPLX files written for one test, and the bundles that PyPI has."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim_node.extensions.openplx.library import SEARCH_PATH
from sim_node.extensions.openplx.reader import read_objects
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report


@pytest.fixture(scope="session")
def bundle_files() -> list[Path]:
    """The .openplx files of the distribution openplx-bundles."""
    distribution = importlib.metadata.distribution("openplx-bundles")
    files = [file for file in distribution.files or () if file.suffix == ".openplx"]
    return sorted(Path(str(distribution.locate_file(file))) for file in files)


@pytest.fixture(autouse=True)
def _no_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SEARCH_PATH, raising=False)


@pytest.fixture
def bundles(bundle_files: list[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the bundles, on the search path."""
    folder = next(file for file in bundle_files if file.parts[-2:] == ("Physics3D", "config.openplx")).parents[1]
    monkeypatch.setenv(SEARCH_PATH, str(folder))
    return folder


@pytest.fixture
def objects(write: Callable[..., Path]) -> Callable[..., dict[str, Any]]:
    """The objects of the models that a text says; faults fail."""

    def objects(text: str, name: str = "w.openplx") -> dict[str, Any]:
        path = write(text, name)
        report = Report(name)
        found = read_objects(path, path, Roots.of(path), report)
        assert not report.errors, "\n".join(map(str, report.errors))
        assert found is not None
        return found

    return objects


@pytest.fixture
def value(objects: Callable[..., dict[str, Any]]) -> Callable[[str], Any]:
    """What an expression comes to as an attribute of a type."""

    def value(expression: str, of: str = "Real", lines: str = "") -> Any:
        return objects(f"M:\n{lines}    found is {of}: {expression}\n")["M"].value("found")

    return value
