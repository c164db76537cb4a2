"""FMUs that step with a run, against their solutions in closed form."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drifter import POSE, build, described

from sim_node.extensions.fmu import FmuFault, description_of, fmus_of, start_fmus
from sim_node.simulation import Simulation
from sim_node.spatial.geometry import quaternions
from sim_node.world import WorldError, load
from sim_node.world.writers.yaml import to_yaml

pytest.importorskip("fmpy")
WORLD = """\
world: drift
time: {step: 0.01}
fmus:
  one: {file: drifter.fmu, step: 0.02, start: {speed: 3.0, turn: 0.5, input: 2.0}}
  two:
    file: drifter.fmu
    step: 0.02
    inputs: {input: one/sum}
fmu_frames:
  - {frame: craft, fmu: one, outputs: OUTPUTS, axes: NED}
sensors:
  - {name: craft/imu, parent: craft, type: imu}
"""


def written(folder: Path, text: str = WORLD, version: str = "2.0", **how: Any) -> Path:
    build(folder, version, **how)
    path = folder / "drift.yaml"
    path.write_text(text.replace("OUTPUTS", json.dumps(POSE)))
    return path


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_fmus_of_both_versions_compute_their_solutions_and_feed_each_other(tmp_path: Path, version: str) -> None:
    simulation = Simulation(written(tmp_path, version=version))
    lines: list[str] = []
    fmus = start_fmus(simulation, lines.append)
    simulation.step(100)
    assert fmus["one"].values[POSE["x"]] == pytest.approx(3.0, abs=1e-12)
    assert fmus["one"].values["sum"] == pytest.approx(2.0, abs=1e-12)
    # At each of the 50 steps `two` gets what `one` had at the step before: 0.02 * sum of 0.04 k, k = 0..49.
    assert fmus["two"].values["sum"] == pytest.approx(0.02 * 0.04 * 49 * 50 / 2, abs=1e-12)
    # North in NED is y in ENU, and yaw to the right is to the left about z.
    row = simulation.frames.index("craft")
    pose = simulation.snapshot().poses[row]
    assert pose[:3] == pytest.approx([0.0, 3.0, 0.0], abs=1e-12)
    assert quaternions.to_rpy(pose[3:])[2] == pytest.approx(np.pi / 2 - 0.5, abs=1e-12)
    assert simulation.columns["twist"][row] == pytest.approx([0, 3, 0, 0, 0, -0.5], abs=1e-9)
    assert not lines
    simulation.close()


def test_a_frame_keeps_its_pose_between_two_steps_of_its_fmu(tmp_path: Path) -> None:
    simulation = Simulation(written(tmp_path))
    start_fmus(simulation)
    row = simulation.frames.index("craft")
    north = []
    for _ in range(4):
        simulation.step()
        north.append(float(simulation.snapshot().poses[row][1]))
    assert north == pytest.approx([0.0, 0.06, 0.06, 0.12], abs=1e-12)


def test_without_leave_no_fmu_starts_and_frames_stay(tmp_path: Path) -> None:
    simulation = Simulation(written(tmp_path))
    simulation.step(100)
    assert not fmus_of(simulation)["one"].is_running
    assert simulation.snapshot().poses[simulation.frames.index("craft")].tolist() == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_run_goes_back_to_a_saved_state_and_on_to_the_same_numbers(tmp_path: Path, version: str) -> None:
    simulation = Simulation(written(tmp_path, version=version))
    fmus = start_fmus(simulation)
    simulation.step(50)
    state = simulation.state
    simulation.step(30)
    ahead = fmus["two"].values
    simulation.restore(state)
    simulation.step(30)
    assert fmus["two"].values == ahead
    simulation.reset()
    assert fmus["two"].values["sum"] == 0.0
    simulation.step(80)
    assert fmus["two"].values == ahead


def test_an_fmu_that_cannot_save_its_state_says_so_and_can_be_reset(tmp_path: Path) -> None:
    simulation = Simulation(written(tmp_path, saves=False))
    fmus = start_fmus(simulation)
    simulation.step(10)
    with pytest.raises(ValueError, match="FMU one cannot save its state"):
        _ = simulation.state
    simulation.reset()
    simulation.step(100)
    assert fmus["one"].values["sum"] == pytest.approx(2.0, abs=1e-12)


def test_a_spawned_part_does_not_disturb_the_fmus_of_a_run(tmp_path: Path) -> None:
    from sim_node.simulation.changes import with_part
    from sim_node.world import StaticFrame

    simulation = Simulation(written(tmp_path))
    start_fmus(simulation)
    simulation.step(50)
    simulation.enter(simulation.prepare(with_part(simulation.world, StaticFrame("post", "map"))))
    simulation.step(50)
    assert fmus_of(simulation)["one"].values["sum"] == pytest.approx(2.0, abs=1e-12)
    assert fmus_of(simulation)["one"].is_running


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("crash_at: 0.5", r"FMU one crashed \(SIGABRT\); its last line: the wing is off \(at 0.5 s\); the run goes on"),
        ("fail_at: 0.5", r"FMU one failed: .*fmi2DoStep.* \(at 0.5 s\); the run goes on without it"),
        ("turn: 1e309", r"FMU one gave craft a pose that is not finite"),
    ],
)
def test_an_fmu_that_breaks_ends_with_a_line_and_not_with_the_run(tmp_path: Path, start: str, line: str) -> None:
    simulation = Simulation(written(tmp_path, WORLD.replace("turn: 0.5, input: 2.0", f"input: 2.0, {start}")))
    lines: list[str] = []
    fmus = start_fmus(simulation, lines.append)
    simulation.step(100)
    assert len(lines) == 1
    assert re.match(line, lines[0]), lines[0]
    assert not fmus["one"].is_running
    assert fmus["two"].is_running
    assert simulation.time_ns == 1_000_000_000


def test_an_fmu_that_hangs_is_ended_with_a_line(tmp_path: Path) -> None:
    from sim_node.extensions.fmu.process import Ended, Process

    file = build(tmp_path)
    process = Process("one", file, description_of(file), {"hang_at": 0.0}, tmp_path)
    process.started()
    process.send({"time": 0.0, "step": 0.1})
    with pytest.raises(Ended, match=r"did not answer for 0.5 s and was ended"):
        process.receive(0.5)
    process.close()


def test_inputs_are_set_by_handles_from_the_next_step_on(tmp_path: Path) -> None:
    simulation = Simulation(written(tmp_path))
    one = start_fmus(simulation)["one"]
    simulation.step(50)
    one.set("input", 4.0)
    simulation.step(50)
    assert one.values["sum"] == pytest.approx(0.5 * 2.0 + 0.5 * 4.0, abs=1e-12)
    with pytest.raises(ValueError, match="no input 'inptu'; did you mean input"):
        one.set("inptu", 1.0)
    with pytest.raises(ValueError, match="a number is needed, found 'fast'"):
        one.set("input", "fast")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("speed: 3.0", "sped: 3.0", "drift.yaml:4:54: fmus.one.start.sped: no variable 'sped'; did you mean speed?"),
        ("speed: 3.0", "speed: fast", "is of the type Real; a number is needed, found 'fast'"),
        ("speed: 3.0", "speed: [1, 2]", "has 1 values, found 2"),
        ("one/sum", "oen/sum", "drift.yaml:8:21: fmus.two.inputs.input: no FMU 'oen'; did you mean one?"),
        ("one/sum", "one/smu", "'one' has no output 'smu'; did you mean sum?"),
        ("step: 0.02, start", "step: 0.025, start", "0.025 s is no multiple of the world's step of 0.01 s"),
        ("fmu: one", "fmu: oen", "no FMU 'oen'; did you mean one?"),
        ("file: drifter.fmu, ", "file: drift.fmu, ", "no file 'drift.fmu' beside drift.yaml"),
        ("file: drifter.fmu, ", "file: drift.yaml, ", "'drift.yaml' is not an FMU: it is no zip archive"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(WorldError) as caught:
        Simulation(written(tmp_path, WORLD.replace(old, new)))
    assert message in str(caught.value)


def test_what_is_no_fmu_for_co_simulation_is_refused(tmp_path: Path) -> None:
    for text, why in [
        (described("2.0").replace('fmiVersion="2.0"', 'fmiVersion="1.0"'), "of FMI 1.0; allowed: 2.0, 3.0"),
        (described("3.0").replace("CoSimulation", "ModelExchange"), "without co-simulation"),
        ("<broken", "cannot be read"),
    ]:
        path = tmp_path / f"{abs(hash(text))}.fmu"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("modelDescription.xml", text)
        with pytest.raises(FmuFault, match=why):
            description_of(path)


def test_a_world_with_fmus_reads_back_as_it_was_written(tmp_path: Path) -> None:
    world = load(written(tmp_path))
    again = tmp_path / "again.yaml"
    again.write_text(to_yaml(world))
    other = load(again)
    assert [(each.name, each.step_ns, each.start, each.inputs) for each in other.parts["fmus"]] == [
        (each.name, each.step_ns, each.start, each.inputs) for each in world.parts["fmus"]
    ]
    assert other.parts["fmu_frames"][0].outputs == POSE


def test_an_included_world_brings_no_fmus(tmp_path: Path) -> None:
    written(tmp_path)
    outer = tmp_path / "outer.yaml"
    outer.write_text("world: outer\ninclude: [{file: drift.yaml, prefix: a}]\n")
    with pytest.warns(
        UserWarning, match=r"its fmus \(one, two\) are ignored: only the file that is run starts processes"
    ):
        world = load(outer)
    assert "fmus" not in world.parts or not world.parts["fmus"]
    assert Simulation(world).frames.index("a/craft") >= 0


def test_the_command_starts_fmus_only_if_processes_may_start(tmp_path: Path) -> None:
    path = written(tmp_path, WORLD.replace("input: 2.0", "input: 2.0, crash_at: 0.2"))
    command = [str(Path(sys.executable).with_name("sim_node")), "run", str(path), "--no-ros", "--duration", "0.5"]
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "not starting the FMUs one, two; use --processes" in without.stdout + without.stderr
    with_them = subprocess.run([*command, "--processes"], capture_output=True, text=True, check=False)
    assert with_them.returncode == 0
    assert (with_them.stdout + with_them.stderr).count("FMU one crashed (SIGABRT)") == 1
