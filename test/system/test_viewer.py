"""The viewer in a real browser: what is on the screen, what the buttons do, what goes over the network, how it ends."""

from __future__ import annotations

import io
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

import av
import numpy as np
import psutil
import pytest
from claims import can_be_bound
from forked_programs import program
from nightly import only
from PIL import Image
from processes import Program, sim_node
from robot_topics import a, transforms, written
from waiting import PATIENCE, until, until_ended

from sim_node.session import Session
from sim_node.viewing.browser.viewer import Viewer

# A drone like no other thing in the picture, at 0.5 m/s along a line. It stops before it is behind the page's panel:
# on a busy machine much time passes before a click on Pause takes effect.
START, VELOCITY, END_S, RADIUS = np.array([-2.0, 1.0, 1.5]), np.array([0.4, 0.0, 0.3]), 5.0, 0.4
WORLD = f"""
world: flight
time: {{step: 0.01}}
motions:
  - frame: drone
    keyframes:
      - {{t: 0, position: {START.tolist()}}}
      - {{t: {END_S}, position: {(START + END_S * VELOCITY).tolist()}}}
bodies:
  - {{name: ball, parent: drone, geometry: [{{sphere: {RADIUS}, color: [1, 0, 1]}}]}}
  - {{name: ground, geometry: [{{plane: true}}]}}
"""
# The camera that the test sets: where, looking where, its angle of view upright, rad.
LOG = [(2.0, "battery low"), (4.0, "motor lost")]
TOGGLE = re.compile("^(Play|Pause)$")
# Of pages: as wide as leaves the drone beside the panel. Each picture is drawn in software, pixel by pixel.
SIZE = (720, 400)
EYE, TARGET, FIELD_OF_VIEW = np.array([0.0, -9.0, 3.0]), np.array([0.0, 0.0, 2.0]), 0.8


class Seen(NamedTuple):
    """The middle of the drone in the picture, and how wide it is, pixels."""

    x: float
    y: float
    width: float


@pytest.fixture
def world(tmp_path: Path) -> Path:
    path = tmp_path / "flight.yaml"
    path.write_text(WORLD, encoding="utf-8")
    return path


def url_of(viewer: Program) -> str:
    viewer.wait_for("viewer: http://127.0.0.1:")
    found = re.search(r"http://127\.0\.0\.1:\d+", viewer.output)
    assert found
    return found[0]


def opened(
    browser: Any, url: str, asked: list[str] | None = None, size: tuple[int, int] = SIZE, drawn: bool = True
) -> Any:
    """A page whose camera is the test's; `asked` gets the addresses that it asks for."""
    page = browser.new_page(drawn=drawn, viewport={"width": size[0], "height": size[1]})
    if asked is not None:
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda websocket: asked.append(websocket.url))
    page.set_default_timeout(1000.0 * PATIENCE)  # Playwright's own 30 s pass on a busy machine
    eye, target = (",".join(str(part) for part in place.tolist()) for place in (EYE, TARGET))
    camera = f"initialCameraPosition={eye}&initialCameraLookAt={target}&initialCameraFov={FIELD_OF_VIEW}"
    page.goto(f"{url}/?{camera}")
    page.get_by_role("button", name=TOGGLE).wait_for()
    return page


def seen(page: Any) -> Seen | None:
    """Where there is magenta."""
    return magenta(picture(page))


def magenta(pixels: np.ndarray) -> Seen | None:
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    rows, columns = np.nonzero((red > 90) & (blue > 90) & (green < 0.5 * red) & (green < 0.5 * blue))
    if not len(rows):
        return None
    (left, right), (top, bottom) = np.percentile(columns, (0.5, 99.5)), np.percentile(rows, (0.5, 99.5))
    return Seen(0.5 * (left + right), 0.5 * (top + bottom), right - left + 1)


def projected(page: Any, position: np.ndarray) -> Seen:
    """A pinhole camera: a ball's middle, and its width, in pixels of the canvas."""
    framebuffer = page.locator("canvas:visible").first.bounding_box()
    forward = (TARGET - EYE) / np.linalg.norm(TARGET - EYE)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    focal = 0.5 * framebuffer["height"] / np.tan(0.5 * FIELD_OF_VIEW)
    ray = position - EYE
    depth = ray @ forward
    return Seen(
        framebuffer["x"] + 0.5 * framebuffer["width"] + focal * (ray @ right) / depth,
        framebuffer["y"] + 0.5 * framebuffer["height"] + focal * (ray @ down) / depth,
        2.0 * focal * RADIUS / depth,
    )


def settled(page: Any) -> Seen:
    """What is seen when two pictures in a row are alike."""
    before = None
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = seen(page)
        if now is not None and now == before:
            return now
        before = now
        page.wait_for_timeout(250)
    raise AssertionError("the picture does not come to rest")


def assert_seen_at(page: Any, position: np.ndarray) -> Seen:
    found, expected = settled(page), projected(page, position)
    assert found.width == pytest.approx(expected.width, rel=0.2)
    assert (found.x, found.y) == pytest.approx((expected.x, expected.y), abs=4.0)
    return found


def picture(page: Any) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def assert_sky_and_ground(page: Any) -> None:
    """The sky is bluer than the ground."""
    pixels = picture(page)
    places = [projected(page, place) for place in (TARGET + np.array([0, 0, 3.2]), START * [-0.5, 1, 0])]
    sky, ground = (pixels[int(at.y) - 3 : int(at.y) + 4, int(at.x)].mean(axis=0) for at in places)
    assert sky[2] - sky[0] > ground[2] - ground[0] + 8.0


def assert_shadow_below(page: Any, position: np.ndarray) -> None:
    """Without shadows, there is light where one was: viser's light is 16 degrees from overhead.

    The shadow is thus up to 0.43 m, three quarters of its width, beside the foot of the plumb line. It is about 18 of
    255 darker than the ground, and the picture of what rests does not change at all. Seen from 16 degrees above, its
    ellipse has 0.22 of the area of the square around it.
    """
    shaded = picture(page)
    page.get_by_role("checkbox", name="Shadows").click()
    below = projected(page, position * [1, 1, 0])
    left, right = (int(below.x + side * 1.5 * below.width) for side in (-1, 1))
    top, bottom = (int(below.y + side * 0.5 * below.width) for side in (-1, 1))
    end, changed = time.monotonic() + PATIENCE, np.zeros((0, 2), dtype=np.intp)
    while len(changed) < 0.11 * below.width**2 and time.monotonic() < end:
        page.wait_for_timeout(250)
        changed = np.argwhere((picture(page) - shaded).min(axis=2)[top:bottom, left:right] > 8)
    assert len(changed) >= 0.11 * below.width**2
    middle = changed.mean(axis=0) + (top, left)
    assert middle == pytest.approx((below.y, below.x), abs=0.75 * below.width)


def casts(page: Any) -> bool:
    """Whether a light of the scene casts shadows."""
    return bool(page.evaluate("__viserMutable.scene.children.some(each => each.isDirectionalLight && each.castShadow)"))


def shown_time(page: Any, until: Callable[[float, str], bool]) -> float:
    """The time at the foot, s, once something is true of it and the words behind it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        text = page.locator("#foot").inner_text()
        found = re.search(r"(\d+\.\d\d) s(.*)", text, re.DOTALL)
        if found and until(float(found[1]), found[2]):
            return float(found[1])
        page.wait_for_timeout(100)
    raise AssertionError(f"waited in vain; the foot says {text!r}")


# The scene is drawn in software, which takes most of a minute: make test presses these buttons on a page that is not
# drawn, below, and compares drawn ones with their pictures in test_first_pictures.py.
@pytest.mark.nightly
def test_the_drone_is_on_the_pixels_where_it_is_and_keys_are_those_of_video_players(world: Path, browser: Any) -> None:
    with program(sim_node("view", world, "--port", "0", "--paused")) as viewer:
        url = url_of(viewer)
        asked: list[str] = []
        page = opened(browser, url, asked)
        begin = assert_seen_at(page, START)

        page.get_by_role("button", name="Play").click()
        # Without a graphics card, a page has a quarter of the pixels while something moves.
        page.wait_for_function("__viserMutable.canvas.width === innerWidth / 2")
        shown_time(page, lambda time_s, _: time_s > 2.0)
        page.get_by_role("button", name="Pause").click()
        time_s = shown_time(page, lambda _, words: "paused" in words)
        page.wait_for_function("__viserMutable.canvas.width === innerWidth")
        there = assert_seen_at(page, START + VELOCITY * min(time_s, END_S))
        assert there.x > begin.x + 30.0
        assert there.y < begin.y - 20.0
        page.wait_for_timeout(1000)
        assert seen(page) == there

        page.get_by_role("button", name="Reset").click()
        shown_time(page, lambda time_s, _: time_s == 0.0)
        assert_seen_at(page, START)

        assert_sky_and_ground(page)
        # It has no shadows either, until it is told otherwise.
        quality = page.get_by_role("button", name="Draw less")
        assert quality.get_attribute("title").startswith("no graphics card: ")
        assert (quality.get_attribute("aria-pressed"), casts(page)) == ("true", False)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("q")
        page.wait_for_function("!document.querySelector('#foot .on[aria-label=\"Draw less\"]')")
        assert (quality.get_attribute("aria-pressed"), "quality=full" in page.url) == ("false", True)
        assert_shadow_below(page, START)

        # Nothing but this machine was asked for anything.
        hosts = {urlparse(each.removeprefix("blob:")).netloc for each in asked if not each.startswith("data:")}
        assert hosts == {urlparse(url).netloc}

        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("q")
        page.wait_for_selector('#foot .on[aria-label="Draw less"]')
        page.keyboard.press(".")
        step = shown_time(page, lambda time_s, words: time_s > 0.0 and "paused" in words)
        assert step == 0.02  # a sixtieth of a second, in whole steps of the world
        page.keyboard.press("?")
        page.get_by_text("play or pause").wait_for()
        page.keyboard.press("Escape")
        page.get_by_text("play or pause").wait_for(state="hidden")
        page.keyboard.press(" ")
        shown_time(page, lambda time_s, words: time_s > 1.0 and "Live" in words)
        page.keyboard.press("Home")
        assert shown_time(page, lambda _, words: "looking back, paused" in words) < 1.0
        page.keyboard.press("l")
        shown_time(page, lambda time_s, words: time_s > 1.0 and "looking back" not in words)
        page.keyboard.press("k")
        shown_time(page, lambda _, words: "paused" in words)
        assert viewer.stop(signal.SIGINT) == 0, viewer.output
        page.get_by_text("ended").wait_for()


# The scene is drawn in software, which takes most of a minute: make test presses these buttons on a page that is not
# drawn, below, and compares drawn ones with their pictures in test_first_pictures.py.
@pytest.mark.nightly
def test_what_a_page_shows_is_saved_as_pictures_and_films(world: Path, browser: Any, tmp_path: Path) -> None:
    """The ball of a picture is where it is on the screen; in a film it goes as far as on the screen meanwhile."""
    with program(sim_node("view", world, "--port", "0", "--paused")) as viewer:
        page = opened(browser, url_of(viewer))
        begin = assert_seen_at(page, START)
        width = page.locator("canvas:visible").first.bounding_box()["width"]
        with page.expect_download() as saved:
            page.keyboard.press("p")
        assert saved.value.suggested_filename == "flight 0.00 s.png"
        pixels = np.asarray(Image.open(saved.value.path()).convert("RGB")).astype(int)
        scale, found = pixels.shape[1] / width, magenta(pixels)
        assert found is not None
        assert (found.x / scale, found.y / scale) == pytest.approx((begin.x, begin.y), abs=4.0)

        page.get_by_role("button", name="Film").click()
        shown_time(page, lambda _, words: "filming" in words)
        page.get_by_role("button", name="Play").click()
        shown_time(page, lambda time_s, _: time_s > END_S)
        end = assert_seen_at(page, START + END_S * VELOCITY)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Film").click()
        saved.value.save_as(tmp_path / saved.value.suggested_filename)
        with av.open(str(tmp_path / saved.value.suggested_filename)) as film:
            frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
        assert {frame.shape for frame in frames} == {pixels.shape}
        shown = [each.x / scale for each in map(magenta, frames) if each is not None]
        assert len(shown) >= 3
        assert np.diff(shown).min() > -4.0
        assert shown[-1] - shown[0] == pytest.approx(end.x - begin.x, abs=8.0)


def foreign_transform(parent: str, child: str, position: np.ndarray, at_s: float) -> Any:
    """A message of ROS 2 itself."""
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage

    one = TransformStamped(child_frame_id=child)
    one.header.frame_id, one.header.stamp.sec = parent, int(at_s)
    moved = one.transform
    moved.translation.x, moved.translation.y, moved.translation.z = map(float, position)
    moved.rotation.w = 1.0
    return TFMessage(transforms=[one])


def test_a_world_a_bag_and_the_graph_are_one_scene(world: Path, browser: Any, tmp_path: Path, ros_domain: int) -> None:
    """The ball of the world is where the bag has its frame, and once a foreign node sends that, where that has it.

    Stamps of the bag begin at zero; those of the node are of the wall clock.
    """
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from listening import listener
    from tf2_msgs.msg import TFMessage

    there = START + [1.5, 0.0, 0.5]
    moves = [("/tf", 0.1 * k, transforms("map", "drone", tuple(there.tolist()), 0.1 * k)) for k in range(20)]
    bag = written(tmp_path / "run", moves)
    with program(sim_node("view", world, bag, "--live", "--port", "0", "--paused")) as viewer:
        page = opened(browser, url_of(viewer))
        assert_seen_at(page, there)
        assert page.get_by_role("slider", name="Time").count() == 1
        live = there + [-1.0, 0.0, 0.5]
        with listener("foreign") as foreign:
            publisher = foreign.node.create_publisher(TFMessage, "/tf", 10)

            def is_there() -> bool:
                publisher.publish(foreign_transform("map", "drone", live, time.time()))
                found, expected = seen(page), projected(page, live)
                return found is not None and (found.x, found.y) == pytest.approx((expected.x, expected.y), abs=5.0)

            foreign.spin_until(is_there, "the ball where the graph has it")
        assert viewer.stop(signal.SIGINT) == 0, viewer.output
        assert "Traceback" not in viewer.output
        shared = "flight.yaml and run both have the frame drone; poses are those of run"
        assert viewer.output.count(shared) == 1


# Takes seconds in a browser: make test has one page of a bag, which Ctrl-C ends, below.
@pytest.mark.nightly
def test_pages_come_and_go_and_ctrl_c_ends_all(world: Path, browser: Any) -> None:
    with program(sim_node("run", world, "--no-ros", "--view", "0")) as viewer:
        url = url_of(viewer)
        first, second = (opened(browser, url, size=(400, 300), drawn=False) for _ in range(2))
        for page in (first, second):
            shown_time(page, lambda time_s, _: time_s > 0.5)
        first.close()
        gone_s = shown_time(second, lambda time_s, _: True)
        shown_time(second, lambda time_s, _: time_s > gone_s)
        family = [psutil.Process(viewer.process.pid), *psutil.Process(viewer.process.pid).children(recursive=True)]
        code = viewer.stop(signal.SIGINT)
        assert code == 0, viewer.output
        assert "Traceback" not in viewer.output
        until_ended(*family)
    assert can_be_bound(socket.SOCK_STREAM, int(url.rpartition(":")[2]))


# Takes seconds in a browser: make test has a page that plays and is saved, and one of three sources.
@pytest.mark.nightly
def test_a_camera_looks_along_axes_with_any_angle_at_what_is_clicked(world: Path, browser: Any) -> None:
    """Each place is that of a pinhole camera. The corner has the axes as seen from infinitely far away."""
    with program(sim_node("view", world, "--port", "0", "--paused")) as viewer:
        page = opened(browser, url_of(viewer))
        assert_seen_at(page, START)
        forward = (TARGET - EYE) / np.linalg.norm(TARGET - EYE)
        right = np.array([1.0, 0.0, 0.0])
        corner = middle_of(page.locator("#triad"))
        tips = {name: middle_of(page.get_by_role("button", name=f"Look along {name}")) - corner for name in "xyz"}
        for name, axis in zip("xyz", np.eye(3), strict=True):
            as_seen = [right @ axis, np.cross(forward, right) @ axis]
            assert tips[name] == pytest.approx(tips["x"][0] * np.array(as_seen), abs=1.0)

        degrees = page.get_by_role("textbox", name="Field of view (°)")
        degrees.fill("30")
        degrees.press("Enter")
        page.wait_for_function("Math.abs(__viserMutable.camera.fov - 30) < 1e-3")
        assert "fov=30" in page.url
        box = page.locator("canvas:visible").first.bounding_box()
        focal = 0.5 * box["height"] / np.tan(np.radians(15.0))
        middle = middle_of(page.locator("canvas:visible").first)
        distance = float(np.linalg.norm(TARGET - EYE))
        offset = START - TARGET
        look_along(page, "z")
        along = focal / (distance - offset[2])
        found = seen_beside(page, *(middle + along * offset[:2] * [1, -1]))
        # From the other end of x, the west, north is on the left.
        look_along(page, "x")
        look_along(page, "x")
        along = focal / (distance + offset[0])
        found = seen_beside(page, *(middle + along * offset[1:] * [-1, -1]))

        # A double click brings the ball into the middle of what the panel leaves free.
        page.mouse.dblclick(found.x, found.y)
        panel = page.get_by_role("tablist").first.bounding_box()
        seen_beside(page, 0.5 * (box["x"] + panel["x"]), 0.5 * box["height"], within=12.0)
        assert viewer.stop(signal.SIGINT) == 0, viewer.output


# Takes seconds in a browser: make test has a page that plays and is saved, and one of three sources.
@pytest.mark.nightly
def test_the_axes_in_the_corner_give_way_to_labels(browser: Any) -> None:
    """To one that is in the middle of them, from where the camera is."""
    with Session("quadrotor", view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        page = browser.new_page(drawn=False, viewport={"width": 1100, "height": 650})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(session.viewer.url)
        triad = page.locator("#triad")
        page.locator("#triad button.x").wait_for()
        at = middle_of(triad)
        label = session.viewer.server.scene.add_label("/world/names/999", "there")

        def is_above() -> bool:
            label.position = page.evaluate(BEHIND, at.tolist())
            return bool(middle_of(triad)[1] < at[1] - 40.0)

        until(is_above, "the axes to be above the label")
        label.remove()
        until(lambda: middle_of(triad) == pytest.approx(at, abs=0.5), "the axes in their corner again")


# Takes seconds in a browser: make test has a page that plays and is saved, and one of three sources.
@pytest.mark.nightly
def test_large_clouds_are_thinned_while_something_moves(browser: Any) -> None:
    """Where there is no graphics card; a picture that stands has all points."""
    with Session("quadrotor", view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        points = np.random.default_rng(1).uniform(-5.0, 5.0, (250_000, 3)).astype(np.float32)
        session.viewer.server.scene.add_point_cloud("/world/points", points, colors=(0, 0, 0), point_size=0.01)
        page = browser.new_page(drawn=False, viewport={"width": 400, "height": 300})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(f"{session.viewer.url}/?quality=low")
        page.locator("#triad button.x").wait_for()
        page.evaluate(
            "setInterval(() => window.turning && simCamera.from([Math.sin(turning), Math.cos(turning++), 0]), 100)"
        )
        page.locator('#foot button[title*="100,000 points of a cloud while it moves"]').wait_for(state="attached")
        page.evaluate("window.turning = 1")
        page.wait_for_function(DRAWN, arg=100_000)
        page.keyboard.press("q")
        page.wait_for_function(DRAWN, arg=None)
        page.keyboard.press("q")
        page.wait_for_function(DRAWN, arg=100_000)
        page.evaluate("window.turning = 0")
        page.wait_for_function(DRAWN, arg=None)


# Whether so many points of the cloud are drawn; null for all.
DRAWN = """most => {
    let drawn;
    __viserMutable?.nodeRefFromName["/world/points"]?.traverse(({ isPoints, geometry }) => {
        if (isPoints) drawn = geometry.drawRange.count;
    });
    return drawn === (most ?? Infinity);
}"""


# A point of the fixed frame that is seen at a pixel.
BEHIND = """([x, y]) => {
    const { canvas, camera, matrix } = simCamera.corner();
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return camera.position.clone().set(2 * (x - left) / width - 1, 1 - 2 * (y - top) / height, 0.9)
        .unproject(camera).applyMatrix4(matrix.clone().invert()).toArray();
}"""


def look_along(page: Any, axis: str) -> None:
    """Its button is in the middle then; before, the buttons move, and another one may come under the mouse."""
    tip, corner = page.get_by_role("button", name=f"Look along {axis}"), middle_of(page.locator("#triad"))
    tip.click()
    until(lambda: middle_of(tip) == pytest.approx(corner, abs=1.0), f"the camera to look along {axis}")


def middle_of(element: Any) -> np.ndarray:
    box = element.bounding_box()
    return np.array([box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]])


def seen_beside(page: Any, x: float, y: float, within: float = 4.0) -> Seen:
    """What is seen once its middle is at a pixel."""
    end = time.monotonic() + PATIENCE
    while (found := seen(page)) is None or (found.x, found.y) != pytest.approx((x, y), abs=within):
        assert time.monotonic() < end, (found, x, y)
        page.wait_for_timeout(250)
    return found


def test_a_page_that_waits_for_its_scene_has_no_menu_of_developers(browser: Any) -> None:
    viewer = Viewer(0, "empty")
    try:
        page = browser.new_page(drawn=False, viewport={"width": 900, "height": 500})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(viewer.url)
        menu = page.get_by_text("Save Canvas")
        menu.wait_for(state="attached")
        menu.wait_for(state="hidden")
    finally:
        viewer.close()


def test_a_taken_port_is_reported_in_one_line_and_nothing_is_started(world: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with program(sim_node("view", world, "--port", str(port))) as viewer:
            assert viewer.wait() == 2
            assert viewer.lines == [
                f"sim_node: port {port}: another program listens on it; give another port, or 0 for any"
            ]


# A cube on a base that goes about, and a wall on the side where cameras begin.
HIDDEN = """
world: yard
motions: [{frame: cart/base_link, keyframes: [{t: 0, position: [5, 3, 0.3]}, {t: 99, position: [5, 30, 0.3]}]}]
bodies:
  - {name: cube, parent: cart/base_link, geometry: [{box: [0.6, 0.6, 0.6], color: [1, 0, 1]}]}
  - {name: wall, geometry: [{box: [6, 0.1, 4], pose: {position: [5, 2.2, 0]}}]}
"""


@pytest.mark.parametrize(("width", "height"), only([(900, 600), (390, 844)], 1))
def test_a_page_of_any_size_begins_on_the_robot_and_looks_through_walls(
    width: int, height: int, browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "yard.yaml").write_text(HIDDEN, encoding="utf-8")
    with program(sim_node("view", tmp_path / "yard.yaml", "--port", "0", "--paused")) as viewer:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(url_of(viewer))
        page.get_by_role("button", name=TOGGLE).wait_for()
        canvas = page.locator("canvas:visible").first.bounding_box()
        # The panel is on the right; on a phone it is folded, at the foot.
        panel = None if width < 500 else page.get_by_role("tablist").first.bounding_box()
        free = canvas["width"] if panel is None else panel["x"] - canvas["x"]
        end, share = time.monotonic() + PATIENCE, 0.0
        while not 0.26 < share < 0.4:
            assert time.monotonic() < end, f"the cube fills {share:.2f} of the picture"
            page.wait_for_timeout(500)
            found = seen(page)
            share = 0.0 if found is None else found.width / free
        assert found is not None
        assert found.x == pytest.approx(canvas["x"] + 0.5 * free, abs=0.06 * width)


# Of the foot: elements that reach out of it, or lie on each other; and whether what it says is cut.
MISPLACED = """() => {
    const foot = document.getElementById("foot"), all = foot.getBoundingClientRect(), found = [];
    const name = (each) => each.getAttribute("aria-label") || each.className || each.textContent;
    const isSeen = (each) => each.offsetWidth && getComputedStyle(each).visibility !== "hidden";
    const boxes = [...foot.children].filter(isSeen).map((each) => [name(each), each.getBoundingClientRect()]);
    for (const [first, { left, right, top, bottom }] of boxes) {
        if (left < all.left || right > all.right || top < all.top || bottom > all.bottom) found.push(first);
        for (const [second, its] of boxes)
            if (first < second && left < its.right && its.left < right && top < its.bottom && its.top < bottom)
                found.push(`${first} and ${second}`);
    }
    const told = foot.querySelector(".state"), words = told.textContent;
    if (told.scrollWidth > told.clientWidth || told.scrollHeight > told.clientHeight) found.push(`cut: ${words}`);
    return found;
}"""


def test_a_phone_has_the_controls_of_the_foot_and_reads_all_that_it_says(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "yard.yaml").write_text(HIDDEN, encoding="utf-8")
    with program(sim_node("view", tmp_path / "yard.yaml", "--port", "0", "--paused")) as viewer:
        page = browser.new_page(drawn=False, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(f"{url_of(viewer)}/?quality=low")
        # The longest that it says by itself.
        page.locator("#foot .state", has_text="half resolution").wait_for()
        assert page.evaluate(MISPLACED) == []
        page.get_by_role("button", name="◎ cart/base_link").tap()
        page.get_by_role("button", name="◎ Follow").tap()
        page.get_by_role("button", name="◎ cart/base_link").wait_for()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Picture").tap()
        assert saved.value.suggested_filename == "yard 0.00 s.png"
        page.get_by_role("button", name="Play").tap()
        page.get_by_role("button", name="Pause").tap()
        page.locator("#foot .state", has_text="paused").wait_for()
        assert page.evaluate(MISPLACED) == []
        for hidden in ("Film", "Panels", "Keys", "Draw less"):
            assert not page.get_by_role("button", name=hidden).is_visible()
        page.get_by_role("button", name="More").tap()
        page.get_by_role("button", name="Keys").tap()
        page.get_by_role("heading", name="Keys").wait_for()
        assert page.evaluate(MISPLACED) == []
        page.get_by_role("button", name="Keys").tap()
        page.get_by_role("button", name="Draw less").tap()
        page.locator("#foot .state", has_text="all is drawn").wait_for()
        page.get_by_role("button", name="Draw less").tap()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Film").tap()
            page.locator("#foot .state", has_text="filming").wait_for()
            page.get_by_role("button", name="Film").tap()
        assert saved.value.suggested_filename.startswith("yard ")
        page.get_by_role("button", name="Panels").tap()
        page.get_by_role("button", name="Dark", exact=True).tap()
        page.wait_for_selector('html[data-mantine-color-scheme="dark"]')


def test_marks_lead_to_what_the_log_says_and_a_bag_ends_where_it_does_not_loop(browser: Any, tmp_path: Path) -> None:
    lines = [("/tf", 0.1 * k, transforms("map", "drone", (0.1 * k, 0.0, 1.0), 0.1 * k)) for k in range(61)]
    lines += [("/rosout", at_s, a("rcl_interfaces/Log", level=40, name="bms", msg=text)) for at_s, text in LOG]
    bag = written(tmp_path / "run", sorted(lines, key=lambda line: line[1]))
    with program(sim_node("view", str(bag), "--port", "0", "--paused")) as viewer:
        page = opened(browser, url_of(viewer), drawn=False)
        page.locator('.mark[title="bms: motor lost"]').click()
        shown_time(page, lambda time_s, _: time_s == 4.0)
        page.keyboard.press("[")
        shown_time(page, lambda time_s, _: time_s == 2.0)
        page.keyboard.press("]")
        shown_time(page, lambda time_s, _: time_s == 4.0)
        loop = page.get_by_role("button", name="Loop")
        assert loop.get_attribute("aria-pressed") == "true"
        assert page.locator("#foot .total").inner_text() == "6.00 s"
        loop.click()
        page.wait_for_selector('button[aria-label="Loop"][aria-pressed="false"]')
        assert viewer.stop(signal.SIGINT) == 0, viewer.output
