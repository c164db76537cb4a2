"""FMUs of AeroSim's configurations: wired by topics, moving the actors and effectors whose states they publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drifter import build

from sim_node.extensions.fmu import start_fmus
from sim_node.simulation import Simulation
from sim_node.spatial.geometry import quaternions
from sim_node.world import WorldError, load

pytest.importorskip("fmpy")
STATE, EFFECTOR, AUX = "aerosim.actor1.vehicle_state", "aerosim.actor1.rotor.state", "aerosim.actor1.aux"


def config(**changes: Any) -> dict[str, Any]:
    """Return a configuration with an actor and an effector that FMUs move, and an FMU that gets a sum."""
    transform = {"position": [0.0, 0.0, -5.0], "rotation": [0.0, 0.0, 0.0], "scale": [1.0, 1.0, 1.0]}
    moved = {
        "id": "moved",
        "fmu_model_path": "fmu/drifter.fmu",
        "component_input_topics": [],
        "component_output_topics": [{"msg_type": "aerosim::types::VehicleState", "topic": STATE}],
        "fmu_aux_input_mapping": {},
        "fmu_aux_output_mapping": {AUX: {"total": "sum"}},
        "fmu_initial_vals": {"speed": 3, "turn": 0.5, "input": 2.0},
    }
    adds = {
        "id": "adds",
        "fmu_model_path": "fmu/drifter.fmu",
        "component_input_topics": [],
        "component_output_topics": [
            {"msg_type": "aerosim::types::EffectorState", "topic": EFFECTOR, "var_prefix": "vehicle_state.state"}
        ],
        "fmu_aux_input_mapping": {AUX: {"total": "input"}},
        "fmu_aux_output_mapping": {},
        "fmu_initial_vals": {"turn": 1.0},
    }
    found: dict[str, Any] = {
        "clock": {"step_size_ms": 20, "pace_1x_scale": True},
        "orchestrator": {"sync_topics": [{"topic": STATE, "interval_ms": 20}]},
        "world": {
            "origin": {"latitude": 41.3, "longitude": 2.07, "altitude": 51},
            "actors": [
                {
                    "actor_name": "actor1",
                    "actor_asset": "vehicles/airplane",
                    "parent": "",
                    "transform": transform,
                    "state": {"msg_type": "aerosim::types::VehicleState", "topic": STATE},
                    "effectors": [
                        {
                            "id": "rotor",
                            "relative_path": "airplane/propeller",
                            "transform": {"translation": [1, 2, 3], "rotation": [0, 0, 0], "scale": [1, 1, 1]},
                            "state": {"msg_type": "aerosim::types::EffectorState", "topic": EFFECTOR},
                        }
                    ],
                }
            ],
            "sensors": [],
        },
        "fmu_models": [moved, adds],
    }
    return {**found, **changes}


def written(folder: Path, data: dict[str, Any]) -> Path:
    """Write a configuration in a folder beside that of its FMUs, as AeroSim's tutorials have them."""
    (folder / "fmu").mkdir()
    (folder / "config").mkdir()
    build(folder / "fmu")
    path = folder / "config" / "sim_config.json"
    path.write_text(json.dumps(data, indent=1))
    return path


def test_fmus_of_a_configuration_move_actors_and_effectors_and_are_wired_by_topics(tmp_path: Path) -> None:
    world = load(written(tmp_path, config()), [tmp_path])
    assert (world.time.step_ns, world.parts["fmus"][0].step_ns) == (10_000_000, 20_000_000)
    simulation = Simulation(world)
    fmus = start_fmus(simulation)
    simulation.step(100)
    frames, poses = simulation.frames, simulation.snapshot().poses
    # The FMU has `down` at 0: its output replaces the pose of the configuration, as in AeroSim.
    actor, rotor = poses[frames.index("actor1")], poses[frames.index("actor1/rotor")]
    assert actor[:3] == pytest.approx([0.0, 3.0, 0.0], abs=1e-12)
    assert quaternions.to_rpy(actor[3:])[2] == pytest.approx(np.pi / 2 - 0.5, abs=1e-12)
    # In FRD, a turn about down is one about up in FLU, the other way.
    assert quaternions.to_rpy(rotor[3:])[2] == pytest.approx(-1.0, abs=1e-12)
    assert fmus["adds"].values["sum"] == pytest.approx(0.02 * 0.04 * 49 * 50 / 2, abs=1e-12)


def test_until_they_start_actors_are_where_the_configuration_has_them(tmp_path: Path) -> None:
    simulation = Simulation(load(written(tmp_path, config()), [tmp_path]))
    simulation.step(10)
    frames, poses = simulation.frames, simulation.snapshot().poses
    assert poses[frames.index("actor1")][:3] == pytest.approx([0.0, 0.0, 5.0])
    assert poses[frames.index("actor1/rotor")][:3] == pytest.approx([1.0, -2.0, -3.0])


def test_mistakes_of_wiring_are_told_with_line_and_column(tmp_path: Path) -> None:
    data = config()
    data["fmu_models"][0]["fmu_initial_vals"]["sped"] = 1.0
    data["fmu_models"][1]["fmu_aux_input_mapping"][AUX]["total"] = "inptu"
    path = written(tmp_path, data)
    with pytest.raises(WorldError) as caught:
        load(path, [tmp_path])
    [line] = caught.value.lines()
    row = 1 + path.read_text().split("\n").index('     "total": "inptu"')
    assert f"sim_config.json:{row}:15: fmu_models[1].fmu_aux_input_mapping.{AUX}.total: no input 'inptu'" in line
    data["fmu_models"][1]["fmu_aux_input_mapping"][AUX]["total"] = "input"
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(WorldError, match=r"fmu_initial_vals.sped: no variable 'sped'; did you mean speed"):
        Simulation(load(path, [tmp_path]))


def test_what_no_fmu_publishes_and_files_that_are_missing_are_warned_of(tmp_path: Path) -> None:
    data = config()
    data["fmu_models"][0]["component_input_topics"] = [
        {"msg_type": "aerosim::types::FlightControlCommand", "topic": "aerosim.actor1.flight_control_command"}
    ]
    data["fmu_models"][1]["fmu_model_path"] = "fmu/none.fmu"
    path = written(tmp_path, data)
    with pytest.warns(UserWarning, match="keep their start values") as caught:
        world = load(path, [tmp_path])
    told = "\n".join(str(each.message) for each in caught)
    assert (
        "no FMU publishes 'aerosim.actor1.flight_control_command'; the inputs from it keep their start values" in told
    )
    assert "no file 'fmu/none.fmu'" in told
    assert [each.name for each in world.parts["fmus"]] == ["moved"]


def test_files_outside_the_folder_of_a_configuration_have_to_be_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, config())
    with pytest.warns(UserWarning, match="is outside the folder of this file; allow it with --allow"):
        world = load(path)
    assert not world.parts.get("fmus")
