"""Files of AeroSim's own repository: every configuration, scenario and flight that it has is a world.

The environment variable AEROSIM_DIR names a checkout of github.com/aerosim-open/aerosim.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest

from sim_node.simulation import Simulation
from sim_node.world import load

pytestmark = pytest.mark.peers
# Another configuration of its scripts has comments, and is thus no JSON.
FILES = ("examples/config/*.json", "dev_scripts/config/sim_config*.json", "aerosim-scenarios/**/*.json")


def test_every_configuration_and_scenario_of_aerosim_is_a_world() -> None:
    """With all actors and sensors that the file lists, and not an error; what has no effect is said with its place."""
    folder = os.environ.get("AEROSIM_DIR", "")
    if not folder:
        pytest.skip("set AEROSIM_DIR to a checkout of AeroSim's repository")
    kinds = set()
    for file in sorted(each for files in FILES for each in Path(folder).glob(files)):
        data = json.loads(file.read_text(encoding="utf-8"))
        has = data.keys() if isinstance(data, dict) else set()
        if not ({"world", "orchestrator"} <= has or {"actors", "sensor_setup"} <= has):
            continue
        kinds.add("world" in data)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            world = load(file)
        assert all(str(each.message).startswith(str(file)) for each in said), file
        listed = data.get("world", data)
        sensors = listed.get("sensors", listed.get("sensor_setup"))
        names = {each.get("actor_name", each.get("actor_id")) for each in listed["actors"]}
        names |= {each["sensor_name"] for each in sensors}
        assert names <= set(Simulation(world, sensors=False).frames.names), file
        # A camera that takes no pictures is a place alone.
        still = {s["sensor_name"] for s in sensors if (s.get("parameters") or {}).get("capture_enabled") is False}
        assert {each.name for each in world.sensors} == {each["sensor_name"] for each in sensors} - still, file
    assert kinds == {True, False}
