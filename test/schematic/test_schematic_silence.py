"""Whatever token of a schematic changes, the schematic or what is reported of it changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from sim_node.viewing.schematic import read_schematic
from sim_node.viewing.schematic.objects import DRAWN, WITHOUT_EFFECT
from sim_node.viewing.schematic.reader import _VIEWPORT, NOT_DRAWN, PANELS, TOP, VIEWPORT_WITHOUT_EFFECT
from sim_node.world import WorldError

# Every node and property that schematics may have, and what Elodin's editor has besides.
TEXT = """\
tabs name="all" active=#true share=0.5 {
    hsplit name="Flight" share=0.6 active=#false {
        viewport name=Chase pos="a.world_pos" look_at="b.world_pos" up="(0,0,1)" fov=50 near=0.1 far=10 \\
            show_grid=#true active=#true share=0.6 frame="ENU" \\
            hdr=#true \\
            show_arrows=#true \\
            aspect=1.5 {
                color 1 2 3
            }
        vsplit name="Column" share=0.4 active=#true {
            graph "a.world_pos" name="Place" y_min=-1 y_max=2 auto_y_range=#false active=#true share=0.5 \\
                type="line"
            graph "a.world_vel" auto_y_range=#true \\
                y_min=-3 \\
                y_max=4 \\
                lock=#false
        }
        viewport fov=60
    }
}
coordinate frame="NED" lat=47.0 lon=8.0 alt=400 \\
    body="earth"
object_3d a.world_pos frame="ENU" frame_orientation="ECEF" \\
    orientation="x" {
    sphere radius=1.5 {
        color 10 20 30 40
        emissivity 3
    }
    animate joint="x"
}
object_3d a.world_pos {
    box x=1.0 y=2.0 z=3.0 \\
        emissivity=0.1 {
        color red
        color orange 50
    }
}
object_3d a.world_pos { cylinder radius=1 height=2 { color blue 100; }; }
object_3d a.world_pos {
    plane depth=5 \\
        width=\\
        (u8)4 { color yellow; }
}
object_3d a.world_pos {
    ellipsoid scale="(1, 2, 3)" \\
        show_grid=#true {
            grid_color 1 2 3
        }
}
object_3d a.world_pos {
    glb path="jet.glb" scale=2.0 translate="(0, 0, 1)" rotate="(0, 90, 0)" \\
        glow=1
}
object_3d b.world_pos { sphere radius=2; }
theme mode="dark" \\
    scheme="x"
window title="x" \\
    screen=1 {
    rect 1.0 2.0 30.0 40.0
    query_table "a.x" name="T" type="eql" share=0.5 active=#true
    query_plot query="a.x" name="P" \\
        refresh_interval=5
    component_monitor component_name="a.x" name="M"
    geo_position_gauge "a.world_pos" source="ENU" display="ENU" name="G"
    orientation_gauge eql="a.world_pos" display="NED" { reference 0.5 0.5 0.5 0.5; }
    horizon_gauge "a.world_pos" name="H"
    action_pane name="A" lua="go()"
    sensor_view "a.cam" name="S"
    video_stream "b.cam"
    log_stream name="L"
    inspector name="I"
    hierarchy name="F"
    schematic_tree name="Y"
    data_overview name="D"
    messages name="E"
    parameters name="V"
    scene name="3D"
}
line_3d a.world_pos line_width=2 frame="ENU" \\
    perspective=#false { color red; }
vector_arrow "a.v" origin="a.world_pos" scale=2.0 normalize=#true body_frame=#true in_body_frame=#false frame="ENU" \\
    name="N" show_name=#true \\
    arrow_thickness=3 {
        color blue
    }
skybox name="desert"
"""
TOKEN = re.compile(r'"[^"]*"|#\w+|[\w.+-]+')
OTHER = {"#true": "#false", "#false": "#true", "red": "green", "orange": "green", "blue": "green", "yellow": "green"}


def plain(of: Any) -> Any:
    """Return what a schematic is, without its text and places."""
    if is_dataclass(of):
        return {each.name: plain(getattr(of, each.name)) for each in fields(of) if each.name not in ("text", "place")}
    if isinstance(of, tuple):
        return [plain(each) for each in of]
    return getattr(of, "text", of)


def mutants() -> Iterator[tuple[int, str]]:
    """Yield the offset of each token, and the text with another one in its place."""
    for found in TOKEN.finditer(TEXT):
        token = found[0]
        number = re.fullmatch(r"-?\d+(\.\d+)?", token)
        other = str(float(token) * 1.25) if number else OTHER.get(token, "")
        if not other:
            other = f'"{token[1:-1]}q"' if token[0] == '"' else f"{token}q"
        yield found.start(), TEXT[: found.start()] + other + TEXT[found.end() :]


def read(text: str, path: Path) -> Any:
    return plain(read_schematic(text, "s.kdl", path=path))


def test_every_token_of_a_schematic_counts_or_is_reported(tmp_path: Path) -> None:
    (tmp_path / "jet.glb").write_bytes(b"")
    path = tmp_path / "s.kdl"
    before = read(TEXT, path)
    places = (re.findall(r":(\d+):(\d+)", note)[0] for note in before["notes"])
    told = {(int(line), int(column)) for line, column in places}
    silent = []
    for offset, text in mutants():
        try:
            after = read(text, path)
        except WorldError:
            continue
        if after == before and not is_told(offset, told):
            silent.append(f"line {TEXT[:offset].count(chr(10)) + 1}: {TEXT[offset : offset + 12]}")
    assert silent == []


def test_the_schematic_has_all_that_is_read() -> None:
    assert {*PANELS, *DRAWN, *_VIEWPORT, *TOP} <= set(TOKEN.findall(TEXT))


def test_whatever_only_elodins_editor_shows_is_reported() -> None:
    for name in NOT_DRAWN:
        note = f"s.kdl:1:1: {name}: has no effect here"
        assert read_schematic(f'{name} "x" size=2 {{ deep 1; }}', "s.kdl").notes == (note,)
    for name in VIEWPORT_WITHOUT_EFFECT:
        note = f"s.kdl:1:10: viewport.{name}: has no effect here"
        assert read_schematic(f"viewport {name}=2", "s.kdl").notes == (note,)
    for name in WITHOUT_EFFECT:
        note = f"s.kdl:1:34: object_3d.{name}: has no effect here"
        assert read_schematic(f"object_3d a.b {{ sphere radius=1; {name} x=1; }}", "s.kdl").notes == (note,)


def is_told(offset: int, told: set[tuple[int, int]]) -> bool:
    """Return whether a note is about what begins before an offset in its line, where nothing else does."""
    line, column = TEXT[:offset].count("\n") + 1, offset - TEXT.rfind("\n", 0, offset)
    return any(row == line and at <= column for row, at in told)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("(panel)graph a.b", "s.kdl:1:1: graph.(panel): has no effect here"),
        ("graph (text)a.b", "s.kdl:1:7: graph.(text): has no effect here"),
        ("viewport fov=(f64)50", "s.kdl:1:14: viewport.(f64): has no effect here"),
        ("viewport fov=50 fov=60", "s.kdl:1:10: viewport.fov: has no effect here"),
        (
            "object_3d a.b { sphere radius=1 { color red; color blue; }; }",
            "s.kdl:1:35: object_3d.sphere.color: has no effect here",
        ),
    ],
)
def test_what_has_no_effect_in_a_schematic_is_reported(text: str, note: str) -> None:
    assert read_schematic(text, "s.kdl").notes == (note,)


def test_a_second_pair_of_braces_is_refused() -> None:
    with pytest.raises(WorldError, match=r"s\.kdl:1:20: a node has braces once"):
        read_schematic("tabs { viewport; } { viewport; }", "s.kdl")
