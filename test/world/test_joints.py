"""Limits, stops, mimics and actuators in world files: what is read, what is refused and where, and the way back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.world import Actuator, Body, Inertial, Mimic, Stop, World, WorldError, lay_out, load, loads
from sim_node.world.joints import JOINTS
from sim_node.world.writers.yaml import to_yaml

INERTIAL = Inertial(1.0, np.eye(3))
NUMBERS = st.floats(-1e6, 1e6)
ABOVE_ZERO = st.floats(1e-6, 1e6)
PAIRS = st.tuples(st.floats(-1e6, -1e-3) | st.just(-math.inf), st.floats(1e-3, 1e6) | st.just(math.inf))


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    joint = JOINTS[draw(st.sampled_from(sorted(set(JOINTS) - {"frozen", "cor"})))]
    ball = st.tuples(st.just(0.0), st.floats(1e-3, math.pi)) | st.just((-math.inf, math.inf))
    limits = [draw(ball if part.kind == "ball" else PAIRS) for part in joint.parts]
    if all(math.isinf(high) for _, high in limits):
        limits[0] = (0.0, 1.0)
    of_each = st.lists(st.floats(0.0, 1e6), min_size=joint.qd_size, max_size=joint.qd_size)
    return Body(
        "driven",
        "map",
        joint.name,
        axes=np.eye(3)[: joint.open_axes],
        inertial=INERTIAL,
        limits=np.array(limits),
        stop=draw(st.none() | st.builds(Stop, ABOVE_ZERO, st.none() | st.floats(0.0, 1e6))),
        friction_loss=draw(st.none() | of_each.map(np.array)),
        mimic=draw(st.builds(Mimic, st.just("led"), NUMBERS)) if joint.qd_size == 1 else None,
    )


DRIVES = (
    st.builds(
        Actuator, st.just("led"), NUMBERS.map(abs), NUMBERS.map(abs), target=NUMBERS, speed=st.none() | ABOVE_ZERO
    )
    | st.builds(Actuator, st.just("led"), damping=ABOVE_ZERO, target=NUMBERS, type=st.just("velocity"))
    | st.builds(Actuator, st.just("led"), force=st.none() | ABOVE_ZERO, amplitude=NUMBERS, type=st.just("effort"))
)


@given(bodies(), DRIVES)
def test_joints_and_actuators_read_back(driven: Body, drive: Actuator) -> None:
    world = World("w", bodies=(Body("led", "map", "px", inertial=INERTIAL), driven), actuators=(drive,))
    assert loads(to_yaml(world)) == world


def test_keys_may_be_those_of_controllers() -> None:
    world = loads(
        "bodies: [{name: a, joint: px, inertial: {mass: 1, inertia: [1, 1, 1]}}]\nactuators: [{joint: a, kp: 3, kv: 2}]"
    )
    assert world.actuators == (Actuator("a", 3.0, 2.0),)


FAULTS = [
    ("{type: px, limits: [1, -1]}", "bodies[0].joint.limits: [1, -1]: the lower limit must be below the upper one"),
    ("{type: px, limits: [1]}", "bodies[0].joint.limits: [low, high] is needed, found a list of 1"),
    ("{type: px, limits: 1}", "bodies[0].joint.limits: [low, high] is needed, found '1'"),
    ("{type: px, limits: [0, .nan]}", "bodies[0].joint.limits[1]: .nan is not a finite number"),
    ("{type: px, limits: [-1, 1], q: 2}", "bodies[0].joint.q: 2 is beyond the limits, -1 to 1"),
    ("{type: px, limits: [1, 2]}", "bodies[0].joint.limits: do not contain the initial position: 0 is beyond"),
    ("{type: spherical, limits: [-1, 1]}", "joint.limits: [-1, 1]: a ball has one limit, the angle from its neutral"),
    ("{type: spherical, limits: [0, 9]}", "joint.limits: [0, 9]: a ball has one limit"),
    ("{type: p3d, limits: [-1, 1]}", "joint.limits: a p3d joint has 3 parts (slide, slide, slide), found limits of 2"),
    ("{type: frozen, limits: [-1, 1]}", "joint.limits: a frozen joint does not move and has no limits"),
    (
        "{type: px, stop: {stiffness: 1}}",
        "joint.stop: a joint without limits has no stops; give it limits: [low, high]",
    ),
    ("{type: px, limits: [-1, 1], stop: {stiffness: 0}}", "joint.stop.stiffness: 0 is out of range; allowed: above 0"),
    ("{type: px, limits: [-1, 1], stop: {stifness: 1}}", "joint.stop.stifness: unknown key; did you mean stiffness?"),
    ("{type: px, friction_loss: -1}", "joint.friction_loss: -1 is out of range; allowed: 0 or more"),
    (
        "{type: px, mimic: {joint: leg}}",
        "joint.mimic.joint: 'leg' is no joint with one degree of freedom; did you mean led?",
    ),
    ("{type: px, mimic: {joint: a}}", "joint.mimic.joint: the joints follow each other in a circle: 'a' -> 'a'"),
    ("{type: px, mimic: {joint: led, offset: 1}}", "mimic.joint: 'a' starts at 0, and its mimic at 1; set its q"),
    ("{type: p3d, mimic: {joint: led}}", "joint.mimic: only a joint with one degree of freedom can follow another one"),
]


@pytest.mark.parametrize(("joint", "message"), FAULTS)
def test_what_is_wrong_with_a_joint_is_named_at_its_place(joint: str, message: str) -> None:
    inertial = "inertial: {mass: 1, inertia: [1, 1, 1]}"
    text = f"bodies:\n  - {{name: a, {inertial}, joint: {joint}}}\n  - {{name: led, joint: px, {inertial}}}\n"
    with pytest.raises(WorldError) as error:
        lay_out(loads(text))
    assert message in str(error.value)
    problem = error.value.problems[0]
    assert problem.where.line == 2
    assert problem.where.column > len("  - {name: a"), "at the key, not at the body"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "type: velocity, damping: 1, stiffness: 2",
            "w.yaml:1:63: actuators[0].stiffness: a velocity actuator has no stiffness",
        ),
        ("type: velocity", "w.yaml:1:13: actuators[0]: damping is missing"),
        ("stiffness: 1, speed: 0", "actuators[0].speed: 0 is out of range; allowed: above 0"),
        ("type: positon, stiffness: 1", "actuators[0].type: found 'positon'; allowed: position, velocity, effort"),
        ("kp: 1, stiffness: 1", "actuators[0].kp: is another name of stiffness, which is given, too"),
    ],
)
def test_what_is_wrong_with_an_actuator_is_named_at_its_place(keys: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"actuators: [{{joint: a, {keys}}}]\n")
    with pytest.raises(WorldError) as error:
        load(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            Body("a", "map", "px", inertial=INERTIAL, limits=np.array([1.0, 0.0])),
            "a: limits: .*the lower limit must be below",
        ),
        (
            Body("a", "map", "px", inertial=INERTIAL, limits=np.array([0.0, 1.0]), q=np.array([2.0])),
            "a: q: 2 is beyond the limits",
        ),
        (Body("a", "map", "px", inertial=INERTIAL, stop=Stop(1.0)), "a: stop: a joint without limits has no stops"),
        (
            Body("a", "map", "px", inertial=INERTIAL, limits=np.array([0, 1]), stop=Stop(-1.0)),
            "a: stop.stiffness: -1 is out of",
        ),
        (
            Body("a", "map", "px", inertial=INERTIAL, friction_loss=np.array([-1.0])),
            "a: friction_loss: .* zero or more",
        ),
        (Body("a", "map", "px", inertial=INERTIAL, mimic=Mimic("b")), "a: mimic.joint: 'b' is no joint"),
        (
            Body("a", "map", "p3d", inertial=INERTIAL, mimic=Mimic("a")),
            "a: mimic: only a joint with one degree of freedom can follow another one; a p3d joint cannot",
        ),
    ],
)
def test_joints_made_in_python_are_checked(body: Body, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(World("w", bodies=(body,)))
    with pytest.raises(ValueError, match=r"limits has shape \(3,\), needs \(1, 2\)"):
        Body("a", "map", "px", limits=np.array([1.0, 2.0, 3.0]))


def test_a_mimic_of_an_included_world_follows_the_included_joint(tmp_path: Path) -> None:
    inertial = "inertial: {mass: 1, inertia: [1, 1, 1]}"
    finger = f"{{name: left, joint: px, {inertial}}}"
    follower = f"{{name: right, joint: {{type: px, mimic: {{joint: left, multiplier: -1}}}}, {inertial}}}"
    (tmp_path / "gripper.yaml").write_text(f"bodies: [{finger}, {follower}]\n")
    (tmp_path / "w.yaml").write_text("include: [{file: gripper.yaml, prefix: hand}]\n")
    world = load(tmp_path / "w.yaml")
    assert world.bodies[1].mimic == Mimic("hand/left", -1.0)
    lay_out(world)


def test_values_of_joints_are_addressed_by_their_paths() -> None:
    body = Body("a", "map", "px", inertial=INERTIAL, limits=np.array([-1.0, 1.0]), stop=Stop(5.0))
    world = World("w", bodies=(body,)).with_values(
        {"bodies[a].joint.limits[1]": 2.0, "bodies[a].joint.stop.stiffness": 7.0}
    )
    assert world.bodies[0].limits is not None
    assert world.bodies[0].limits.tolist() == [[-1.0, 2.0]]
    assert world.at("bodies[a].joint.stop.stiffness") == 7.0
