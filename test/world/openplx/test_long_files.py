"""Long files: names beyond what file systems take, and work that grows no faster than the file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from nightly import only

from sim_node.extensions.openplx.library import Library
from sim_node.extensions.openplx.models import MAX_INHERITED, MAX_LINEAGE_DEPTH, Fault, Models
from sim_node.world import WorldError, load
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

Write = Callable[..., Path]


def faults(path: Path) -> list[str]:
    with pytest.raises(WorldError) as error:
        load(path)
    return error.value.lines()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "w.openplx").write_text(text)
        return tmp_path / "w.openplx"

    return write


@pytest.mark.parametrize(
    "text",
    [
        "S is Physics3D.System:\n  a is {long}\n",
        "S is {long}.System\n",
        'import $"{long}"\nS is Physics3D.System\n',
        'import @"{long}.openplx"\nS is Physics3D.System\n',
    ],
)
def test_a_name_that_no_file_system_takes(text: str, write: Write) -> None:
    assert any(":1:" in line or ":2:" in line for line in faults(write(text.format(long="B" * 300))))


def chain(count: int) -> str:
    return "M0 is Physics3D.System\n" + "".join(f"M{i} is M{i - 1}:\n  a{i} is Real: {i}\n" for i in range(1, count))


@pytest.mark.parametrize("backwards", only([False, True], 1))
def test_a_chain_is_as_deep_as_allowed_in_either_order(backwards: bool, write: Write) -> None:
    """System itself is made of models, too."""

    def text(count: int) -> str:
        parts = chain(count).replace("\n  ", "\0").split("\n")[:-1]
        return "\n".join(reversed(parts) if backwards else parts).replace("\0", "\n  ") + "\n"

    load(write(text(MAX_LINEAGE_DEPTH // 2)))
    lines = faults(write(text(3000)))
    assert f"more than {MAX_LINEAGE_DEPTH} deep" in lines[0]
    assert backwards or len(lines) == 1


def inherited(text: str, path: Path) -> int:
    """The work of all models: lines taken over from others."""
    path.write_text(text)
    report = Report(str(path))
    library = Library(Roots.of(path), report)
    source, namespace = library.open(path, path)
    assert source is not None
    models = Models(library)
    for definition in namespace.definitions.values():
        with suppress(Fault):
            models.of(definition, definition.place)
    return models.inherited


def test_work_is_bounded_however_models_inherit(tmp_path: Path) -> None:
    """A chain, and many models with a base of many lines: twice the file is about twice the work, up to a limit."""
    path = tmp_path / "w.openplx"
    assert inherited(chain(3000), path) == inherited(chain(1500), path)
    base = "B is Physics3D.System:\n" + "".join(f"  a{i} is Real: 1\n" for i in range(500))
    few, many = (base + "".join(f"M{i} is B\n" for i in range(count)) for count in (100, 200))
    assert inherited(many, path) < 2.1 * inherited(few, path)
    wide = "B is Physics3D.System:\n" + "".join(f"  a{i} is Real: 1\n" for i in range(1500))
    assert inherited(wide + "".join(f"M{i} is B\n" for i in range(1500)), path) <= MAX_INHERITED
