"""`sim_node snap`: what it prints, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.cli.main import main

ROD = """\
world: rods
systems:
  - name: a
    connectors: {here: {position: [1, 0, 0]}}
    bodies:
      - {name: rod, connectors: {end: {position: [0, 0, -0.5]}}}
      - {name: loose}
    mates: [{name: hold, hinge: [here, rod/end], angle: 0.5}]
  - name: b
    bodies: [{name: rod, pose: {position: [0, 0, 3]}}]
"""


@pytest.fixture
def snap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs the command on a world; gives its exit code, what it printed and its errors."""
    monkeypatch.chdir(tmp_path)

    def snap(*arguments: str, text: str = ROD) -> tuple[int, str, str]:
        (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
        code = main(["snap", "w.yaml", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return snap


def test_json_has_the_solved_transforms(snap: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = snap("--json")
    report = json.loads(out)
    assert code == 0
    assert list(report["transforms"]) == ["a/rod"]
    np.testing.assert_allclose(report["transforms"]["a/rod"]["position"], [1, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(
        report["transforms"]["a/rod"]["quaternion"], [0, 0, np.sin(0.25), np.cos(0.25)], atol=1e-15
    )
    assert report["in"]["map"]["a/rod"] == report["transforms"]["a/rod"]
    assert report["undefined"] == ["a/loose"]
    assert report["degrees_of_freedom"]["left"] == 1
    assert report["degrees_of_freedom"]["mates"]["a/hold"]["positions"] == [0.5]
    assert "trace" not in report


def test_loglevel_trace_is_as_trace(snap: Callable[..., tuple[int, str, str]]) -> None:
    assert snap("--trace")[1] == snap("--loglevel", "trace")[1]
    (step,) = json.loads(snap("--json", "--trace")[1])["trace"]
    assert (step["kind"], step["mate"], step["frame"]) == ("solved", "a/hold", "a/rod")
    assert step["formula"] == "a/here * hinge * inv(a/rod/end)"


def test_people_see_the_same(snap: Callable[..., tuple[int, str, str]]) -> None:
    _, out, _ = snap("--trace")
    assert out.splitlines()[0] == "rods: 1 mate, 1 pose solved, 1 degree of freedom left"
    assert "undefined: a/loose" in out.splitlines()


def test_one_model_of_several(snap: Callable[..., tuple[int, str, str]]) -> None:
    assert snap("--model", "b")[1].startswith("rods: 0 mates, 0 poses solved")
    code, _, err = snap("--model", "bb")
    assert (code, err) == (2, "sim_node: no system 'bb' (known: a, b)\n")


# Takes seconds: make test has loops that cannot be met in test/assembly/test_loops.py.
@pytest.mark.nightly
def test_what_cannot_be_met_is_reported_and_fails(snap: Callable[..., tuple[int, str, str]]) -> None:
    text = ROD.replace("{name: rod, connectors", "{name: rod, pose: {position: [1, 0, 0.7]}, connectors")
    code, out, _ = snap(text=text)
    assert code == 1
    assert "conflict: a/hold: cannot be met, 0.2 m and 0.5 rad are left" in out
    assert main(["check", "w.yaml"]) == 2


def test_a_world_without_systems_has_nothing_to_assemble(snap: Callable[..., tuple[int, str, str]]) -> None:
    assert snap(text="world: w\n")[::2] == (2, "sim_node: w.yaml has no systems, and so nothing to assemble\n")
