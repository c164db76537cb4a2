"""Images, messages, sensor plots, switches and the address of the page, as the page sees them."""

from __future__ import annotations

import asyncio
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import yaml
from page import Page, opened, told
from PIL import Image
from robot_topics import a, header, jpeg, transforms, written
from waiting import PATIENCE, until
from websockets.sync.client import connect

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.session.message_text import as_text
from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser.plots import signals_of
from sim_node.viewing.browser.view_sink import ViewSink
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import load

WORLD = """
world: test
time: {step: 0.01}
motions:
  - frame: cart
    keyframes: [{t: 0, position: [0, 0, 0]}, {t: 100, position: [100, 0, 0]}]
bodies:
  - {name: box, parent: cart, geometry: [{box: [0.2, 0.3, 0.4], color: [1, 0, 1]}]}
  - {name: post, geometry: [{box: [0.1, 0.1, 1]}]}
sensors:
  - {name: cart/imu, parent: cart, type: imu, rate: 100}
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    path = tmp_path / "test.yaml"
    path.write_text(WORLD, encoding="utf-8")
    with Session(path, view=0) as running:
        running.run(0.01)
        yield running


def url(session: Session) -> str:
    assert session.viewer is not None
    return str(session.viewer.url)


def choose(page: Page, label: str, value: object) -> None:
    page.send({"type": "GuiUpdateMessage", "uuid": page.element(label)["uuid"], "updates": {"value": value}})


def test_the_messages_of_a_run_are_what_its_topic_carries(session: Session) -> None:
    with opened(url(session)) as page:
        choose(page, "Topic", "/cart/imu/data_raw")
        page.until(lambda page: any("no message yet" in str(m) for m in page.all("GuiUpdateMessage")))
        session.run(0.5)
        page.until(lambda page: any("nanosec: 510000000" in str(m) for m in page.all("GuiUpdateMessage")))
        html = next(m["updates"]["content"] for m in page.all("GuiUpdateMessage") if "nanosec: 510000000" in str(m))
    kind, _, text = unescape(re.sub(r"</?pre[^>]*>", "", html)).partition("\n\n")
    message = yaml.safe_load(text)
    assert (kind, message["header"]["frame_id"]) == ("sensor_msgs/msg/Imu", "cart/imu")
    # It stands upright and goes at constant speed: gravity alone, and some noise.
    force = [message["linear_acceleration"][axis] for axis in "xyz"]
    assert force == pytest.approx([0.0, 0.0, 9.80665], abs=1.0)


def test_a_message_as_text_is_yaml_with_its_values() -> None:
    image = a("sensor_msgs/Image", header=header("camera", 1.5), encoding="mono8", data=np.arange(200, dtype=np.uint8))
    found = yaml.safe_load(as_text(image))
    assert found["header"] == {"stamp": {"sec": 1, "nanosec": 500_000_000}, "frame_id": "camera"}
    assert found["data"] == [*range(36), "..."]


def test_what_is_in_a_message_is_no_html(tmp_path: Path) -> None:
    messages = [("/text", 0.1 * k, a("std_msgs/String", data="<b>&```")) for k in range(5)]
    bag = written(tmp_path / "texts", [*messages, ("/tf", 0.0, transforms("map", "front", (1.0, 0.0, 0.0), 0.0))])
    viewer = Viewer(0, "test")
    view = BagView(bag, viewer, lambda text: None)
    view.start(paused=True)
    view.seek(3 * 10**8)
    with opened(viewer.url) as page:
        choose(page, "Topic", "/text")
        page.until(lambda page: any("&lt;b&gt;&amp;```" in str(m) for m in page.all("GuiUpdateMessage")))
        assert not any("<b>" in str(m) for m in page.messages)
    view.close()


def test_the_image_of_a_camera_is_in_the_panel(tmp_path: Path) -> None:
    messages = [("/tf", 0.1 * k, transforms("map", "front", (0.1 * k, 0.0, 0.0), 0.1 * k)) for k in range(10)]
    messages += [("/front/compressed", 0.1 * k, jpeg("front")) for k in range(10)]
    viewer = Viewer(0, "test")
    view = BagView(written(tmp_path / "cameras", messages), viewer, lambda text: None)
    view.start(paused=True)
    view.seek(5 * 10**8)
    with opened(viewer.url) as page:
        assert list(page.element("Camera")["props"]["options"]) == ["/front/compressed"]
        page.until(lambda page: any("32 x 16 pixels" in str(m) for m in page.messages))
        image = next(m for m in page.messages if m["type"] == "GuiImageMessage")
        # As it was when the page came, and what it became.
        updates = [image["props"], *(m["updates"] for m in page.all("GuiUpdateMessage", uuid=image["uuid"]))]
        data = [each["_data"] for each in updates if each.get("_data") is not None]
        shown = np.asarray(Image.open(io.BytesIO(bytes(data[-1]))))
    view.close()
    assert shown.shape == (16, 32, 3)
    assert np.abs(shown.astype(int) - [0, 200, 0]).max() <= 6


def test_signals_of_a_sensor_are_its_vectors_and_its_single_numbers() -> None:
    labels = ("rate_x", "rate_y", "rate_z", "pressure", "velocity_east", "velocity_up", "x")
    found = {name: signal.labels for name, signal in signals_of(labels).items()}
    assert found == {
        "rate": ("rate_x", "rate_y", "rate_z"),
        "pressure": ("pressure",),
        "velocity": ("velocity_east", "velocity_up"),
        "x": ("x",),
    }


def test_a_sensor_is_plotted(session: Session) -> None:
    with opened(url(session)) as page:
        choose(page, "Plot", "cart/imu")
        page.until(lambda page: any("force" in m["updates"].get("options", ()) for m in page.all("GuiUpdateMessage")))
        choose(page, "Signal", "force")
        choose(page, "Add plot", True)
        page.until(lambda page: any("cart/imu: force" in str(m) for m in page.messages))
        plot = next(m["uuid"] for m in page.messages if "cart/imu: force" in str(m.get("props")))
        session.run(1.0)

        def samples() -> Any:
            found = [m["updates"]["data"] for m in page.all("GuiUpdateMessage", uuid=plot) if "data" in m["updates"]]
            return found[-1] if found else None

        page.until(lambda page: samples() is not None and len(samples()[0]) >= 1)
        time_s, x, y, z = samples()
    assert (x[-1], y[-1], z[-1]) == pytest.approx((0.0, 0.0, 9.80665), abs=1.0)
    assert 0.0 < time_s[-1] <= 1.1


def test_a_frame_that_is_switched_off_takes_what_is_below_it_along(session: Session) -> None:
    with opened(url(session)) as page:
        node = next(
            str(m["name"])
            for m in page.all("BatchedMeshesMessage")
            if m["props"]["batched_colors"].reshape(-1, 3).tolist() == [[255, 0, 255]]
        )
        assert page.prop(node, "batched_scales") == pytest.approx([0.2, 0.3, 0.4])
        choose(page, "box", False)
        page.until(lambda page: np.all(page.prop(node, "batched_scales") < 1e-5))
        choose(page, "box", True)
        page.until(lambda page: page.prop(node, "batched_scales") == pytest.approx([0.2, 0.3, 0.4]))


def test_the_address_has_the_layout_and_sets_it(session: Session) -> None:
    """A page's script reads the layout, and sets what its address says; what nobody could choose is ignored."""
    with connect(url(session).replace("http", "ws") + "/layout") as script, opened(url(session)) as page:
        names = told(script, "names")
        assert {"follow", "names", "dark", "trails", "plots", "hide", "frame", "topic"} <= set(names)
        asked = {"follow": "cart", "dark": "1", "size": "99", "hide": "box", "frame": "post", "names": "nonsense"}
        script.send(json.dumps({"set": {**asked, "plots": "position (m) of cart|nonsense of cart", "unknown": "1"}}))
        page.until(lambda page: page.has("ThemeConfigurationMessage", dark_mode=True))
        page.until(lambda page: any("`post` in `map`" in str(m) for m in page.all("GuiUpdateMessage")))
        now: dict[str, str] = {}
        while "frame" not in now:
            now = told(script, "now")
        expected = {"follow": "cart", "dark": "1", "size": "5", "hide": "box", "frame": "post"}
        assert now == {**expected, "plots": "position (m) of cart"}


def test_what_an_address_says_before_the_world_is_drawn_is_set_once_it_is(tmp_path: Path) -> None:
    """`?dark=1` was lost, and the address cleared, when a page was quicker than the drawing."""
    path = tmp_path / "test.yaml"
    path.write_text(WORLD, encoding="utf-8")
    viewer = Viewer(0, "yard <&>")
    loop = None
    try:
        with connect(viewer.url.replace("http", "ws") + "/layout") as script, opened(viewer.url) as page:
            script.send(json.dumps({"set": {"dark": "1", "follow": "cart"}}))
            until(lambda: viewer.server.panels_page.layout.has_asked, "the server has it")
            sink = ViewSink(viewer)
            loop = Loop(Simulation(load(path)), (sink,), paused=True)
            sink.steer(loop)
            loop.start()
            page.until(lambda page: page.has("ThemeConfigurationMessage", dark_mode=True))
            assert told(script, "now") == {"dark": "1", "follow": "cart"}
        with urlopen(viewer.url) as answer:
            assert b"<title>yard &lt;&amp;&gt;</title>" in answer.read()
    finally:
        viewer.close()
        if loop is not None:
            loop.stop()


def test_browsers_find_the_icon_of_each_page(session: Session) -> None:
    """A page of panels that named none had them ask for /favicon.ico, once, and say 404 in their console."""
    for page in ("/", "/plain", "/?layout=scene"):
        with urlopen(url(session) + page) as answer:
            assert re.search(rb'<link\s+rel="icon"\s+href="data:image/svg', answer.read())
    with urlopen(f"{url(session)}/favicon.ico") as answer:
        assert answer.headers["Content-Type"] == "image/svg+xml"
        assert ET.fromstring(answer.read()).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_copied_link_has_the_camera_of_its_page(session: Session) -> None:
    with connect(url(session).replace("http", "ws") + "/layout") as script, opened(url(session)) as page:
        script.recv(10.0)
        choose(page, "Copy link", True)
        camera = told(script, "camera")
    # As `opened` sent it.
    assert camera["initialCameraPosition"] == "0,0,0"
    assert camera["initialCameraLookAt"] == "0,0,1"
    assert camera["initialCameraFov"] == "1"


def test_nothing_waits_for_pages_that_are_closed(session: Session) -> None:
    """Their scripts' sockets once kept the server for 7 s after Ctrl-C, and were polled for ever."""
    assert session.viewer is not None
    server = session.viewer.server._websock_server
    loop, thread = server._background_event_loop, server._server_thread

    def tasks() -> int:
        async def count() -> int:
            return len(asyncio.all_tasks())

        return asyncio.run_coroutine_threadsafe(count(), loop).result()

    before = tasks()
    for _ in range(3):
        with connect(url(session).replace("http", "ws") + "/layout") as script:
            script.recv(10.0)
            assert tasks() > before
    until(lambda: tasks() == before, "the sockets are forgotten")
    with connect(url(session).replace("http", "ws") + "/layout") as script:
        script.recv(10.0)
        session.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_layout_is_for_pages_of_this_machine_only(session: Session) -> None:
    from websockets.exceptions import InvalidStatus

    with (
        pytest.raises(InvalidStatus),
        connect(url(session).replace("http", "ws") + "/layout", additional_headers={"Origin": "http://example.com"}),
    ):
        pass
