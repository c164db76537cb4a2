"""Former import paths: the same modules, with one warning."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from sim_node import moved

FORMER = """
from sim_node.frames import Position
from sim_node.frames.positions import convert_position
import sim_node.ecs as el
import sim_node.extensions.elodin, sim_node.spatial.frames.positions as positions
assert (Position, convert_position) == (sim_node.spatial.frames.Position, positions.convert_position)
from sim_node.viewing.messages.drawing import Text, TextLabel
assert Text is TextLabel
from sim_node.recording import RecordingSettings, Settings
assert Settings is RecordingSettings
assert el is sim_node.extensions.elodin and el.__spec__.name == "sim_node.extensions.elodin"
"""


def test_former_paths_lead_to_the_same_objects_with_a_line_each() -> None:
    ran = subprocess.run([sys.executable, "-c", FORMER], capture_output=True, text=True, check=True)
    assert [line.partition("FutureWarning: ")[2] for line in ran.stderr.splitlines()] == [
        "sim_node.frames is now sim_node.spatial.frames; the former name will be gone in the next release",
        "sim_node.ecs is now sim_node.extensions.elodin; the former name will be gone in the next release",
        "sim_node.viewing.messages.drawing.Text is now TextLabel; the former name will be gone in the next release",
        "sim_node.recording.Settings is now RecordingSettings; the former name will be gone in the next release",
    ]


@pytest.mark.parametrize("former", sorted(moved._MOVED))
def test_there_is_a_module_at_each_new_path(former: str) -> None:
    assert importlib.util.find_spec(f"sim_node.{moved._MOVED[former]}") is not None
    assert f"sim_node.{former}" not in sys.modules, "the project itself uses new paths"
