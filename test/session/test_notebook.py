"""What a notebook shows: representations of public classes, and `sim_node.show`."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import sim_node
from sim_node.html import MAX_ROWS, table

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
JUPYTER = ROOT / ".venv" / "peers" / "jupyter" / "bin" / "python"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], 4)
nbformat.validate(book)
NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[2])
"""


class Cells(HTMLParser):
    """Collects the texts of the cells of a table, and refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_cells_are_escaped_and_long_tables_cut() -> None:
    text = table("<b>", ("a", "b"), [("<script>", "x & y")] * (MAX_ROWS + 2))
    assert "<script>" not in text
    cells = Cells(text).cells
    assert cells[:4] == ["a", "b", "<script>", "x & y"]
    assert cells[-2:] == ["and 2 more", ""]


def test_worlds_and_runs_say_what_they_are() -> None:
    world = sim_node.load("orbit")
    written = yaml.safe_load((ROOT / "config" / "worlds" / "orbit.yaml").read_text(encoding="utf-8"))
    counts = {f"{kind}={len(written[kind])}" for kind in ("frames", "motions", "sensors")}
    assert repr(world).startswith("World('orbit', ")
    assert set(repr(world)[:-1].split(", ")[1:]) == counts
    assert {"frames", "motions"} <= set(Cells(world._repr_html_()).cells)
    simulation = sim_node.Simulation(world, seed=3)
    simulation.run(0.5)
    assert repr(simulation) == "Simulation('orbit' at 0.5 s: 13 frames, seed 3)"
    cells = Cells(simulation._repr_html_()).cells
    assert set(simulation.frames.names) <= set(cells)
    snapshot = simulation.snapshot()
    assert repr(snapshot).startswith("Snapshot(0.5 s: 13 poses")
    assert "pose" in Cells(snapshot._repr_html_()).cells


def test_trees_and_sessions_say_what_they_are() -> None:
    tree = sim_node.TransformTree()
    tree.set_transform("map", "<base>", 0, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    assert repr(tree) == "TransformTree(2 frames)"
    assert "&lt;base&gt;" in tree._repr_html_()
    session = sim_node.Session("no such world")
    assert repr(session) == "Session('no such world', not open)", "a representation loads nothing"
    with sim_node.Session("orbit") as session:
        assert repr(session) == "Session('orbit', open)"
    assert repr(session) == "Session('orbit', closed)"


def test_show_runs_and_shows_until_it_is_closed() -> None:
    with sim_node.show("orbit", port=0, height=300) as shown:
        assert f'<iframe src="{shown.url}"' in shown._repr_html_()
        assert "height:300px" in shown._repr_html_()
        assert repr(shown) == f"Shown('orbit' at {shown.url})"
        with urllib.request.urlopen(shown.url) as page:
            assert page.status == 200
        assert shown.session.loop.call(lambda: shown.session.simulation.world.name) == "orbit"
    assert repr(shown) == "Shown(closed)"
    assert shown._repr_html_() == "<i>closed</i>"
    shown.close()


@pytest.mark.peers
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """By Jupyter's own kernel and client, from an environment of its own; sim_node is that of this one."""
    if not JUPYTER.exists():
        pytest.skip("make test-peers sets up .venv/peers/jupyter")
    done = tmp_path / "done.ipynb"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), sysconfig.get_paths()["purelib"]]),
        "IPYTHONDIR": str(tmp_path),
    }
    command = [str(JUPYTER), "-c", EXECUTE, str(path), str(done)]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    outputs = [out for cell in json.loads(done.read_text())["cells"] for out in cell.get("outputs", ())]
    shown = ["".join(out.get("data", {}).get("text/html", "")) for out in outputs]
    assert sum("<iframe src=" in html for html in shown) == 1
    assert sum("<table>" in html for html in shown) >= 2, "a world and a run are shown as tables"


def test_notebooks_have_no_outputs() -> None:
    """Outputs would change with every run."""
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert cell.get("outputs", []) == []
            assert cell.get("execution_count") is None
