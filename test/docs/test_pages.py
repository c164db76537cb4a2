"""Each example in the README and the docs is run: worlds load, Python runs, commands print what the page shows."""

from __future__ import annotations

import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nightly import only
from page_blocks import BLOCK, COMMAND, Printed, run, shows

from sim_node.cli.commands import COMMANDS
from sim_node.cli.main import main
from sim_node.extensions.assistants.registry import TOOLS
from sim_node.registry import Registry
from sim_node.simulation.physics.engine import ENGINES
from sim_node.simulation.physics.force_elements import FORCE_ELEMENTS
from sim_node.simulation.sensors.registry import SENSORS
from sim_node.world.base_types import BASE_TYPES
from sim_node.world.forces import FORCES
from sim_node.world.joints import JOINTS
from sim_node.world.part import PARTS
from sim_node.world.readers.registry import READERS
from sim_node.world.readers.yaml_section import SECTIONS

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("*.md"))  # test_tutorial.py runs them


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match[1] in languages:
                found.append(Block(page, line, match[1], match[2]))
    return found


SPECS = [block for block in blocks("yaml") if re.search(r"^environment:", block.text, re.MULTILINE)]
WORLDS = [block for block in blocks("yaml") if re.search(r"^world:", block.text, re.MULTILINE) and block not in SPECS]


@pytest.mark.parametrize("block", WORLDS, ids=str)
def test_a_world_on_a_page_is_valid(block: Block, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert main(["check", str(path)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("block", SPECS, ids=str)
def test_an_environment_on_a_page_opens(block: Block, tmp_path: Path) -> None:
    from sim_node.extensions.gym.spec_file import load_spec
    from sim_node.extensions.gym.task import GymTask

    path = tmp_path / "environment.yaml"
    path.write_text(block.text, encoding="utf-8")
    GymTask(load_spec(path))


def test_the_readmes_world_is_the_shipped_one() -> None:
    """Its commands and its Python run the shipped file."""
    (block,) = [block for block in WORLDS if block.page.name == "README.md"]
    assert block.text == (ROOT / "config/worlds/delivery.yaml").read_text(encoding="utf-8")


# Pages whose Python takes seconds, and of which make test runs the commands.
LONG_PYTHON = ("pictures.md", "sweeps.md", "environments.md", "plugins.md", "simulation-interfaces.md")
WITH_PYTHON = sorted({block.page for block in blocks("python")})


@pytest.mark.parametrize(
    "page",
    only(WITH_PYTHON, *(place for place, page in enumerate(WITH_PYTHON) if page.name not in LONG_PYTHON)),
    ids=lambda page: page.name,
)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    # What a page registers is not there for the tests that follow in this process.
    registries: tuple[Registry[Any, Any], ...] = (
        *(SENSORS, ENGINES, JOINTS, FORCES, FORCE_ELEMENTS, BASE_TYPES, READERS, TOOLS, PARTS, SECTIONS, COMMANDS),
    )
    with ExitStack() as stack:
        for registry in registries:
            stack.enter_context(registry.extended({}))
        for block in blocks("python"):
            if block.page == page:
                padded = "\n" * block.line + block.text  # a failure names the line of the page
                exec(compile(padded, str(page), "exec"), namespace)


# A run of a shipped world that leaves nothing but a bag: many blocks begin with the same one.
# What a slow machine prints every few seconds.
PROGRESS = re.compile(r"^\d+ of \d+ cases, .*\n", re.MULTILINE)
RECORDING = re.compile(r"sim_node run \w+ --no-ros --speed max --duration \d+ --record (?P<bag>\w+)")
Recordings = dict[str, tuple[Path, Printed]]


def recorded(command: str, recordings: Recordings, folder: Path) -> Printed:
    """What such a run printed where it was run first, and a copy of its bag."""
    named = RECORDING.fullmatch(command)
    assert named
    bag = folder / named["bag"]
    if command not in recordings:
        ran = run(command, folder)
        kept = folder / f"kept_{bag.name}"
        if bag.is_dir():
            shutil.copytree(bag, kept)
        recordings[command] = kept, ran
        return ran
    kept, ran = recordings[command]
    shutil.copytree(kept, bag)
    return ran


@pytest.fixture(scope="module")
def recordings() -> Recordings:
    return {}


# Blocks that take seconds, by a line of each, of pages of which make test runs others.
LONG = (
    "sim_node sweep --resume again",
    "sim_node sweep config/sweeps/cart_pole.yaml",
    "sim_node render lidar_room --at 2 --size 640x360 -o room.png",
    "sim_node render viewports --panels",
    "sim_node render flight --at 2",
    "sim_node test field_flight --runs 2",
    "sim_node test --again",
    "sim_node plot flight",
    "sim_node tree flight",
    "sim_node diff flight other",
    "sim_node convert --json",
)
CONSOLE = blocks("console")


@pytest.mark.usefixtures("ros_domain", "one_sun")
@pytest.mark.parametrize(
    "block",
    only(
        [(block,) for block in CONSOLE],
        *(place for place, block in enumerate(CONSOLE) if not any(line in block.text for line in LONG)),
    ),
    ids=str,
)
def test_a_command_prints_what_its_page_shows(block: Block, recordings: Recordings, tmp_path: Path) -> None:
    """Lines that start with `$ ` are run below a folder that holds the shipped worlds; what follows is their output.

    A block whose first word is a comment `# not run: REASON` is left alone. `...` on a line of its own stands for
    any lines.
    """
    if block.text.startswith("# not run:"):
        pytest.skip(block.text.splitlines()[0].removeprefix("# "))
    (tmp_path / "config").symlink_to(ROOT / "config")
    for command, expected in COMMAND.findall(block.text):
        ran = recorded(command, recordings, tmp_path) if RECORDING.fullmatch(command) else run(command, tmp_path)
        assert ran.code in (0, 2) or command.endswith(" || true"), ran.text
        if ran.text.startswith("sim_node: rendering needs OpenGL"):
            pytest.skip(ran.text)
        assert shows(expected, PROGRESS.sub("", ran.text)), f"{command} printed\n{ran.text}"


# Blocks that are shown as they are.
CODE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *TUTORIAL]:
        text = CODE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_lists_every_page_once() -> None:
    listed = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Where to go next")[2]
    names = re.findall(r"\]\(docs/([^)]+)\)", listed)
    assert sorted(names) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
