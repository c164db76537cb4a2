"""Files of AeroSim's own repository: every configuration, scenario and flight that it has is a world.

The environment variable AEROSIM_DIR names a checkout of github.com/aerosim-open/aerosim.
"""

from __future__ import annotations

import json
import math
import os
import warnings
import zipfile
from pathlib import Path

import pytest

from sim_node.extensions.fmu import start_fmus
from sim_node.simulation import Simulation
from sim_node.world import WorldWarning, load

pytestmark = pytest.mark.peers
# Another configuration of its scripts has comments, and is thus no JSON.
FILES = ("examples/config/*.json", "dev_scripts/config/sim_config*.json", "aerosim-scenarios/**/*.json")


@pytest.fixture
def checkout() -> Path:
    folder = os.environ.get("AEROSIM_DIR", "")
    if not folder:
        pytest.skip("set AEROSIM_DIR to a checkout of AeroSim's repository")
    return Path(folder)


def test_every_configuration_and_scenario_of_aerosim_is_a_world(checkout: Path) -> None:
    """With all actors and sensors that the file lists, and not an error; what has no effect is said with its place."""
    kinds = set()
    for file in sorted(each for files in FILES for each in checkout.glob(files)):
        data = json.loads(file.read_text(encoding="utf-8"))
        has = data.keys() if isinstance(data, dict) else set()
        if not ({"world", "orchestrator"} <= has or {"actors", "sensor_setup"} <= has):
            continue
        kinds.add("world" in data)
        with warnings.catch_warnings(record=True) as said:
            # Of files alone: at any moment, Python may tell of what other tests have left open.
            warnings.simplefilter("always", WorldWarning)
            world = load(file)
        elsewhere = [each for each in map(str, (of.message for of in said)) if not each.startswith(str(file))]
        assert not elsewhere
        listed = data.get("world", data)
        sensors = listed.get("sensors", listed.get("sensor_setup"))
        names = {each.get("actor_name", each.get("actor_id")) for each in listed["actors"]}
        names |= {each["sensor_name"] for each in sensors}
        assert names <= set(Simulation(world, sensors=False).frames.names), file
        # A camera that takes no pictures is a place alone.
        still = {s["sensor_name"] for s in sensors if (s.get("parameters") or {}).get("capture_enabled") is False}
        assert {each.name for each in world.sensors} == {each["sensor_name"] for each in sensors} - still, file
    assert kinds == {True, False}


@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
@pytest.mark.parametrize("file", ["examples/config/sim_config_autopilot_daa_scenario.json",
                                  "examples/config/sim_config_simulink_cosim_and_fmu.json"])  # fmt: skip
def test_fmus_of_aerosim_run_or_say_what_they_need(file: str, checkout: Path) -> None:
    """Those of Simulink, FMI 3, run; those of PythonFMU3 embed Python 3.12 and import AeroSim's own packages."""
    pytest.importorskip("fmpy")
    world = load(checkout / file, [checkout])
    lines: list[str] = []
    simulation = Simulation(world, sensors=False)
    start_fmus(simulation, lines.append)
    simulation.run(0.2)
    simulation.close()
    in_python = set()
    for fmu in world.parts["fmus"]:
        with zipfile.ZipFile(fmu.file) as archive:
            if any(name.startswith("resources/pythonfmu3/") for name in archive.namelist()):
                in_python.add(fmu.name)
    assert in_python < {each.name for each in world.parts["fmus"]}, "not all are in Python"
    assert {line.split()[1] for line in lines} <= in_python
    for line in lines:
        assert "libpython3.12" in line or "aerosim" in line, line


@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
def test_the_dynamics_of_simulink_move_the_helicopter(checkout: Path) -> None:
    """AeroSim's configuration with a constant force: 1 kg, pulled down by g, and linear drag Cd A / 2.

    Its model is no text; that this is its formula was found from what FMPy's own simulate_fmu makes of it.
    """
    pytest.importorskip("fmpy")
    force, drag, after = 20_000.0, 0.3 * 1.0 / 2.0, 2.0
    world = load(checkout / "examples/config/sim_config_simulink_cosim_and_fmu.json", [checkout])
    simulation = Simulation(world, sensors=False)
    start_fmus(simulation, lambda line: None)["1DOF_dynamics"].set("fz", force)
    simulation.run(after)
    height = simulation.snapshot().poses[simulation.frames.index("actor1")][2]
    simulation.close()
    # The model takes its input at each of its own steps, of 1 ms: at the first one, there was none yet.
    pushed = after - 0.001
    flown = (force - 9.81) / drag * (pushed - (1.0 - math.exp(-drag * pushed)) / drag)
    assert height == pytest.approx(flown, rel=1e-4)
