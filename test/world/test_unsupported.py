"""Who looks for a plane is told in one sentence what flies and drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.world import WorldError, load, loads

SENTENCE = "fixed wings are not simulated: multirotors fly (vehicles), and wheeled bases drive (bases)"
WINGED = """\
world: w
vehicles:
  - name: a
    model: iris
    wings: [{span: 1.2}]
"""


@pytest.mark.parametrize(
    ("world", "place"),
    [
        ("vehicles: [{name: a, model: plane}]", "<text>:1:29: vehicles[0].model: "),
        ("vehicles: [{name: a, model: standard_vtol}]", "<text>:1:29: vehicles[0].model: "),
        ("bases: [{name: a, model: rc_cessna}]", "<text>:1:26: bases[0].model: "),
        (WINGED, "<text>:5:5: vehicles[0].wings: unknown key"),
        ("world: w\nwings: []\n", "<text>:2:1: wings: unknown key"),
    ],
)
def test_a_plane_is_answered_with_what_flies(world: str, place: str) -> None:
    with pytest.raises(WorldError) as raised:
        loads(world)
    (line,) = [line for line in str(raised.value).splitlines() if place in line]
    assert SENTENCE in line


def test_a_world_of_a_plane_is_answered_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WorldError, match=r"no world .*plane.*; fixed wings are not simulated"):
        load("plane")


@pytest.mark.parametrize("world", ["bodies: [{name: floor, plane: true}]", "bodies: [{name: a, swing: 2, owing: 3}]"])
def test_words_of_other_meanings_are_not(world: str) -> None:
    with pytest.raises(WorldError) as raised:
        loads(world)
    assert "unknown key" in str(raised.value)
    assert "fixed wings" not in str(raised.value)
