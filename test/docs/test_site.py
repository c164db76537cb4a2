"""The site: its navigation, its search index and its checks; and what pages say of supported systems."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from fetching import make_docs

ROOT = Path(__file__).parents[2]
GENERATED = re.compile(r"reference/")
FROM_THE_ROOT = {"index.md", "contributing.md", "security.md", "changelog.md"}


SOUGHT = {
    "nav2": "nav2.html",
    "headless": "in-ci.html",
    "ci": "in-ci.html",
    "cite": "in-ci.html",
    "license": "in-ci.html",
    "plane": "vehicles.html",
}


# Pages without a picture, and why.
NAMES = "names of topics, services or files, which are copied"
TEXT = "what is typed and printed, which is shown as text"
OTHERS = "windows of another program, which is not here to be drawn"
WITHOUT_PICTURES = {
    "ardupilot-names.md": NAMES,
    "command-line.md": TEXT,
    "commands.md": NAMES,
    "foxglove.md": OTHERS,
    "in-ci.md": TEXT,
    "listings.md": TEXT,
    "mavros.md": NAMES,
    "plugins.md": TEXT,
    "processes.md": TEXT,
    "px4-names.md": NAMES,
    "releasing.md": TEXT,
    "reliability.md": NAMES,
    "replay.md": TEXT,
    "ros-tools.md": TEXT,
    "rviz.md": OTHERS,
    "sdf.md": NAMES,
    "seeds.md": NAMES,
    "stable-names.md": NAMES,
    "upgrading.md": NAMES,
    "worlds-in-python-reference.md": NAMES,
}


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name icons and functions."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def leaves(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [leaf for part in (entry if isinstance(entry, list) else entry.values()) for leaf in leaves(part)]


def test_every_page_is_in_the_navigation_once() -> None:
    nav = leaves(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"])
    assert len(nav) == len(set(nav))
    folders = [name for name in nav if name.endswith("/")]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    listed = {name for name in nav if not GENERATED.match(name) and not name.endswith("/")} - FROM_THE_ROOT
    assert listed == {page for page in pages if not any(page.startswith(folder) for folder in folders)}


def test_pages_have_a_picture_or_a_reason_to_have_none() -> None:
    docs = ROOT / "docs"
    without = {
        page.relative_to(docs).as_posix() for page in docs.rglob("*.md") if "![" not in page.read_text(encoding="utf-8")
    }
    records = {page for page in without if page.startswith("decisions/")}
    assert without == {*WITHOUT_PICTURES, *records}
    assert len(WITHOUT_PICTURES) <= 20


def test_every_picture_is_shown_and_drawn_by_make_pictures() -> None:
    """Its name, or what is between `page-` and its suffix, stands in a tool or in the Makefile."""
    images = {path.name for path in (ROOT / "docs" / "images").iterdir()}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        Path(target).name
        for page in pages
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert images == shown
    tools = [ROOT / "Makefile", *(ROOT / "tools").glob("draw_*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in tools)
    drawn = set(re.findall(r"[\w-]+", text))
    assert [name for name in images if not {Path(name).stem, Path(name).stem.partition("-")[2]} & drawn] == []


def test_supported_systems_are_the_same_everywhere() -> None:
    """docs/installation.md lists them; others link there, or name the same ones."""
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    table = page.partition("## Supported systems")[2].partition("## ")[0]
    systems = set(re.findall(r"(?:Debian|Ubuntu) [\d.]+", table))
    versions = set(re.findall(r"3\.\d+ to 3\.\d+", table))
    assert (len(systems), versions) == (2, {"3.10 to 3.14"})
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "tools" / "bootstrap.py",
    ):
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:Debian|Ubuntu) \d[\d.]*\d", text)) - {"Ubuntu 24.04"}  # where Jazzy is at home
        assert named <= systems, path.name
        assert set(re.findall(r"\b3\.\d+ to 3\.\d+", text)) <= versions, path.name
    bootstrap = (ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8")
    assert "OLDEST, NEWEST = (3, 10), (3, 14)" in bootstrap
    assert "FROM debian:12" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_reference_has_rooms_by_their_own_names() -> None:
    """A former name would lead to the module, but the pages are made from the files."""
    text = (ROOT / "tools" / "site_pages.py").read_text(encoding="utf-8")
    listed = re.findall(r'"([^"]*)"', text.partition("ROOMS = (")[2].partition("\n)\n")[0])
    assert len(set(listed)) == len(listed) > 20
    assert [room for room in listed if not (ROOT / "sim_node" / room.replace(".", "/") / "__init__.py").is_file()] == []
    # A folder below sim_node is a room that people import from, but for that of the command line.
    assert {room.partition(".")[0] for room in listed} | {"cli"} >= {
        path.parent.name for path in (ROOT / "sim_node").glob("*/__init__.py")
    }


@pytest.mark.peers
def test_make_docs(tmp_path: Path) -> None:
    """mkdocs finds every link and anchor, or fails; codespell knows every word; nothing is fetched by a page."""
    site = make_docs()
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {
        "index.html",
        "world-files.html",
        "reference/world-file/index.html",
        "reference/world-file/bodies.html",
        "reference/python/spatial.tree.html",
        "reference/plugin-package.html",
    } <= found
    # Words that people search for, with a page whose title or text has each.
    words: dict[str, set[str]] = {}
    for entry in index["docs"]:
        text = f"{entry['title']} {entry['text']}".casefold()
        words.setdefault(entry["location"].partition("#")[0], set()).update(re.findall(r"\w+", text))
    for word, where in SOUGHT.items():
        assert word in words[where]
    for page in site.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8")
        )
        assert fetched == [], page
    broken = ROOT / "build" / "broken.yml"
    (tmp_path / "index.md").write_text("# A\n\n[a link](#nowhere) and [another](none.md)\n", encoding="utf-8")
    broken.write_text(
        f"INHERIT: ../mkdocs.yml\ndocs_dir: {tmp_path}\nhooks: []\nnav: [index.md]\nsite_dir: {tmp_path}_site\n"
    )
    failed = subprocess.run(
        [ROOT / "build/docs-env/bin/mkdocs", "build", "-f", broken], capture_output=True, text=True, check=False
    )
    assert failed.returncode != 0
    assert "none.md" in failed.stderr
    assert "#nowhere" in failed.stderr
