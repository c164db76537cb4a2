"""Runs and bags served to Foxglove, as a client of its published protocol sees them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("foxglove", reason="needs foxglove-sdk")

from foxglove_client import Client, connected
from red_wall import WORLD
from robot_topics import a, written

from sim_node.session import Session
from sim_node.session.bag_server import BagServer
from sim_node.viewing.ports import PagePortInUse

SECONDS = 2


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "served.yaml").write_text(WORLD, encoding="utf-8")
    with Session(folder / "served.yaml", record=folder / "run", real_time_factor=0.0) as session:
        session.run(SECONDS)
    return folder / "run"


@pytest.fixture
def served(bag: Path) -> Iterator[BagServer]:
    server = BagServer(bag, 0, pytest.fail)
    server.start()
    yield server
    server.close()


def check_sensors(client: Client) -> None:
    """The picture of a red wall; points 2 m ahead; the cart goes 1 m/s; each as rosbags decodes it."""
    picture = client.of("/cart/cam/image_raw")[-1].message
    pixels = np.asarray(picture.data).reshape(picture.height, picture.width, 3)
    assert (picture.encoding, pixels.shape) == ("rgb8", (24, 32, 3))
    assert (pixels[..., 0] > 2 * pixels[..., 1].astype(int)).all()
    cloud = client.of("/cart/lidar/points")[-1].message
    points = np.frombuffer(cloud.data.tobytes(), "<f4").reshape(-1, cloud.point_step // 4)
    assert points[:, 0] == pytest.approx(2.0, abs=1e-3)
    for received in client.of("/tf"):
        [cart] = [each for each in received.message.transforms if each.child_frame_id == "cart/base_link"]
        stamp = cart.header.stamp.sec + cart.header.stamp.nanosec * 1e-9
        assert cart.transform.translation.x == pytest.approx(stamp, abs=1e-6)


def test_a_run_is_served_with_its_definitions(bag: Path) -> None:
    """The world is that of the bag, so that MuJoCo and its kernels are loaded once."""
    world = bag.parent / "served.yaml"
    with Session(world, foxglove=0, real_time_factor=0.0) as session:
        assert session.foxglove is not None
        with connected(session.foxglove.url) as client:
            session.run(0.0)
            client.subscribe("/cart/cam/image_raw", "/cart/lidar/points", "/tf", "/tf_static")
            client.until(lambda client: client.of("/tf_static"))
            session.run(1.0)
            client.until(lambda client: client.of("/cart/cam/image_raw") and client.of("/cart/lidar/points"))
            client.until(lambda client: client.of("/tf") and client.times and client.times[-1] >= 10**9 - 10**8)
        assert client.info["name"] == "served"
        assert client.channels["/tf"] | {"id": 0, "schema": ""} == {
            "id": 0, "topic": "/tf", "encoding": "cdr", "schemaName": "tf2_msgs/msg/TFMessage",
            "schema": "", "schemaEncoding": "ros2msg",
        }  # fmt: skip
        check_sensors(client)
        statics = client.of("/tf_static")[0].message.transforms
        [dock] = [each for each in statics if each.child_frame_id == "dock"]
        assert [getattr(dock.transform.translation, axis) for axis in "xyz"] == [1, 2, 3]


def test_a_bag_is_served_in_a_loop_and_latched_topics_to_late_clients(served: BagServer) -> None:
    with connected(served.url) as client:
        client.subscribe("/cart/cam/image_raw", "/cart/lidar/points", "/tf", "/tf_static")
        client.until(lambda client: all(map(client.of, ("/cart/cam/image_raw", "/cart/lidar/points", "/tf"))))
        check_sensors(client)
    with connected(served.url) as late:
        late.subscribe("/tf_static")
        late.until(lambda late: late.of("/tf_static"))


def test_it_listens_on_this_machine_alone(served: BagServer) -> None:
    assert served.url.startswith("ws://127.0.0.1:")
    port = int(served.url.rpartition(":")[2])
    with socket.socket() as elsewhere:
        # Linux has all of 127/8; a server on all addresses would answer on this one, too.
        assert elsewhere.connect_ex(("127.0.0.2", port)) != 0


def test_a_client_that_seeks_gets_the_messages_of_that_time(served: BagServer) -> None:
    assert served.control(False, 1.0, round(1.5e9)) == 1_500_000_000
    with connected(served.url) as client:
        client.subscribe("/tf")
        served.control(True, 1.0, round(1.5e9))
        client.until(lambda client: client.of("/tf"))
        stamp = client.of("/tf")[0].message.transforms[0].header.stamp
        assert 1.49 <= stamp.sec + stamp.nanosec * 1e-9 <= 1.8
    assert client.info["capabilities"] == ["time", "playbackControl", "assets"]
    assert client.info["dataStartTime"] == {"sec": 0, "nsec": 0}


def test_a_port_in_use_is_refused(served: BagServer, bag: Path) -> None:
    port = int(served.url.rpartition(":")[2])
    with pytest.raises(PagePortInUse, match=f"port {port}: another program listens on it"):
        BagServer(bag, port, pytest.fail)


def test_meshes_are_served_if_a_robot_description_names_them_and_other_files_are_not(tmp_path: Path) -> None:
    """Requests and answers as foxglove.sdk.v1 has them: fetchAsset, and opcode 4 with status 0 or 1."""
    (tmp_path / "mast.stl").write_bytes(b"solid mast")
    (tmp_path / "secret.stl").write_bytes(b"solid secret")
    uri, other = ((tmp_path / name).as_uri() for name in ("mast.stl", "secret.stl"))
    robot = a("std_msgs/String", data=f'<robot><link><mesh filename="{uri}"/></link></robot>')
    bag = written(tmp_path / "bag", [("/robot_description", 0.0, robot), ("/robot_description", 1.0, robot)])
    server = BagServer(bag, 0, pytest.fail)
    server.start()
    with connected(server.url) as client:
        client.subscribe("/robot_description")
        client.until(lambda client: client.of("/robot_description"))
        for number, wanted in enumerate((uri, other)):
            client.send({"op": "fetchAsset", "requestId": number, "uri": wanted})
        client.until(lambda client: len(client.assets) == 2)
    server.close()
    assert client.assets == {0: b"solid mast", 1: None}
