"""docs/plugins.md: each file on it works alone in a package outside of the tree, and its mistakes are its package's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from forked import Forks
from nightly import only
from page_blocks import BLOCK

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
KINDS = {"sensor", "joint type", "force", "base", "file format", "engine", "subcommand", "tool for assistants"}
PLUGIN = r"plug-in mine 1\.0 \(sim_node\.\w+: \w+ = mine\.\w+\)"


class Section(NamedTuple):
    """groups: entry-point groups; file: the file on the page; use: what follows it."""

    groups: tuple[str, ...]
    file: str
    use: str

    @property
    def module(self) -> str:
        """The entry point of a subcommand has its name."""
        named = re.search(r'@command\("(\w+)"', self.file)
        return named[1] if named else "thing"


def sections() -> dict[str, Section]:
    found = {}
    for heading, text in re.findall(r"^## An? (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        file, use = (block[2] for block in BLOCK.finditer(text))
        groups = tuple(re.findall(r"`(sim_node\.\w+)`", text.partition("```")[0]))
        found[heading] = Section(groups, file, use)
    return found


def packaged(section: Section, folder: Path, file: str) -> Path:
    """A package with the file as its only module, as pip would install it."""
    site = folder / "site"
    (site / "mine").mkdir(parents=True)
    (site / "mine" / "__init__.py").touch()
    (site / "mine" / f"{section.module}.py").write_text(file)
    info = site / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = (f"[{group}]\n{section.module} = mine.{section.module}\n" for group in section.groups)
    (info / "entry_points.txt").write_text("".join(points))
    return site


def test_the_page_has_every_kind() -> None:
    assert set(sections()) == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_file_of_the_page_works_in_a_package_of_its_own(kind: str, forked: Forks, tmp_path: Path) -> None:
    """Its use sees nothing of the file but what the package registers; of a subcommand, its function."""
    section = sections()[kind]
    site = packaged(section, tmp_path, section.file)
    use = section.use
    if kind == "subcommand":
        use = f"from sim_node.cli.main import main\nassert main([{section.module!r}, 'lidar_room']) == 0"
    code, errors = forked.python(tmp_path, f"import warnings\nwarnings.simplefilter('error')\n{use}", site=site)
    assert code == 0, errors


# Calls the tool as an assistant does.
CALL = """
import io, sys, anyio
from pathlib import Path
from mcp.client import Client
from sim_node.extensions.assistants import Access
from sim_node.extensions.assistants.journal import Journal
from sim_node.extensions.assistants.server import server_of
async def call():
    async with Client(server_of(Access(Path()), lambda: None, Journal(io.StringIO()), "1")) as client:
        result = await client.call_tool("count_frames", {})
        sys.exit(result.content[0].text if result.is_error else 0)
anyio.run(call)
"""
# What stands in a file, what stands there instead, and what is told.
MISTAKES = [
    ("sensor", "state.pose[:, 2:3].copy()", "state.pose[:, 2]", r"measured values of 1 sensors have shape \(1,\)"),
    ("sensor", "state.pose[:, 2:3].copy()", "state.poze", "AttributeError: "),
    (
        "joint type",
        "slide((1, 0, 0))",
        "slide((0, 0, 0))",
        r"ValueError: joint type 'trolley_crane': part 0 has the axis",
    ),
    ("force", "return Thrusts(", "return (lambda *_: 3)(", "a ForceElement or None is needed, found 3"),
    ("force", "each.newtons for", "each.newton for", "AttributeError: "),
    ("base", "return LinearKinematics(", "return dict(rates=", "a Kinematics is needed, found {"),
    ("base", "1.0 / each.wheel_radius", "1.0 / each.radius", "AttributeError: "),
    ("file format", "World(path.stem, frames", "dict(frames", "a World or None is needed, found {"),
    ("file format", "float(z)", "flaot(z)", "NameError: "),
    ("engine", "return Turning(", "return (lambda *_: 3)(", "an Engine or None is needed, found 3"),
    ("engine", "self._angles +=", "self._angle +=", "AttributeError: "),
    ("subcommand", "return 0", 'return "done"', "run returned 'done'"),
    ("subcommand", "each.type", "each.tpye", "AttributeError: "),
    ("tool for assistants", "    names = ", "    return 3\n    names = ", "a dict is needed, found 3"),
    (
        "tool for assistants",
        "    names = ",
        '    return {"frames": "many"}\n    names = ',
        "frames: input should be a valid",
    ),
    ("tool for assistants", "    names = ", "    names = call.nothing\n    names = ", "AttributeError: "),
    ("tool for assistants", 'prefix: Annotated[str, "of the names of frames"]', "prefix", "KeyError: 'prefix'"),
]


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"), only(MISTAKES, *range(0, len(MISTAKES) - 3, 2), len(MISTAKES) - 1)
)
def test_a_mistake_in_a_file_is_told_as_its_packages(
    kind: str, old: str, new: str, told: str, forked: Forks, tmp_path: Path
) -> None:
    section = sections()[kind]
    assert section.file.count(old) == 1
    site = packaged(section, tmp_path, section.file.replace(old, new))
    if kind == "subcommand":
        code, errors = forked.run(tmp_path, section.module, "lidar_room", site=site)
    else:
        use = CALL if kind == "tool for assistants" else section.use
        code, errors = forked.python(tmp_path, f"import warnings\nwarnings.simplefilter('error')\n{use}", site=site)
    assert code
    assert re.search(rf"{PLUGIN}.*{told}.*mine/{section.module}\.py:\d+", errors), errors
