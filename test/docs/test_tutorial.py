"""Each page of the tutorial is followed from its top to its end, in one empty folder, as its reader does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_blocks import BLOCK, COMMAND, run, shows

from sim_node.simulation.physics.engine import ENGINES
from sim_node.simulation.sensors.registry import SENSORS

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorial").glob("*.md"))
FILE = re.compile(r"# (?P<name>[\w./]+\.(?:yaml|py|toml))(?P<more>, continued)?\b.*\n")


def printed(command: str, folder: Path) -> str:
    ran = run(command, folder)
    assert ran.code in (0, 1, 2), ran.text  # 1: bags differ; 2: a mistake that the page shows
    return ran.text


def follow(page: Path, folder: Path) -> None:
    """Save the files that a page names, run its Python and its commands, and compare what they print.

    A block whose first line is `# NAME.yaml`, `# NAME.py` or `# NAME.toml` is saved under that name;
    `# NAME.yaml, continued` adds to the file. Blocks that start with `# not run: REASON` are for the reader alone, and
    `...` stands for any text.
    """
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    for match in BLOCK.finditer(text):
        language, block = match.groups()
        where = f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}"
        file = FILE.match(block)
        if file:
            path = folder / file["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((path.read_text(encoding="utf-8") if file["more"] else "") + block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, where, "exec"), namespace)
        elif language == "console" and not block.startswith("# not run:"):
            for command, expected in COMMAND.findall(block):
                found = printed(command, folder)
                if found.startswith("sim_node: rendering needs OpenGL"):
                    pytest.skip(found)
                assert shows(expected, found), f"{where}: {command} printed\n{found}"


@pytest.mark.usefixtures("ros_domain", "one_sun")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_followed_literally(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    with SENSORS.extended({}), ENGINES.extended({}):
        follow(page, tmp_path)
