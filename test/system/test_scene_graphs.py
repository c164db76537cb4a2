"""A live scene graph: a simulation that publishes one, and a follower with /tf and a page, as real programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from forked_programs import program
from listening import listener
from page import Page, opened
from processes import SIM_NODE
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RATES = (
    "-p",
    "scene_graph_rate:=20.0",
    "-p",
    "rotor_frame_rate:=30.0",
    "-r",
    "/tf:=/sim/tf",
    "-r",
    "/tf_static:=/sim/s",
)
SEED = Path(__file__).parents[1] / "scene" / "seed_scene_graph.json"


def places_of_label(page: Page, text: str) -> set[tuple[float, ...]]:
    """Where a label has been so far."""
    nodes = {m["name"] for m in page.messages if m.get("props", {}).get("text") == text}
    moves = (m for m in page.messages if m["type"] == "SetPositionMessage" and m["name"] in nodes)
    return {tuple(m["position"]) for m in moves}


@pytest.mark.usefixtures("ros_domain")
def test_a_follower_has_the_frames_of_a_run_and_its_rotors_turn() -> None:
    with (
        program([SIM_NODE, "run", "quadrotor", "--ros-args", *RATES]) as running,
        program([SIM_NODE, "scene", "--live", "--view", "0"]) as following,
        listener() as ears,
    ):
        running.wait_for("stop         Ctrl-C")
        following.wait_for("following /scene_graph")
        theirs = ears.subscribe(TFMessage, "/sim/tf", 10)
        ours = ears.subscribe(TFMessage, "/tf", 10)

        def named(heard: list[tuple[float, TFMessage]], child: str) -> list[np.ndarray]:
            found = [t for _, message in heard for t in message.transforms if t.child_frame_id == child]
            return [np.array([t.transform.rotation.z, t.transform.rotation.w]) for t in found]

        def angles(turns: list[np.ndarray]) -> int:
            return len({turn.tobytes() for turn in turns})

        rotor = "drone/base_link/rotor_0"
        ears.spin_until(lambda: len(named(ours, rotor)) > 5 and len(named(theirs, rotor)) > 5, what="rotors on /tf")
        # Motors run up after a second; then no two messages have the same angle.
        ears.spin_until(lambda: min(angles(named(ours, rotor)), angles(named(theirs, rotor))) > 4, what="turning")
        for heard in (ours, theirs):
            assert np.linalg.norm(named(heard, rotor), axis=1) == pytest.approx(1.0)
        assert named(ours, "drone/base_link")
        page = re.search(r"http://\S+", following.output)
        assert page
        with opened(page[0]) as shown:
            shown.until(lambda page: len(places_of_label(page, "drone/base_link")) > 2)


@pytest.mark.usefixtures("ros_domain")
def test_aerosims_example_is_followed_and_other_texts_are_refused() -> None:
    with program([SIM_NODE, "scene", "--live", "--topic", "/aerosim/scene"]) as following, listener() as ears:
        following.wait_for("following /aerosim/scene")
        publisher = ears.node.create_publisher(String, "/aerosim/scene", LATCHED)
        heard = ears.subscribe(TFMessage, "/tf", 10)
        publisher.publish(String(data="{no scene"))
        following.wait_for("not followed: scene graph:1:2: not JSON: a key in double quotes is needed, found 'no'")
        scene = json.loads(SEED.read_text())
        position = scene["components"]["actor_state"]["entity_1"]["pose"]["transform"]["position"]
        position.update(x=10.0, y=20.0, z=-30.0)
        publisher.publish(String(data=json.dumps(scene)))
        ears.spin_until(lambda: bool(heard), what="transforms")
        found = {t.child_frame_id: t for t in heard[-1][1].transforms}
        assert set(found) >= {"generic_evtol_0", "generic_evtol_1", "rgb_camera_0", "generic_evtol_0/rotor_blade_01"}
        place = found["generic_evtol_1"].transform.translation
        # North 10, east 20, down -30.
        assert (place.x, place.y, place.z) == (20.0, 10.0, 30.0)
        assert found["rgb_camera_0"].header.frame_id == "generic_evtol_1"
