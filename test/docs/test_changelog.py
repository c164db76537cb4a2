"""The changelog: every fragment in changes/ can be joined at a release, and towncrier joins them as the README says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*\.(added|changed|fixed|removed|security)\.md")


def towncrier(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "towncrier", "build", "--version", "1.2.3", "--date", "2001-02-03", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder outside git with the configuration, the template and a short changelog, but no fragments."""
    (tmp_path / "changes").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("README.md", "template.md"):
        shutil.copy(CHANGES / name, tmp_path / "changes")
    head = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("<!-- towncrier release notes start -->\n")
    assert head[1], "CHANGELOG.md lacks the line below which releases are added"
    (tmp_path / "CHANGELOG.md").write_text("".join(head[:2]) + "\n## 1.0.0\n\n- Older.\n", encoding="utf-8")
    return tmp_path


def test_every_fragment_is_well_formed() -> None:
    for path in sorted(CHANGES.iterdir()):
        if path.name in ("README.md", "template.md"):
            continue
        assert NAME.fullmatch(path.name), f"{path.name} is not <slug>.<type>.md; see changes/README.md"
        text = path.read_text(encoding="utf-8").strip()
        assert text, f"{path.name} is empty"
        assert not text.startswith(("- ", "* ", "#")), f"{path.name} begins with a bullet or a heading"


def test_no_entry_stands_twice_in_the_changelog() -> None:
    entries = [line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line[:2] == "- "]
    assert sorted(entries) == sorted(set(entries))


def test_a_release_joins_the_fragments_above_the_older_ones_and_deletes_them(release: Path) -> None:
    fragments = {
        "wind.fixed.md": "Wind blows.\n",
        "loops.added.md": "Loops,\nin two lines.\n",
        "arm.added.md": "An arm.\n",
        "door.security.md": "The door is shut.\n",
    }
    for name, text in fragments.items():
        (release / "changes" / name).write_text(text, encoding="utf-8")
    before, marker, after = (release / "CHANGELOG.md").read_text(encoding="utf-8").partition("start -->\n")
    done = towncrier(release, "--yes")
    assert done.returncode == 0, done.stderr
    assert (release / "CHANGELOG.md").read_text(encoding="utf-8") == (
        f"{before}{marker}\n"
        "## 1.2.3 - 2001-02-03\n\n"
        "### Added\n\n- An arm.\n- Loops,\n  in two lines.\n\n"
        "### Fixed\n\n- Wind blows.\n\n"
        "### Security\n\n- The door is shut.\n"
        f"{after}"
    )
    assert sorted(path.name for path in (release / "changes").iterdir()) == ["README.md", "template.md"]


@pytest.mark.parametrize("name", ["wind.bugfix.md", "wind.md", "Wind Gust.fixed.md"])
def test_a_release_refuses_what_is_no_fragment(release: Path, name: str) -> None:
    (release / "changes" / name).write_text("Wind blows.\n", encoding="utf-8")
    assert towncrier(release, "--draft").returncode == 1
