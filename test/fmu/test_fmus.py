"""FMUs that step with a run, against their solutions in closed form."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drifter import POSE, build, described
from in_process import exit_code
from nightly import rows
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from sim_node.extensions.fmu import FmuFault, description_of, fmus_of, start_fmus
from sim_node.extensions.fmu.output_sink import published_outputs
from sim_node.session.graph_names import graph_names
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


# FMI 3 runs in test_structural_parameters_size_arrays, too.
@pytest.mark.parametrize("version", rows(["2.0", "3.0"], ["2.0"]))
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


def test_structural_parameters_size_arrays(tmp_path: Path) -> None:
    text = WORLD.replace("speed: 3.0", "speed: 3.0, length: 4").replace("OUTPUTS", json.dumps(POSE))
    simulation = Simulation(written(tmp_path, text, version="3.0"))
    lines: list[str] = []
    fmus = start_fmus(simulation, lines.append)
    simulation.step(100)
    assert fmus["one"].values["line"] == pytest.approx([0.0, 3.0, 6.0, 9.0], abs=1e-12)
    assert fmus["two"].values["line"] == [0.0, 0.0]
    assert lines == []
    for length, message in (("-1", "0 to 1000000 is needed, found -1"), ("2.5", "of the type UInt64; a whole number")):
        with pytest.raises(WorldError, match=f"fmus.one.start.length: .*{message}"):
            Simulation(written(tmp_path, text.replace("length: 4", f"length: {length}"), version="3.0"))


def test_outputs_are_topics_of_a_run_and_its_recording(tmp_path: Path) -> None:
    path, bag = written(tmp_path), tmp_path / "bag"
    command = ["run", str(path), "--no-ros", "--duration", "0.5", "--processes", "--record", str(bag)]
    assert exit_code(command) == 0
    found = {}
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        for connection, time_ns, data in reader.messages():
            if connection.topic == "/one/sum":
                found[time_ns] = reader.deserialize(data, connection.msgtype).data
    # The step of 0.02 s ends at every other tick; until then the output stays.
    steps = np.array(list(found)) // 20_000_000
    assert (min(found), max(found)) == (0, 500_000_000)
    assert list(found.values()) == pytest.approx(2.0 * 0.02 * steps, abs=1e-12)
    topics = {each.topic.name: each.topic.type for each in published_outputs(load(path))}
    assert topics["one/vehicle_state_state_pose_position_x"] == "std_msgs/msg/Float64"
    assert set(topics) >= {"one/sum", "two/sum"}
    assert [each.name for each in graph_names(load(path)) if each.name == "/two/sum"] == ["/two/sum"]


def test_each_output_has_the_message_of_its_type_and_a_topic_of_its_own(tmp_path: Path) -> None:
    variables = dict.fromkeys(("a.b", "a_b", "On", "n", "text", "row"), "output")
    text = described("3.0", variables=variables)
    for name, kind in (("On", "Boolean"), ("n", "Int32"), ("text", "String"), ("row", "Float64")):
        text = text.replace(f'<Float64 name="{name}"', f'<{kind} name="{name}"')
    text = text.replace(
        '<Float64 name="row" valueReference="5" causality="output"/>',
        '<Float64 name="row" valueReference="5" causality="output"><Dimension start="2"/></Float64>',
    )
    with zipfile.ZipFile(tmp_path / "typed.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", text)
    path = tmp_path / "world.yaml"
    path.write_text("world: w\nfmus: {unit: {file: typed.fmu}}")
    world = load(path)
    assert [(each.topic.name, each.topic.type.split("/")[-1]) for each in published_outputs(world)] == [
        ("unit/a_b", "Float64"),
        ("unit/a_b_1", "Float64"),
        ("unit/On", "Bool"),
        ("unit/n", "Int64"),
    ]


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


@pytest.mark.parametrize("version", rows(["2.0", "3.0"], ["3.0"]))
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


# Takes seconds: make test has runs that go back, and FMUs that hang.
@pytest.mark.nightly
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


# Takes seconds: make test has runs that go back, and FMUs that hang.
@pytest.mark.nightly
def test_fmus_that_break_end_with_a_line_and_not_with_the_run(tmp_path: Path) -> None:
    broken = {
        "crash_at: 0.5": r"crashed \(SIGABRT\); its last line: the wing is off \(at 0.5 s\); the run goes on",
        "fail_at: 0.7": r"failed: .*fmi2DoStep.* \(at 0.7 s\); the run goes on without it",
        "turn: 1e309": r"gave strayed a pose that is not finite",
    }
    names = ("crashed", "failed", "stray")
    more = "".join(
        f"  {name}: {{file: drifter.fmu, step: 0.02, start: {{{start}}}}}\n"
        for name, start in zip(names, broken, strict=True)
    )
    frame = "fmu_frames:\n  - {frame: strayed, fmu: stray, outputs: OUTPUTS}\n"
    simulation = Simulation(written(tmp_path, WORLD.replace("fmu_frames:\n", more + frame)))
    lines: list[str] = []
    fmus = start_fmus(simulation, lines.append)
    simulation.step(100)
    assert len(lines) == 3
    for name, line in zip(names, broken.values(), strict=True):
        assert any(re.match(f"FMU {name} {line}", each) for each in lines), lines
        assert not fmus[name].is_running
    assert fmus["two"].is_running
    assert fmus["two"].values["sum"] == pytest.approx(0.02 * 0.04 * 49 * 50 / 2, abs=1e-12)
    assert simulation.time_ns == 1_000_000_000


def test_an_fmu_that_hangs_is_ended_with_a_line(tmp_path: Path) -> None:
    from sim_node.extensions.fmu.process import Ended, FmuProcess

    file = build(tmp_path)
    process = FmuProcess("one", file, description_of(file), {"hang_at": 0.0}, tmp_path)
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


def test_the_command_starts_fmus_only_if_processes_may_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, WORLD.replace("input: 2.0", "input: 2.0, crash_at: 0.2"))
    command = ["run", str(path), "--no-ros", "--duration", "0.5"]
    assert exit_code(command) == 0
    assert "not starting the FMUs one, two; use --processes" in "".join(capfd.readouterr())
    assert exit_code([*command, "--processes"]) == 0
    assert "".join(capfd.readouterr()).count("FMU one crashed (SIGABRT)") == 1
