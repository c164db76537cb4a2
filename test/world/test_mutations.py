"""Mutated worlds: each loads or gives located errors; never a traceback or a hang."""

from __future__ import annotations

import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.world import Diverged, World, WorldError, WorldWarning, load
from sim_node.world.locate import shipped_worlds

EXAMPLES = 500
ROOT = Path(__file__).parents[2]
# Of computing, so that a busy machine is no hang. The largest world here loads in some 20 ms.
SLOWEST_S = 2.0

# Every key of the schema, every form of a pose, anchors, merges, an include and a CSV.
RICH = """\
world: rich
fixed_frame: map
origin: {latitude: -33.9, longitude: 18.4, altitude: 42.5}
time: {start: 1.5, step: 0.02}
static_patterns: [CAM_*, SONAR_*]
include:
  - part.yaml
  - {file: part.yaml, prefix: cart/, parent: ship, pose: {position: [0, 0, 1], convention: NED}}
frames:
  - &ship {name: ship, pose: {position: [1, -2.5e1, .5], rpy: [0.1, 0, -3], scale: 2}}
  - {<<: *ship, name: "ship/mast", parent: ship}
  - name: drone/base_link/lamp
    pose: {quaternion: [0, 0, 0.7071067811865476, 0.7071067811865476], scale: [1, 2, 3]}
  - name: matrix
    parent: ship/mast
    pose:
      matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
      convention: FRD
sensors:
  - {name: drone/IMU_MAIN, pose: {axis_angle: {axis: [1, 1, 0], angle: 0.5}}}
  - {name: drone/GPS_MAIN, parent: ship, pose: {axis_angle: {axis: [0, 0, 2], angle_deg: 90}}}
  - {name: drone/IMU_2, type: imu, rate: 50, gyroscope: {density: 1e-3, saturation: 20}, accelerometer: none}
motions:
  - frame: drone/base_link
    parent: map
    interpolation: smooth
    before: pingpong
    after: loop
    keyframes: &path
      - {t: -1, position: [0, 0, 1], quaternion: [0, 0, 0, 1]}
      - {t: 0.5, position: [2, 0, 1.5], rpy_deg: [0, 0, 90]}
      - {t: 2, position: [0, 0, 1], convention: ENU}
  - {frame: drone/SONAR_1, parent: drone/base_link, interpolation: step, convention: NED, keyframes: *path}
  - {frame: bird, keyframes: {csv: path.csv}}  # from motion capture
"""
BODIES = """\
time: {step: 0.004}
physics: {engine: mujoco, integrator: implicitfast, timestep: 0.002, gravity: [0, 0, -2], contact: true, armature: 1e-6}
bodies:
  - {name: ground, geometry: [{plane: true, color: [0.1, 0.2, 0.3]}]}
  - name: arm
    parent: ground
    pose: {position: [1, 2, 3], rpy_deg: [0, 0, 90]}
    joint: {type: hinge, axis: [0, 3, 4], damping: 0.1, armature: 0.2, spring_stiff: 0.3, spring_zero: 0.4, q: 0.5}
    inertial: {mass: 2, center: [0, 0, 0.1], inertia: [0.1, 0.2, 0.25, 0.01, 0.02, 0.03]}
    geometry: [{capsule: [0.1, 1], mass: 7, pose: {position: [0, 0, 0.5]}}, {xyz: 0.25}]
  - name: arm/ball
    joint: {type: spherical, damping: [1, 2, 3], spring_stiff: [5, 6, 7], q: [0, 0, 0.6, 0.8], qd: [1, 2, 3]}
    geometry: [{sphere: 0.1, mass: 1}, {box: [1, 2, 3], density: 2}, {cylinder: [0.1, 1]}, {ellipsoid: [0.1, 0.2, 0.3]}]
  - {name: crate, joint: {type: free, q: [3, 0, 1, 0, 0, 0, 1]}, geometry: [{box: [0.1, 0.2, 0.3], mass: 1}]}
forces:
  - {type: constant, body: crate, force: [1, 2, 3], torque: [4, 5, 6], point: [0, 0, 1], axes: body, from: 0, until: 9}
  - {type: drag, body: crate, linear: 0.1, quadratic: [1, 2, 3], angular_linear: 0.2, center: [0.1, 0, 0]}
  - {type: buoyancy, body: arm/ball, volume: 2, height: 0.5, density: 1025, surface: 4, center: [0, 0, 1], shape: box}
  - {type: wind, velocity: [3, -4, 0], exponent: 0.14, gusts: {intensity: [2, 1, 0.5], scale_length: 30, speed: 5}}
"""
PART = "fixed_frame: base\nframes:\n  - {name: wheel, pose: {position: [0, 1, 0]}}\n  - {name: wheel/tyre}\n"
PATH = "t,x,y,z,qx,qy,qz,qw\n0,0,0,1,0,0,0,1\n0.5,1,0,1,0,0,0.6,0.8\n1.25,1,1,1e-3,0,0,1,0\n"
MJCF = """\
<mujoco model="leg">
  <compiler angle="degree" meshdir="parts"/>
  <option timestep="0.002" integrator="implicit" cone="elliptic" density="1.2"/>
  <default><default class="leg"><joint damping="0.4" armature="0.01"/></default></default>
  <asset><mesh name="part" file="part.obj"/><texture name="t" type="2d" builtin="checker" width="8" height="8"/></asset>
  <include file="part.xml"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="torso" pos="0 0 1" euler="10 0 20">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .1" mass="3"/> <geom type="mesh" mesh="part"/>
      <site name="imu" pos="0 0 .1"/>
      <body name="thigh" pos="0.2 0 0" childclass="leg">
        <joint name="hip" axis="0 1 0" range="-60 60" pos="0 0 0.02"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size=".03"/>
        <body pos="0.3 0 0"><joint type="ball"/><joint type="slide" axis="1 0 0"/><geom size="0.05"/></body>
      </body>
    </body>
    <replicate count="3" offset="0.2 0 0"><body name="post" pos="1 1 0"><geom size="0.1"/></body></replicate>
  </worldbody>
  <actuator><position name="servo" joint="hip" kp="20"/></actuator>
  <sensor><accelerometer name="acc" site="imu"/></sensor>
  <keyframe><key name="home" qpos="0 0 1 1 0 0 0 .1 1 0 0 0 .01" ctrl="0.5"/></keyframe>
</mujoco>
"""
MJCF_PART = '<mujoco>\n<worldbody><light pos="0 0 3"/></worldbody>\n</mujoco>\n'
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MODELS = """\
time: {step: 0.002}
include:
  - {file: m.xml, prefix: a, parent: map, pose: {position: [1, 2, 3]}, keyframe: home, q: {hip: 0.3}}
  - {file: m.xml, prefix: b, free: false}
bodies:
  - {name: hull, parent: a/thigh, geometry: [{mesh: parts/part.obj, scale: [0.1, 0.2, 0.3], mass: 2}]}
actuators:
  - {joint: a/hip, stiffness: 10, damping: 1, force: 5, target: 0.1, amplitude: 0.2, period: 3, phase: 0.25}
"""

# What stands in place of a word, or between two of them.
WORDS = [
    *(
        "",
        " ",
        "\n",
        "\t",
        "-",
        "- ",
        ":",
        ": ",
        ",",
        "[",
        "]",
        "{",
        "}",
        "[[",
        "{{",
        "'",
        '"',
        "|",
        ">",
        "#",
        "%",
        "@",
        "`",
    ),
    *(
        "&a",
        "*a",
        "*ship",
        "*path",
        "<<",
        "<<: *ship",
        "!",
        "!x",
        "!!str",
        "!!float",
        "!!python/object:os.system",
        "---",
        "...",
    ),
    *(
        "null",
        "~",
        "true",
        "on",
        "map",
        "ship",
        "base_link",
        "/map",
        "a b",
        "../x",
        ".",
        "path.csv",
        "part.yaml",
        "w.yaml",
    ),
    *("0", "-1", "1e999", "-1e-999", ".nan", ".inf", "1_0", "0x1", "1e300", "2147483648", "1e-7", "9" * 400, "5e-324"),
    *(
        "package://sim_node/config/worlds/orbit.yaml",
        "package://..",
        "\x00",
        "\x7f",
        "\ufeff",
        "\u2028",
        "é",
        "😀",
        "\r",
    ),
    *(
        "name",
        "parent",
        "pose",
        "t",
        "position",
        "quaternion",
        "matrix",
        "scale",
        "keyframes",
        "csv",
        "loop",
        "NED",
        "step",
    ),
]
TOKEN = re.compile(r"\s+|[\w.*/-]+|.", re.DOTALL)


def seeds() -> dict[str, dict[str, str]]:
    """Folders of files by name, the world itself in the first."""
    found = {"rich": {"w.yaml": RICH, "part.yaml": PART, "path.csv": PATH}, "bodies": {"w.yaml": BODIES}}
    parts = {"part.xml": MJCF_PART, "parts/part.obj": MESH}
    found["mjcf"] = {"w.xml": MJCF, **parts}
    found["models"] = {"w.yaml": MODELS, "m.xml": MJCF, **parts}
    found["urdf"] = {"w.urdf": (ROOT / "config" / "models" / "arm.urdf").read_text()}
    for name, path in shipped_worlds().items():
        parts = {f"parts/{part.name}": part.read_text() for part in (path.parent / "parts").iterdir()}
        found[name] = {f"w{path.suffix}": path.read_text(), **parts}
    return found


SEEDS = seeds()
MAIN = {seed: next(iter(files)) for seed, files in SEEDS.items()}


def replaced_tokens(draw: st.DrawFn, text: str) -> bytes:
    tokens = TOKEN.findall(text)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        word = draw(st.one_of(st.sampled_from(WORDS), st.sampled_from(tokens)))
        tokens[at] = draw(st.sampled_from([word, tokens[at] + word, word + tokens[at]]))
    return "".join(tokens).encode("utf-8", errors="surrogatepass")


def shuffled_lines(draw: st.DrawFn, text: str) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        kind = draw(st.sampled_from(["delete", "repeat", "swap", "move", "indent", "dedent", "cut", "many"]))
        if kind == "delete" and len(lines) > 1:
            del lines[at]
        elif kind == "repeat":
            lines.insert(other, lines[at])
        elif kind == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "move":
            lines.insert(other, lines.pop(at))
        elif kind == "indent":
            lines[at] = draw(st.sampled_from([" ", "  ", "\t", "- "])) + lines[at]
        elif kind == "dedent":
            lines[at] = lines[at][draw(st.integers(1, 4)) :]
        elif kind == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        elif kind == "many":
            lines[at:at] = [lines[at]] * 200
    return "".join(lines).encode()


def changed_bytes(draw: st.DrawFn, text: str) -> bytes:
    data = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "insert", "delete", "copy", "truncate"]))
        if kind == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "delete":
            del data[at : at + draw(st.integers(1, 30))]
        elif kind == "copy":
            other = draw(st.integers(0, len(data)))
            data[at:at] = data[other : other + draw(st.integers(1, 200))]
        elif kind == "truncate" and draw(st.booleans()):
            del data[at:]
    return bytes(data)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """A folder, which of its files is mutated (the world itself, mostly), and what it holds then."""
    seed = draw(st.sampled_from(sorted(SEEDS)))
    main = st.just(MAIN[seed])
    file = draw(st.one_of(main, main, st.sampled_from(sorted(SEEDS[seed]))))
    mutate = draw(st.sampled_from([replaced_tokens, shuffled_lines, changed_bytes]))
    return seed, file, mutate(draw, SEEDS[seed][file])


@pytest.fixture(scope="module")
def folders() -> Iterator[dict[str, Path]]:
    """The files of each seed, written."""
    with tempfile.TemporaryDirectory() as root:
        for seed, files in SEEDS.items():
            for name, text in files.items():
                path = Path(root) / seed / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        for seed in SEEDS:
            check_runs(load(Path(root) / seed / MAIN[seed]))  # what is imported and compiled once takes its time
        yield {seed: Path(root) / seed for seed in SEEDS}


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_a_mutated_world_loads_or_gives_located_errors(
    folders: dict[str, Path], mutation: tuple[str, str, bytes]
) -> None:
    seed, file, data = mutation
    path = folders[seed] / file
    path.write_bytes(data)
    try:
        start = time.process_time()
        check(folders[seed] / MAIN[seed])
        assert time.process_time() - start < SLOWEST_S
    finally:
        path.write_text(SEEDS[seed][file])


def check(path: Path) -> None:
    """Loads a world; what it gives can be simulated, and what it tells can be found."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's too: nothing overflows unseen
        warnings.simplefilter("ignore", WorldWarning)
        try:
            world = load(path)
        except WorldError as error:
            event("refused")
            check_told(error)
        else:
            event("loaded")
            try:
                check_runs(world)
            except WorldError as error:
                event("refused when laid out")
                check_told(error)
            except Diverged:
                event("diverged")


def check_told(error: WorldError) -> None:
    assert error.problems
    for problem in error.problems:
        where = problem.where
        assert Path(where.file).is_file()
        assert problem.message
        assert (where.line > 0) == (where.column > 0)
        assert (
            0
            <= where.line
            <= Path(where.file).read_bytes().count(b"\n") + Path(where.file).read_bytes().count(b"\r") + 2
        )
    for line in error.lines():
        assert line.isprintable()
        assert len(line) < 1000


def check_runs(world: World) -> None:
    simulation = Simulation(world)
    for _ in range(3):
        poses = simulation.snapshot().poses
        assert np.isfinite(poses).all()
        np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0, atol=1e-9)
        simulation.step()


@pytest.mark.parametrize("seed", sorted(SEEDS))
def test_the_worlds_are_sound_before_they_are_mutated(folders: dict[str, Path], seed: str) -> None:
    check_runs(load(folders[seed] / MAIN[seed]))


def test_mutations_find_both_sound_and_broken_worlds(folders: dict[str, Path]) -> None:
    """Or the test above would show nothing. Every hundredth character is cut out once."""
    outcomes = set()
    for seed, files in SEEDS.items():
        world = folders[seed] / MAIN[seed]
        for at in range(0, len(files[MAIN[seed]]), 100):
            world.write_text(files[MAIN[seed]][:at] + files[MAIN[seed]][at + 1 :])
            try:
                load(world)
                outcomes.add("sound")
            except WorldError:
                outcomes.add("broken")
        world.write_text(files[MAIN[seed]])
    assert outcomes == {"sound", "broken"}
