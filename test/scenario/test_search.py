"""The search for the run that holds least, against what mechanics says of a throw, and against drawn numbers."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from in_process import exit_code

# To import it takes longer than to look for it, in each process that collects tests.
pytestmark = pytest.mark.skipif(find_spec("cmaes") is None, reason="needs cmaes, of the extra learn")

# Thrown upwards, a ball has the height v^2 / (2 g) above its start.
THROW = """
world: throw
time: {step: 0.001}
physics: {integrator: rk4}
bodies:
  - {name: ball, joint: {type: free, qd: [0, 0, 1, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
expect: {duration: 0.5, every: 0.001, must: [always altitude(ball) < 1 m]}
"""
# It hits a small post, of all directions and speeds, with one in a hundred; without a floor the miss is a distance.
POST = """
world: post
bodies:
  - {name: ball, joint: {type: free, qd: [3, 0, 3, 0, 0, 0]}, geometry: [{sphere: 0.02, mass: 1.0}]}
frames:
  - {name: post, pose: {position: [1.3, 0.7, 0.2]}}
expect: {duration: 0.7, must: ["always distance(ball, post) > 0.08 m"]}
"""
SPEED = "bodies[ball].joint.qd"


def rows(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Test a scenario and return its certificates by the number of the run."""
    world, *others = words
    name = Path(world).stem
    code = exit_code(["test", world, *others, "-n", "1", "--keep", "0", "-o", str(folder)])
    assert code in (0, 1)
    lines = (folder / name / "certificates.jsonl").read_text().splitlines()
    return sorted(map(json.loads, lines), key=lambda row: row["case"])


# Takes seconds: make test has a search that finds a failure.
@pytest.mark.nightly
def test_the_least_robustness_of_a_range_is_found(tmp_path: Path) -> None:
    world = tmp_path / "throw.yaml"
    world.write_text(THROW, encoding="utf-8")
    found = rows(
        tmp_path / "out", str(world), "--search", "robustness", "--runs", "40", "--vary", f"{SPEED}[2]=uniform(1,4)"
    )
    for row in found:
        v = row["values"][f"{SPEED}[2]"]
        assert row["robustness"] == pytest.approx(1.0 - v**2 / (2 * 9.81), abs=2e-5)
    assert max(row["values"][f"{SPEED}[2]"] for row in found) > 3.9


def test_it_finds_a_failure_that_drawn_numbers_miss(tmp_path: Path) -> None:
    world = tmp_path / "post.yaml"
    world.write_text(POST, encoding="utf-8")
    vary = [word for axis in range(3) for word in ("--vary", f"{SPEED}[{axis}]=uniform(0,6)")]
    drawn = rows(tmp_path / "drawn", str(world), "--runs", "80", *vary)
    found = rows(tmp_path / "found", str(world), "--search", "robustness", "--runs", "80", *vary)
    assert {row["verdict"] for row in drawn} == {"pass"}
    hit = min(found, key=lambda row: row["robustness"])
    assert hit["verdict"] == "fail"
    x, y, z = (hit["values"][f"{SPEED}[{axis}]"] for axis in range(3))
    nearest = min(
        math.dist((x * t, y * t, z * t - 9.81 * t * t / 2), (1.3, 0.7, 0.2)) for t in (k / 1000 for k in range(701))
    )
    assert hit["robustness"] == pytest.approx(nearest - 0.08, abs=0.06)  # it is sampled each 20 ms


def test_a_search_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    world = tmp_path / "throw.yaml"
    world.write_text(THROW, encoding="utf-8")
    words = str(world), "--search", "robustness", "--runs", "25", "--vary", f"{SPEED}[2]=uniform(1,4)", "--seed", "7"
    whole = rows(tmp_path / "out", *words)
    file = tmp_path / "out" / "throw" / "certificates.jsonl"
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[:13]), encoding="utf-8")
    assert rows(tmp_path / "out", *words, "--resume") == whole


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--runs", "9"], "--search requires --vary, and --runs for the most runs that it may take"),
        (
            ["--vary", f"{SPEED}[2]=uniform(1,4)"],
            "--search requires --vary, and --runs for the most runs that it may take",
        ),
        (["--runs", "9", "--vary", "seed=1,2"], "--search: the seed cannot be searched; --seed is that of all runs"),
    ],
    ids=["nothing varies", "one run", "the seed"],
)
def test_what_cannot_be_searched_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = tmp_path / "throw.yaml"
    world.write_text(THROW, encoding="utf-8")
    assert exit_code(["test", str(world), "--search", "robustness", *words, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
