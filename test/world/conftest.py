"""World files written for one test."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.world import World, WorldError, lay_out, load


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a file below a folder of the test's own, which is the working directory; returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes, name: str = "w.yaml") -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return path

    return write


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., World]:
    """The world that a text says."""
    return lambda text: load(write(text))


@pytest.fixture
def faults(write: Callable[..., Path]) -> Callable[..., list[str]]:
    """The lines that are printed for a text that is no world."""

    def faults(text: str | bytes) -> list[str]:
        with pytest.raises(WorldError) as error:
            load(write(text))
        return error.value.lines()

    return faults


@pytest.fixture
def layout_faults(write: Callable[..., Path]) -> Callable[[str], list[str]]:
    """The lines that are printed for a text that is no world, or cannot be laid out."""

    def faults(text: str) -> list[str]:
        with pytest.raises(WorldError) as error:
            lay_out(load(write(text)))
        return error.value.lines()

    return faults
