"""SDF over the real rclpy: names of frames and topics, and a chain of plug-ins over the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

from forked_programs import program
from listening import Listener, listener
from processes import sim_node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import Imu
from std_msgs.msg import Empty
from tf2_msgs.msg import TFMessage

MASS = "<inertial><mass>{}</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
BOX = '<collision name="{}"><geometry><box><size>0.4 0.4 0.4</size></box></geometry></collision>'
# A carrier falls 0.45 m with its load 1 m above it. 0.25 s after it has touched the ground, it lets the load go.
WORLD = f"""<sdf version="1.9"><world name="chain">
<model name="ground"><static>true</static><link name="g"><collision name="c"><geometry><plane/></geometry></collision>
</link></model>
<model name="carrier"><pose>0 0 0.65 0 0 0</pose>
<link name="base">{MASS.format(20)}{BOX.format("c")}
<sensor name="contacts" type="contact"><update_rate>50</update_rate><contact><collision>c</collision></contact></sensor>
<sensor name="imu" type="imu"><update_rate>50</update_rate></sensor></link>
<model name="mast"><pose>0.1 0 0.3 0 0 0</pose><link name="top">{MASS.format(0.1)}</link></model>
<joint name="mount" type="fixed"><parent>base</parent><child>mast::top</child></joint>
<plugin filename="gz-sim-touchplugin-system" name="gz::sim::systems::TouchPlugin"><target>ground</target>
<time>0.25</time><namespace>carrier</namespace><enabled>true</enabled></plugin>
<plugin filename="gz-sim-detachable-joint-system" name="gz::sim::systems::DetachableJoint">
<parent_link>base</parent_link><child_model>load</child_model><child_link>box</child_link><topic>/load/detach</topic></plugin></model>
<model name="load"><pose>0 0 1.65 0 0 0</pose><link name="box">{MASS.format(1)}{BOX.format("c")}</link></model>
<plugin filename="gz-sim-triggered-publisher-system" name="gz::sim::systems::TriggeredPublisher">
<input type="gz.msgs.Boolean" topic="/carrier/touched"><match>data: true</match></input>
<output type="gz.msgs.Empty" topic="/load/detach"/><output type="gz.msgs.Empty" topic="/landed"/></plugin>
</world></sdf>"""
# Who listens late finds static transforms, too.
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Listener]:
    with listener("watcher") as found:
        yield found


class Frames:
    """The heights of frames in their parents, in the order of their arrival."""

    def __init__(self, graph: Listener) -> None:
        self._got = [
            graph.subscribe(TFMessage, topic, profile) for topic, profile in (("/tf", 100), ("/tf_static", LATCHED))
        ]

    def heights(self, frame: str, parent: str) -> list[float]:
        return [
            each.transform.translation.z
            for got in self._got
            for _, message in got
            for each in message.transforms
            if (each.child_frame_id, each.header.frame_id) == (frame, parent)
        ]


def test_a_touch_triggers_that_a_load_is_detached(graph: Listener, tmp_path: Path) -> None:
    (tmp_path / "chain.sdf").write_text(WORLD, encoding="utf-8")
    (tmp_path / "main.yaml").write_text("world: w\ninclude: [{file: chain.sdf, topics: gazebo}]\n", encoding="utf-8")
    frames = Frames(graph)
    landed = graph.subscribe(Empty, "/landed", 10)
    imu = graph.subscribe(Imu, "/world/chain/model/carrier/link/base/sensor/imu/imu", qos_profile_sensor_data)
    with program(sim_node("run", tmp_path / "main.yaml", "--paused")) as run:
        run.wait_for("stop ")
        graph.spin_until(lambda: frames.heights("carrier/mast/top", "carrier/base"), "the nested link")
        # Both ends of the touch are in the run: it is let go when the graph is there.
        graph.spin_until(lambda: graph.node.count_subscribers("/carrier/base/touch/touched"), "the trigger")
        graph.spin_until(lambda: graph.node.count_publishers("/landed"), "what the trigger sends")
        with program(sim_node("resume")) as resumed:
            assert resumed.wait() == 0
        graph.spin_until(lambda: landed, "the message of the trigger")

        def loose() -> list[float]:
            return frames.heights("load/box", "map")

        graph.spin_until(lambda: loose() and loose()[-1] < 0.7, "the load to lie on its carrier")
        assert len(landed) == 1
        # It was carried to 1.2 m, and let go there.
        assert min(loose()) > 0.55
        graph.spin_until(lambda: imu, "the sensor, by its name in Gazebo")
        assert imu[0][1].header.frame_id == "carrier/base/imu"
