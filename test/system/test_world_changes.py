"""`sim_node spawn`, `remove`, `attach`, `detach` and `set` against a running node, without further messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

from claims import free_instance
from forked_programs import program
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from processes import sim_node
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

YARD = """
world: yard
physics: {gravity: [0, 0, 0]}
bodies:
  - {name: crane, geometry: [{box: [1, 1, 1], mass: 3}]}
  - {name: arm, parent: crane, joint: {type: hinge, axis: [0, 0, 1]}, geometry: [{box: [2, 0.1, 0.1], mass: 1}]}
"""
BOX = "world: box\nbodies:\n  - {name: body, joint: free, geometry: [{box: [0.2, 0.2, 0.2], mass: 1}]}\n"


def ended(*words: str | Path) -> tuple[int, str]:
    with program(sim_node(*words)) as running:
        return running.wait(), running.output


def change(ears: Listener, **values: object) -> tuple[bool, str]:
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    request = SetParametersAtomically.Request(parameters=parameters)
    result = ears.call(SetParametersAtomically, "/simulation/change", request).result
    return result.successful, result.reason


@pytest.mark.usefixtures("ros_domain")
def test_the_world_of_a_node_is_changed(tmp_path: Path) -> None:
    (tmp_path / "yard").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "yard" / "yard.yaml").write_text(YARD)
    for folder in (tmp_path, tmp_path / "parts"):
        (folder / "box.yaml").write_text(BOX)
    command = sim_node("run", tmp_path / "yard" / "yard.yaml", "--allow", tmp_path / "parts")
    with program(command) as node, listener() as ears:
        node.wait_for("stop         Ctrl-C")
        code, said = ended("spawn", tmp_path / "parts" / "box.yaml", "--name", "box1", "--pose", "3,0,0,0,0,90")
        assert (code, said) == (0, "spawned box1")
        code, said = ended("spawn", tmp_path / "box.yaml", "--name", "box2")
        assert code == 2
        assert "outside the folders that this run may read" in said

        moving = ears.subscribe(TFMessage, "/tf", 10)

        def comes_to(there: Callable[[float, float, float], bool]) -> None:
            """Waits until box1/body is somewhere: transforms from before a change may still be on their way."""

            def arrived() -> bool:
                places = [
                    t.transform.translation for _, m in moving[-1:] for t in m.transforms if "box1" in t.child_frame_id
                ]
                return any(there(place.x, place.y, place.z) for place in places)

            ears.spin_until(arrived, what=f"box1/body in {moving[-1:]}")

        comes_to(lambda x, y, z: (x, y, z) == (3.0, 0.0, 0.0))
        assert change(ears, verb="set", what=["box1"], pose=[5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]) == (True, "set box1")
        comes_to(lambda x, y, z: (x, y, z) == (5.0, 0.0, 0.0))
        assert change(ears, verb="attach", name="box1", parent="arm") == (True, "attached box1 to arm")
        assert change(ears, verb="set", what=["arm=0.5"]) == (True, "set arm")
        assert change(ears, verb="detach", name="box1/body") == (True, "detached box1/body")
        comes_to(lambda x, y, z: y > 2.0)  # it was turned with the arm: 5 m times the sine of 0.5
        refused = [
            change(ears, verb="fly"),
            change(ears, verb="remove"),
            change(ears, verb="remove", name="box9"),
            change(ears, verb="spawn", nam="x"),
            change(ears, verb="attach", name="arm", parent="crane"),
            change(ears, verb="set", what=["box1"], pose=[1.0, 2.0]),
            change(ears, verb="set", what=["arms=0.5"]),
            change(ears, verb="spawn", file="/etc/passwd", name="x"),
        ]
        assert not any(done for done, _ in refused)
        assert [reason.partition(";")[0] for _, reason in refused[:4]] == [
            "verb 'fly'",
            "remove needs name",
            "no entity 'box9'",
            "spawn has no 'nam'",
        ]
        assert change(ears, verb="remove", name="box1") == (True, "removed box1")
        assert node.stop() == 0
        assert "Traceback" not in node.output


SCOUT = """
world: scout
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
time: {{step: 0.004}}
vehicles:
  - name: scout
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}}}
    pilot: {{take_off: 3, waypoints: [{{position: [0, 0, 3]}}]}}
"""
FIELD = SCOUT.partition("vehicles")[0].format() + "bodies: [{name: ground, geometry: [{plane: true}]}]\n"


@pytest.mark.usefixtures("ros_domain")
def test_a_vehicle_with_an_autopilot_joins_is_bridged_and_leaves(tmp_path: Path) -> None:
    (tmp_path / "field.yaml").write_text(FIELD)
    (tmp_path / "scout.yaml").write_text(SCOUT.format(instance=free_instance()))
    (tmp_path / "px4.yaml").write_text(SCOUT.format(instance=0).replace("mavlink_builtin", "px4"))
    with program(sim_node("run", tmp_path / "field.yaml", "--speed", "2")) as node, listener() as ears:
        node.wait_for("stop         Ctrl-C")
        assert change(ears, verb="spawn", file=str(tmp_path / "scout.yaml"), name="one") == (True, "spawned one")
        poses = ears.subscribe(PoseStamped, "/one/scout/local_position/pose", qos_profile_sensor_data)
        ears.spin_until(lambda: poses and poses[-1][1].pose.position.z > 2.5, what="it takes off to 3 m")
        code, said = change(ears, verb="spawn", file=str(tmp_path / "px4.yaml"), name="two")
        assert not code
        assert "mavlink_builtin that the run starts" in said
        assert change(ears, verb="remove", name="one") == (True, "removed one")
        ears.spin_until(
            lambda: ears.node.count_publishers("/one/scout/local_position/pose") == 0, what="its bridge has ended"
        )
        assert node.stop() == 0
        assert "Traceback" not in node.output
