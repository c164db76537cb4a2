"""What `check` says of names in a schematic that its world lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.cli.main import main

WORLD = """\
world: named
bodies: [{name: ship, geometry: [{box: [1, 1, 1], mass: 1}]}]
schematic: ship.kdl
"""
KDL = """\
graph "ship.world_pos[4], ship.world_pos[5]"
graph "ship.world_poss"
object_3d "shop.world_pos" { sphere radius=1; }
graph "ship.world_pos[9]"
graph "/later/odom.pose.pose.position.x, shop.world_vel"
"""


@pytest.mark.parametrize("options", [[], ["--strict"]])
def test_names_that_the_world_lacks_are_warned_of_at_their_place(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Topics are those of the graph, which nobody knows before it runs."""
    (tmp_path / "world.yaml").write_text(WORLD, encoding="utf-8")
    (tmp_path / "ship.kdl").write_text(KDL, encoding="utf-8")
    assert main(["check", *options, str(tmp_path / "world.yaml")]) == (2 if options else 0)
    lines = [line.split("ship.kdl:", 1)[1] for line in capsys.readouterr().err.splitlines() if "ship.kdl:" in line]
    assert lines == [
        "2:7: schematic: there is no 'ship.world_poss'; did you mean ship.world_pos?",
        "3:11: schematic: there is no 'shop.world_pos'; did you mean ship.world_pos?",
        "4:7: schematic: [9] of 7 numbers; indices begin at 0",
        "5:7: schematic: there is no 'shop.world_vel'; did you mean ship.world_vel?",
    ]
