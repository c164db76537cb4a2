"""Frames, shapes, masses and joints of random worlds, against what libsdformat answers about them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from random_sdf import random_world
from sdf_answers import KINDS, judge

from sim_node.world import load

_PLACES = [folder / "shared" / "data" / "sdf_frames" for folder in Path(__file__).parents]
DATA = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
PROGRAM = Path(__file__).parents[1] / "shared" / "sdf_answers.cpp"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the worlds that libsdformat has answered about")
@pytest.mark.parametrize("number", range(1, 13))
def test_a_world_is_where_libsdformat_has_it(number: int) -> None:
    file = DATA / f"{number}.sdf"
    assert judge(load(file), file.with_suffix(".jsonl").read_text().splitlines()) == KINDS


@pytest.mark.peers
def test_fresh_random_worlds_are_where_libsdformat_has_them(tmp_path: Path) -> None:
    flags = shutil.which("pkg-config") and _output("pkg-config", "--cflags", "--libs", "sdformat12")
    if not flags:
        pytest.skip("needs pkg-config and libsdformat-dev 12, whose answers are the reference")
    _output("g++", "-std=c++17", str(PROGRAM), "-o", str(tmp_path / "answers"), *flags.split())
    files = [tmp_path / f"{seed}.sdf" for seed in range(200)]
    for seed, file in enumerate(files):
        file.write_text(random_world(seed))
    seen: set[str] = set()
    for file in files:
        seen |= judge(load(file), _output(str(tmp_path / "answers"), str(file)).splitlines())
    assert seen == KINDS


def _output(*command: str) -> str:
    """Return what a command prints; nothing if pkg-config does not know a library."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300.0)
    assert done.returncode == 0 or command[0] == "pkg-config", f"{command}: {done.stderr}"
    return done.stdout if done.returncode == 0 else ""
