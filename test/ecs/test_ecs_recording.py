"""Recordings of worlds in Python: what is in the bag by independent readers, and read back to the bit."""

from __future__ import annotations

import csv
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import jax
import numpy as np
import polars
import pytest
from ecs_structures import Ticks, component, random_bits, same_bits, spatial, structure_of, ticks
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader

import sim_node.extensions.elodin as el
from sim_node.cli.main import main
from sim_node.extensions.elodin.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.dynamics import NewtonEuler, six_dof
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.program import compiled
from sim_node.extensions.elodin.session.recorded import open_recording
from sim_node.extensions.elodin.session.recording import Recording
from sim_node.extensions.elodin.session.world import World
from sim_node.extensions.elodin.standard import Body, Force, Inertia
from sim_node.extensions.elodin.systems import map as each
from sim_node.recording.bag import BagError

GRAVITY, STEP, TICKS = 9.81, 1 / 100, 150
SECOND = 1_000_000_000


def stamps_of(first: int, count: int, step_ns: int = 10_000_000) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.int64) * step_ns


@pytest.fixture(scope="module")
def fall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bag of a ball that is thrown up, and of one that spins in the air, recorded at every tick."""

    @each
    def gravity(force: Force, inertia: Inertia) -> Force:
        return force + SpatialForce(linear=inertia.mass() * np.array([0.0, 0.0, -GRAVITY]))

    entities = Entities()
    entities.spawn(Body(world_vel=SpatialMotion(linear=np.array([1.0, 0.0, 5.0]))), name="ball")
    entities.spawn(Body(world_pos=SpatialTransform(linear=np.array([0.0, 2.0, 0.0]))), name="Top 1")
    program = compiled(entities, six_dof(sys=gravity), STEP, NewtonEuler())
    live = Live(program)
    path = tmp_path_factory.mktemp("bags") / "fall"
    constant = [name for name in program.start if name not in program.changing]
    recording = Recording(path, program.structure, 0, STEP, script=__file__, constant=constant)
    recording.write(0, stamps_of(0, 1), {name: np.asarray(array)[None] for name, array in program.start.items()})
    for first in range(1, TICKS + 1, 50):
        recording.write(first, stamps_of(first, 50), live.record(50))
    recording.close()
    return path


def test_a_thrown_ball_is_a_parabola_in_every_reader(fall: Path) -> None:
    """Positions by rosbags, velocities by mcap_ros2: x = t, z = 5 t - g t^2 / 2."""
    with AnyReader([fall]) as reader:
        assert reader.duration == TICKS * 10_000_000 + 1
        transforms = [
            (time, reader.deserialize(data, connection.msgtype).transforms)
            for connection, time, data in reader.messages([c for c in reader.connections if c.topic == "/tf"])
        ]
    assert len(transforms) == TICKS + 1
    for time, (ball, top) in transforms:
        t = time / SECOND
        assert (ball.child_frame_id, top.child_frame_id, ball.header.frame_id) == ("ball", "Top_1", "map")
        p = ball.transform.translation
        np.testing.assert_allclose([p.x, p.y, p.z], [t, 0.0, 5 * t - GRAVITY * t * t / 2], atol=1e-12)
        assert top.transform.translation.y == 2.0
    with next(fall.glob("*.mcap")).open("rb") as stream:
        found = make_reader(stream, validate_crcs=True, decoder_factories=[DecoderFactory()])
        speeds = [
            (message.log_time / SECOND, decoded.twist.linear.z)
            for _, _, message, decoded in found.iter_decoded_messages("/ball/world_vel")
        ]
        summary = found.get_summary()
    assert len(speeds) == TICKS + 1
    np.testing.assert_allclose([speed for _, speed in speeds], [5 - GRAVITY * t for t, _ in speeds], atol=1e-12)
    assert summary is not None
    assert summary.statistics is not None
    counts = {summary.channels[c].topic: n for c, n in summary.statistics.channel_message_counts.items()}
    assert counts["/clock"] == counts["/top_1/force"] == TICKS + 1
    assert counts["/ball/inertia"] == counts["/globals/simulation_time_step"] == 1


def test_the_bag_has_the_script_and_its_components(fall: Path) -> None:
    with next(fall.glob("*.mcap")).open("rb") as stream:
        found = {each.name: each.data for each in make_reader(stream).iter_attachments()}
    assert set(found) == {"run.json", "components.json", f"world/{Path(__file__).name}"}
    assert found[f"world/{Path(__file__).name}"] == Path(__file__).read_bytes()
    run = json.loads(found["run.json"])
    assert run["world"] == Path(__file__).stem
    assert run["start_us"] == 0
    assert run["versions"]["jax"]


@pytest.mark.parametrize("join", [True, False])
def test_components_are_exported_as_elodin_db_exports_them(join: bool, tmp_path: Path) -> None:
    """A file for each entity, or component; columns by element_names or places; times since 1970; no private ones."""
    state = Annotated[jax.Array, el.Component("state", el.ComponentType(el.PrimitiveType.F64, (2,)))]
    own = Annotated[jax.Array, el.Component("own", el.ComponentType.F64, metadata={"private": "true"})]
    world = el.World()
    motion = el.SpatialMotion(linear=np.array([0.0, 3.0, 0.0]))
    world.spawn([el.Body(world_vel=motion), el.C((state, own), (np.array([7.0, 8.0]), np.array(1.0)))], "Ball 1")
    world.run(el.six_dof(), 0.5, max_ticks=2, db_path=tmp_path / "bag", start_timestamp=5_000_000, interactive=False)
    out = el.monte_carlo.export_db(tmp_path / "bag", tmp_path / "out", join=join, pattern="Ball 1.*")
    names = {each.stem for each in out.iterdir()}
    of_body = {"world_pos", "world_vel", "world_accel", "force", "inertia", "state"}
    assert names == ({"Ball 1"} if join else {f"Ball 1.{each}" for each in of_body})
    rows = list(csv.DictReader((out / ("Ball 1.csv" if join else "Ball 1.world_pos.csv")).open()))
    before = "" if join else "Ball 1."
    assert [int(row["time_ns"]) for row in rows] == [5_000_000_000, 5_500_000_000, 6_000_000_000]
    assert [float(row[f"{before}world_pos_y"]) for row in rows] == pytest.approx([0.0, 1.5, 3.0])
    columns = set(rows[0]) if join else {*next(csv.reader((out / "Ball 1.state.csv").open()))}
    assert {f"{before}state_0", f"{before}state_1"} < columns
    assert not any("own" in column for column in columns)


# Takes seconds: make test has what is read back, in every reader.
@pytest.mark.nightly
def test_the_commands_for_bags_work_on_it(fall: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """t = 1 s: z = 5 - g / 2 = 0.095."""
    assert main(["lookup", str(fall), "map", "ball", "--at", "1", "--json"]) == 0
    z = json.loads(capsys.readouterr().out)["translation"][2]
    assert z == pytest.approx(5 - GRAVITY / 2, abs=1e-9)
    assert main(["info", str(fall), "--check"]) == 0
    assert "/ball/world_accel" in capsys.readouterr().out
    assert main(["plot", str(fall), "/ball/world_vel.twist.linear.z", "-o", str(tmp_path / "v.svg")]) == 0
    assert f"{TICKS + 1} values from -9.715 to 5" in capsys.readouterr().out
    assert main(["export", str(fall), "--csv", str(tmp_path / "tables")]) == 0
    table = polars.read_csv(tmp_path / "tables" / "top_1_world_vel.csv")
    assert table["twist.linear.z"][-1] == pytest.approx(-GRAVITY * 1.5, abs=1e-9)
    assert main(["diff", str(fall), str(fall)]) == 0


def test_history_is_a_table_of_entities_components(fall: Path) -> None:
    """A constant has its value at each time; vectors are arrays."""
    with open_recording(fall) as run:
        assert (run.start_us, run.step, run.record_every) == (0, STEP, 1)
        table = run.history(["ball.world_pos", "Top 1.inertia", "globals.tick"])
    assert table.columns == ["time", "ball.world_pos", "Top 1.inertia", "globals.tick"]
    assert table.schema["time"] == polars.Datetime("us")
    assert table.schema["ball.world_pos"] == polars.Array(polars.Float64, 7)
    assert table["globals.tick"].to_list() == list(range(TICKS + 1))
    assert table["time"].to_physical().to_list() == [10_000 * tick for tick in range(TICKS + 1)]
    assert table["Top 1.inertia"].to_list() == [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]] * (TICKS + 1)
    with (
        open_recording(fall) as run,
        pytest.raises(EcsError, match=r"no component 'ball\.world_po' in .*did you mean ball\.world_pos"),
    ):
        run.history("ball.world_po")


def test_a_recorded_run_is_the_history_of_an_exec_to_the_bit(tmp_path: Path) -> None:
    """By World.run with db_path, and in memory: all components, constants too."""

    @each
    def spin(force: Force) -> Force:
        return SpatialForce(torque=np.array([0.1, 0.2, 0.3])) + force

    world = World()
    world.spawn(Body(), name="cube")
    world.spawn(Body(inertia=SpatialInertia(2.0, np.array([1.0, 2.0, 3.0]))), name="top")
    system = six_dof(sys=spin)
    world.run(system, 1 / 240, max_ticks=100, interactive=False, start_timestamp=0, db_path=tmp_path / "bag")
    runs = world.build(system, 1 / 240)
    runs.run(100)
    with open_recording(tmp_path / "bag") as run:
        names = run.names
        assert {"cube.world_pos", "top.inertia", "globals.tick"} <= set(names)
        recorded = run.history(names)
    for name, column in runs.history(names).to_dict().items():
        assert same_bits(recorded[name].to_numpy(), column.to_numpy()), name


def parts(drawn: Ticks, cuts: list[int]) -> Iterator[slice]:
    """Yield the ticks in parts that end at the cuts."""
    ends = sorted({min(cut, len(drawn.stamps)) for cut in cuts} | {len(drawn.stamps)})
    for first, end in zip([0, *ends], ends, strict=False):
        yield slice(first, end)


@given(drawn=ticks(), cuts=st.lists(st.integers(0, 12), max_size=5), every=st.integers(1, 4))
@settings(max_examples=15)
def test_what_is_recorded_is_read_back_to_the_bit(drawn: Ticks, cuts: list[int], every: int) -> None:
    """Any types, shapes and bits; in parts of any size the bag is the same file; thinned to multiples."""
    with TemporaryDirectory() as folder:
        files = []
        for name, ends in (("one", []), ("parts", cuts)):
            Path(folder, name).mkdir()
            path = Path(folder, name, "bag")
            recording = Recording(path, drawn.structure, 5, 0.01, every)
            for part in parts(drawn, ends):
                recording.write(part.start, drawn.stamps[part], {n: a[part] for n, a in drawn.arrays.items()})
            recording.close()
            files.append(next(path.glob("*.mcap")).read_bytes())
            with open_recording(path) as run:
                for owned, entities in drawn.structure.entities.items():
                    for row, entity in enumerate(entities):
                        stamps, values = run.values(owned, drawn.structure.names[entity])
                        assert same_bits(values, drawn.arrays[owned][::every, row])
                        assert (stamps == drawn.stamps[::every]).all()
        assert files[0] == files[1]


def test_many_entities_are_read_back_from_the_messages_that_they_share(tmp_path: Path) -> None:
    """More bytes at a tick than a chunk has."""
    names = tuple(f"ball_{number}" for number in range(5000))
    structure = structure_of(spatial("world_pos"), spatial("world_vel"), component("on", "bool"), entities=names)
    rng = np.random.default_rng(1)
    arrays = {
        name: random_bits(rng, np.dtype(dtype), (3, len(names), *shape))
        for name, dtype, shape in (("world_pos", float, (7,)), ("world_vel", float, (6,)), ("on", bool, ()))
    }
    recording = Recording(tmp_path / "bag", structure, 0, 0.01)
    recording.write(0, stamps_of(0, 3), arrays)
    recording.close()
    with open_recording(tmp_path / "bag") as run:
        for name, array in arrays.items():
            assert same_bits(run.values(name, "ball_4321")[1], array[:, 4321])


def test_chunks_are_of_a_second_or_128_kib(tmp_path: Path) -> None:
    """A clock of 43 bytes and a number of 43 at each tick: of 10 s at 1 kHz, 860 kB, 7 chunks."""
    recording = Recording(tmp_path / "bag", structure_of(component("x")), 0, 0.001)
    recording.write(0, stamps_of(0, 10_000, 1_000_000), {"x": np.zeros((10_000, 1))})
    recording.close()
    with next((tmp_path / "bag").glob("*.mcap")).open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    sizes = [chunk.uncompressed_size for chunk in summary.chunk_indexes]
    assert len(sizes) == 7
    # The first has the definitions of the messages, too.
    assert all(128 * 1024 - 86 <= size <= 128 * 1024 + 4096 for size in sizes[:-1])


def test_a_component_that_changes_now_and_then_is_written_then(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "bag", structure_of(component("x"), component("y")), 0, 0.01)
    recording.write(0, stamps_of(0, 3), {"x": np.arange(3.0)[:, None]})
    recording.write(3, stamps_of(3, 1), {"x": np.array([[3.0]]), "y": np.array([[7.0]])})
    recording.write(4, stamps_of(4, 2), {"x": np.arange(4.0, 6.0)[:, None]})
    recording.close()
    with open_recording(tmp_path / "bag") as run:
        assert run.values("y", "ball")[0].tolist() == [30_000_000]
        table = run.history(["ball.x", "ball.y"])
    assert table["ball.x"].to_list() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert table["ball.y"].to_list() == [None, None, None, 7.0, 7.0, 7.0]


def test_poses_that_do_not_change_stay_on_tf(tmp_path: Path) -> None:
    """So that they can be looked up at all times."""
    structure = structure_of(spatial("world_pos"), component("x"))
    recording = Recording(tmp_path / "bag", structure, 0, 0.01, constant=["world_pos"])
    pose = np.array([[[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0]]])
    recording.write(0, stamps_of(0, 1), {"world_pos": pose, "x": np.zeros((1, 1))})
    recording.write(1, stamps_of(1, 9), {"x": np.zeros((9, 1))})
    recording.close()
    with open_recording(tmp_path / "bag") as run:
        assert run.values("world_pos", "ball")[1].tolist() == pose[0].tolist() * 10


@pytest.mark.parametrize("name", ["command", "world_pos"])
def test_values_of_the_past_are_recorded_at_their_times(name: str, tmp_path: Path) -> None:
    """Poses, too: those of several entities share /tf."""
    shape = (7,) if name == "world_pos" else ()
    external = component(name, shape=shape, external_control="true")
    structure = structure_of(external, component("x"), entities=("one", "another"))
    recording = Recording(tmp_path / "bag", structure, 0, 0.01)
    recording.write(0, stamps_of(0, 10), {"x": np.zeros((10, 2))})
    for entity, value, stamp in (("one", 1.0, 5), ("another", 2.0, 3), (0, 3.0, 20_000_000), ("one", 4.0, 90_000_000)):
        recording.write_at(name, entity, np.full(shape, value), stamp)
    recording.write(10, stamps_of(10, 1), {"x": np.ones((1, 2))})
    recording.close()
    with open_recording(tmp_path / "bag") as run:
        stamps, values = run.values(name, "one")
        assert (stamps.tolist(), values.reshape(3, -1)[:, 0].tolist()) == ([5, 20_000_000, 90_000_000], [1.0, 3.0, 4.0])
        stamps, values = run.values(name, "another")
        assert (stamps.tolist(), values.ravel()[0]) == ([3], 2.0)
        assert np.ravel(run.history([f"one.{name}", "one.x"]).row(-1)[1])[0] == 4.0


def test_truncate_begins_the_bag_anew(tmp_path: Path) -> None:
    """Also when ticks are on disk already; times begin again, in the bag of a run that had only those ticks."""
    bags = []
    for name, before in (("truncated", 30_000), ("short", 0)):
        (tmp_path / name).mkdir()
        bags.append(tmp_path / name / "bag")
        recording = Recording(bags[-1], structure_of(component("x")), 0, 0.01)
        if before:
            recording.write(0, stamps_of(0, before), {"x": np.zeros((before, 1))})
            recording.truncate()
        recording.write(0, stamps_of(0, 5), {"x": np.arange(5.0)[:, None]})
        recording.close()
    assert sorted(each.name for each in bags[0].iterdir()) == ["bag_0.mcap", "metadata.yaml"]
    for name in ("bag_0.mcap", "metadata.yaml"):
        assert (bags[0] / name).read_bytes() == (bags[1] / name).read_bytes()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    structure = structure_of(component("x"), entities=("a", "b"))
    recording = Recording(tmp_path / "bag", structure, 0, 0.01)
    with pytest.raises(ValueError, match="there is no component 'y'; known: x"):
        recording.write(0, stamps_of(0, 1), {"y": np.zeros((1, 2))})
    with pytest.raises(ValueError, match=r"'x': found float32 \(1, 2\); float64 \(1, 2\) is needed"):
        recording.write(0, stamps_of(0, 1), {"x": np.zeros((1, 2), np.float32)})
    with pytest.raises(BagError, match="bag times must not be negative, found -1 s"):
        recording.write(0, np.array([-SECOND]), {"x": np.zeros((1, 2))})
    with pytest.raises(ValueError, match=r"c\.x has no topic of its own"):
        recording.write_at("x", "c", 1.0, 0)
    recording.close()
    with pytest.raises(BagError, match="exists; a recording needs a new folder"):
        Recording(tmp_path / "bag", structure, 0, 0.01)
    with pytest.raises(ValueError, match="record_every: found 0"):
        Recording(tmp_path / "other", structure, 0, 0.01, 0)


def test_other_bags_are_no_recordings_of_worlds_in_python(tmp_path: Path, fall: Path) -> None:
    copy = tmp_path / "robot.mcap"
    data = next(fall.glob("*.mcap")).read_bytes()
    copy.write_bytes(data.replace(b"components.json", b"componentz.json"))
    with pytest.raises(BagError, match=r"is not a recording of a world in Python: it has no components\.json"):
        open_recording(copy)


CHILD = """
import os, resource, signal, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.path.insert(0, {shared!r})
from ecs_structures import component, structure_of
from sim_node.recording.bag import RecordingStopped
from sim_node.extensions.elodin.session.recording import Recording

recording = Recording({path!r}, structure_of(component("x", shape=(3,))), 0, 0.001)
at = 0
try:
    for _ in range(40):
        stamps = np.arange(at, at + 500) * 1_000_000
        recording.write(at, stamps, {{"x": np.random.default_rng(at).normal(size=(500, 1, 3))}})
        at += 500
    os.kill(os.getpid(), signal.SIGKILL)
except RecordingStopped as stopped:
    print(stopped)
"""


def run_child(path: Path, limit: int = resource.RLIM_INFINITY) -> subprocess.CompletedProcess[str]:
    """Run the writer of 20,000 ticks in a process of its own, that may write files of `limit` bytes."""
    shared = str(Path(__file__).parents[1] / "shared")
    return subprocess.run(
        [sys.executable, "-c", CHILD.format(shared=shared, path=str(path), limit=limit)],
        check=False,
        capture_output=True,
        text=True,
    )


def check_beginning(path: Path, fewest: int) -> None:
    with open_recording(path) as run:
        stamps, values = run.values("x", "ball")
    assert len(stamps) >= fewest
    expected = np.concatenate([np.random.default_rng(at).normal(size=(500, 1, 3)) for at in range(0, 20_000, 500)])
    assert same_bits(values, expected[: len(values), 0])
    assert (stamps == np.arange(len(stamps)) * 1_000_000).all()


# The recorder is that of every run: make test kills it in test/recording/test_kill.py.
@pytest.mark.nightly
def test_after_a_kill_all_but_the_last_second_is_there(tmp_path: Path) -> None:
    """As it is, and repaired."""
    path = tmp_path / "bag"
    assert run_child(path).returncode == -signal.SIGKILL
    check_beginning(path, 19_000)
    assert main(["repair", str(path), "-o", str(tmp_path / "repaired")]) == 0
    check_beginning(tmp_path / "repaired", 19_000)


@pytest.mark.nightly
def test_a_full_disk_ends_a_recording_with_what_fits(tmp_path: Path) -> None:
    ended = run_child(tmp_path / "bag", 300_000)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"recording stopped: {tmp_path / 'bag'}: File too large\n"
    check_beginning(tmp_path / "bag", 3_000)
    assert main(["info", str(tmp_path / "bag"), "--check"]) in (0, 1)


def test_nothing_recorded_is_a_bag(tmp_path: Path) -> None:
    Recording(tmp_path / "bag", structure_of(component("x")), 0, 0.01).close()
    with open_recording(tmp_path / "bag") as run:
        assert run.history("ball.x").shape == (0, 2)
