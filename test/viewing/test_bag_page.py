"""A bag as one page: what it would be sent, decoded as viser does, at the times of the bag."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from robot_topics import a, written

from sim_node.cli.main import main
from sim_node.recording.decompression import MAX_BYTES
from sim_node.session import Session
from sim_node.session.bag_view import BagMarks
from sim_node.world import loads

# The ball goes along x at 1 m/s.
WORLD = """
world: flight
time: {step: 0.01}
motions: [{frame: drone/base_link, keyframes: [{t: 0, position: [0, 0, 3]}, {t: 9, position: [9, 0, 3]}]}]
bodies: [{name: ball, parent: drone/base_link, geometry: [{sphere: 0.3, color: [1, 0, 1]}]}]
"""


def messages(page: str) -> list[tuple[float, dict[str, Any]]]:
    """The size, then compressed: the size of a message pack, and it, as the page of viser takes it."""
    found = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page)
    assert found
    data = base64.b64decode(found[1])
    inner = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    packed = int.from_bytes(inner[:8], "little")
    return [(time_s, message) for time_s, message in msgspec.msgpack.decode(inner[8 : 8 + packed])["messages"]]


def test_a_page_plays_a_bag_without_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Session(loads(WORLD), record=tmp_path / "run", real_time_factor=0.0) as session:
        session.run(1.0)
    page = tmp_path / "page.html"
    assert main(["view", str(tmp_path / "run"), "--export", str(page)]) == 0
    assert f"wrote {page}: " in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "<title>run</title>" in text
    placed = [
        (time_s, message["position"])
        for time_s, message in messages(text)
        if message["type"] == "SetPositionMessage" and message["name"] == "/world" and time_s > 0.1
    ]
    assert len(placed) > 20
    for time_s, (x, _, z) in placed:  # the page follows it: the world goes the other way
        assert x == pytest.approx(-time_s, abs=0.06)
        assert z == pytest.approx(-3.0)


def test_only_a_bag_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "orbit", "--export", str(tmp_path / "page.html")]) == 2
    assert "--export requires a bag alone" in capsys.readouterr().err


def test_the_time_line_marks_the_log(tmp_path: Path) -> None:
    """From warnings on (rcl_interfaces/msg/Log: WARN is 30, ERROR is 40), at their recorded times."""
    levels = [(0.5, 20, "ready"), (1.0, 30, "battery low"), (2.5, 40, "motor lost")]
    lines = [
        ("/rosout", at_s, a("rcl_interfaces/Log", level=level, name="bms", msg=text)) for at_s, level, text in levels
    ]
    bag = written(tmp_path / "run", lines)
    marks = BagMarks(bag, MAX_BYTES, [2_000_000_000], lambda text: None)
    marks._thread.join()
    assert marks.found == (
        (1_000_000_000, "warning", "bms: battery low"),
        (2_000_000_000, "note", "the world changed"),
        (2_500_000_000, "error", "bms: motor lost"),
    )
    marks.close()
