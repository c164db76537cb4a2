"""Where the recordings of a real flight are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "test" / "data"
EXCERPT = DATA / "ardupilot_flight.tlog"


def whole_flight() -> Path:
    """The folder of the whole recording, 48,042 frames, which is too large to be committed; else the test skips."""
    named = os.environ.get("SIM_NODE_TEST_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "ardupilot_json_quad.tlog").is_file():
        pytest.skip("the whole recording is not here; SIM_NODE_TEST_DATA names the folder that has it")
    return folder
