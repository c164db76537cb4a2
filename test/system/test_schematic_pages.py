"""Schematics in a real browser: the seed's viewports and models where a pinhole camera puts them, panels and graphs."""

from __future__ import annotations

import io
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation
from waiting import PATIENCE, until

from sim_node.session import Session
from sim_node.viewing.schematic import read_schematic

POSITION, TURN = np.array([3.0, -2.0, 7.0]), Rotation.from_euler("ZYX", [50.0, -20.0, 35.0], degrees=True)
EARTH = np.array([40.0, 15.0, -20.0])
# Of the ball in the axes of the camera, m.
BALL, RADIUS = np.array([6.0, 1.0, 0.7]), 0.3
SIZE = (480, 360)
MAGENTA = "color 255 0 255"


def turned(axis: str, degrees: float) -> Rotation:
    return Rotation.from_euler(axis, degrees, degrees=True)


def towards(position: np.ndarray, target: np.ndarray) -> Rotation:
    """A camera, x forward and z up, that looks at a point, upright."""
    forward = (target - position) / np.linalg.norm(target - position)
    left = np.cross([0.0, 0.0, 1.0], forward)
    left /= np.linalg.norm(left)
    return Rotation.from_matrix(np.stack([forward, left, np.cross(forward, left)], axis=1))


class Sight(NamedTuple):
    position: np.ndarray
    turn: Rotation


SIDEWAYS = TURN * turned("z", -90)
CHASING = POSITION + [-5, -5, 3]
# The viewports of the seed, in words of scipy.
VIEWPORTS = {
    'viewport name=FPVCamera pos="own.world_pos.rotate_z(-90)" show_grid=#true': Sight(POSITION, SIDEWAYS),
    'viewport name=TopView pos="own.world_pos.rotate_world_y(-15)" look_at="earth.world_pos"': Sight(
        POSITION, towards(POSITION, EARTH)
    ),
    'viewport name=ChaseCamera pos="own.world_pos.translate_x(-2.0).translate_z(1.0)"': Sight(
        POSITION + TURN.apply([-2, 0, 1]), TURN
    ),
    'viewport name=Viewport pos="own.world_pos.translate_world(-5, -5, 3)" look_at="own.world_pos"': Sight(
        CHASING, towards(CHASING, POSITION)
    ),
    'viewport pos="own.world_pos.rotate_z(-90).translate_y(-2.0).translate_world_z(5.0)"': Sight(
        POSITION + SIDEWAYS.apply([0, -2, 0]) + [0, 0, 5], SIDEWAYS
    ),
    'viewport pos="own.world_pos.rotate_x(45).rotate_z(90)"': Sight(POSITION, TURN * turned("x", 45) * turned("z", 90)),
}


def numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{float(value):.9f}" for value in values) + "]"


def world(folder: Path, schematic: str, **frames: tuple[np.ndarray, Rotation]) -> Path:
    lines = "".join(
        f"  - {{name: {name}, pose: {{position: {numbers(place)}, quaternion: {numbers(turn.as_quat())}}}}}\n"
        for name, (place, turn) in frames.items()
    )
    path = folder / "shown.yaml"
    inside = "".join(f"  {line}\n" for line in schematic.splitlines())
    path.write_text(f"world: shown\nframes:\n{lines}schematic: |\n{inside}", encoding="utf-8")
    return path


def url_of(session: Session) -> str:
    assert session.viewer is not None
    return session.viewer.url


def opened(browser: Any, url: str, size: tuple[int, int] = SIZE, drawn: bool = True) -> Any:
    page = browser.new_page(drawn=drawn, viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(url)
    return page


def middle(page: Any, within: dict[str, float] | None = None) -> tuple[float, float, float] | None:
    """The middle of what is magenta, and its width, pixels."""
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=within))).convert("RGB")).astype(int)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    rows, columns = np.nonzero((red > 70) & (blue > 70) & (green < 0.5 * red) & (green < 0.5 * blue))
    if len(rows) < 20:
        return None
    (left, right), (top, bottom) = np.percentile(columns, (0.5, 99.5)), np.percentile(rows, (0.5, 99.5))
    return 0.5 * (left + right), 0.5 * (top + bottom), right - left + 1


def settled(page: Any, within: dict[str, float] | None = None) -> tuple[float, float, float]:
    """What is seen when three pictures in a row are alike."""
    seen: list[tuple[float, float, float] | None] = []
    for _ in range(int(PATIENCE / 0.3)):
        seen.append(middle(page, within))
        if len(seen) >= 3 and seen[-1] is not None and seen[-1] == seen[-2] == seen[-3]:
            return seen[-1]
        page.wait_for_timeout(300)
    raise AssertionError("the picture does not come to rest")


def pinhole(point: np.ndarray, fov: float, size: tuple[float, float] = SIZE) -> tuple[float, float]:
    """The pixel of a point in the axes of the camera; the field of view is vertical."""
    focal = 0.5 * size[1] / np.tan(0.5 * np.radians(fov))
    return 0.5 * size[0] - focal * point[1] / point[0], 0.5 * size[1] - focal * point[2] / point[0]


def ball_in(sight: Sight) -> np.ndarray:
    found: np.ndarray = sight.position + sight.turn.apply(BALL)
    return found


def shown(text: str, sight: Sight, folder: Path) -> Path:
    ball = f"{text}\nobject_3d ball.world_pos {{\n    sphere radius={RADIUS} {{\n        {MAGENTA}\n    }}\n}}"
    own = {"own": (POSITION, TURN), "earth": (EARTH, Rotation.identity())}
    return world(folder, ball, **own, ball=(ball_in(sight), Rotation.identity()))


def assert_seen(browser: Any, path: Path) -> None:
    with Session(path, view=0) as session:
        session.run(0.01)
        page = opened(browser, f"{url_of(session)}/viewport/0")
        x, y, width = settled(page)
        page.close()
    assert (x, y) == pytest.approx(pinhole(BALL, 45.0), abs=3.0)
    # A ball is as wide as its radius over its distance.
    focal = 0.5 * SIZE[1] / np.tan(np.radians(22.5))
    assert width == pytest.approx(2.0 * focal * RADIUS / BALL[0], rel=0.15)


@pytest.mark.peers
def test_the_seeds_viewports_see_what_a_pinhole_camera_sees(browser: Any, tmp_path: Path) -> None:
    for text, sight in VIEWPORTS.items():
        assert_seen(browser, shown(text, sight, tmp_path))


def glb(path: Path, low: np.ndarray, high: np.ndarray) -> None:
    """A magenta box in a file of glTF 2.0, written by hand: y is up."""
    corners = np.array([[(low, high)[k >> a & 1][a] for a in range(3)] for k in range(8)], dtype="<f4")
    faces = np.array(
        [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5],
        dtype="<u2",
    )
    content = corners.tobytes() + faces.tobytes()
    json = (
        '{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":'
        '[{"attributes":{"POSITION":0},"indices":1,"material":0}]}],"materials":[{"doubleSided":true,"emissiveFactor":'
        '[1,0,1],"pbrMetallicRoughness":{"baseColorFactor":[1,0,1,1],"metallicFactor":0}}],"buffers":[{"byteLength":'
        f'{len(content)}}}],"bufferViews":[{{"buffer":0,"byteLength":96}},{{"buffer":0,"byteOffset":96,"byteLength":72}}],'
        f'"accessors":[{{"bufferView":0,"componentType":5126,"count":8,"type":"VEC3","min":{numbers(low)},"max":'
        f'{numbers(high)}}},{{"bufferView":1,"componentType":5123,"count":36,"type":"SCALAR"}}]}}'
    ).encode()
    json += b" " * (-len(json) % 4)
    chunks = struct.pack("<II", len(json), 0x4E4F534A) + json + struct.pack("<II", len(content), 0x4E4942) + content
    path.write_bytes(struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks)


# The models of the seed: their attributes, the scale, the angles about x, y, z, and the translation.
MODELS = {
    "scale=0.1": (0.1, [0, 0, 0], [0, 0, 0]),
    'translate="(0, 0, -0.05)"': (1.0, [0, 0, 0], [0, 0, -0.05]),
    'rotate="(0, 0, 180)"': (1.0, [0, 0, 180], [0, 0, 0]),
    'scale=0.01 translate="(0, 0, 1.5)" rotate="(0, 90, 0)"': (0.01, [0, 90, 0], [0, 0, 1.5]),
    'scale=0.01 translate="(0, 0, 0.5)" rotate="(0, 90, 0)"': (0.01, [0, 90, 0], [0, 0, 0.5]),
}


@pytest.mark.peers
def test_the_seeds_models_are_scaled_then_rotated_then_translated(browser: Any, tmp_path: Path) -> None:
    """A small box away from the model's origin, along each of the file's axes, at an object that is turned."""
    eye, place, turn = np.array([-6.0, 0.0, 0.0]), np.zeros(3), turned("z", 20)
    for attributes, (scale, angles, moved) in MODELS.items():
        low, high = np.array([0.5, 0.8, -0.6]) / scale, np.array([0.7, 1.0, -0.4]) / scale
        glb(tmp_path / "model.glb", low, high)
        centre = 0.5 * scale * (low + high)
        upright = np.array([centre[0], -centre[2], centre[1]])
        inside = Rotation.from_euler("XYZ", angles, degrees=True).apply(upright) + moved
        expected = turn.apply(inside) + place - eye
        text = f'viewport pos="(-6, 0, 0)"\nobject_3d jet.world_pos {{\n    glb path="model.glb" {attributes}\n}}'
        path = world(tmp_path, text, jet=(place, turn))
        with Session(path, view=0) as session:
            session.run(0.01)
            page = opened(browser, f"{url_of(session)}/viewport/0")
            x, y, _ = settled(page)
            page.close()
        assert (x, y) == pytest.approx(pinhole(expected, 45.0), abs=4.0), attributes


LAYOUT = f"""hsplit {{
    viewport name=Chase pos="(0,0,0,1, -6,0,0) + ball.world_pos" show_grid=#true share=0.5
    vsplit share=0.5 {{
        graph "ball.world_pos.linear()" name=Position
        tabs {{
            graph "ball.world_pos.q3" name=Turn
            graph "ball.world_pos.y" name=Height
            vsplit name=Feeds {{
                video_stream "front"
                sensor_view "imu"
            }}
        }}
    }}
}}
object_3d ball.world_pos {{ sphere radius=1 {{ {MAGENTA}; }}
}}"""


# Without a viewport: the client of the scene takes longer to load than all else, in each frame of a page that has one.
GRAPHS = """vsplit {
    graph "ball.world_pos.linear()" name=Position
    tabs {
        graph "ball.world_pos.q3" name=Turn
        graph "ball.world_pos.y" name=Height
    }
}"""


# Takes seconds in a browser: make test has panels that are added, dragged and fed, below or above.
@pytest.mark.nightly
def test_panels_and_the_scene_with_its_panel_are_one_page(browser: Any, tmp_path: Path) -> None:
    path = world(tmp_path, GRAPHS, ball=(np.array([1.0, 2.0, 3.0]), Rotation.identity()))
    with Session(path, view=0) as session:
        session.run(0.5)
        page = opened(browser, url_of(session), (600, 300), drawn=False)
        page.get_by_role("button", name="Both").click()
        scene = page.locator('iframe[src="/plain"]')
        scene.content_frame.locator("[role=tab]").first.wait_for(state="attached")
        assert scene.content_frame.locator("#foot").count() == 0, "there is one foot"
        assert page.locator("#foot").count() == 1
        bar = page.locator(".bar").last.bounding_box()
        page.mouse.move(bar["x"] + 2, 150)
        page.mouse.down()
        page.mouse.move(bar["x"] - 88, 150, steps=4)
        page.mouse.up()
        page.wait_for_url("**both=**")
        width = scene.bounding_box()["width"]
        page.reload()
        scene.wait_for()
        page.wait_for_function("plots.get(0)?.[0].times.length > 10")
        assert scene.bounding_box()["width"] == pytest.approx(width, abs=4), "as the address says"
        page.get_by_role("button", name="Scene").click()
        page.locator(".plot").first.wait_for(state="detached")


def test_a_graph_has_values_at_the_pointer_a_zoom_and_the_colours_that_the_browser_prefers(
    browser: Any, tmp_path: Path
) -> None:
    path = world(tmp_path, GRAPHS, ball=(np.array([1.0, 2.0, 3.0]), Rotation.identity()))
    with Session(path, view=0) as session:
        session.run(0.5)
        page = browser.new_page(drawn=False, viewport={"width": 800, "height": 500}, color_scheme="dark")
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(url_of(session))
        page.wait_for_selector('html[data-mantine-color-scheme="dark"]')
        page.wait_for_url("**dark=1**")
        page.wait_for_function("plots.get(0)[0].times.length > 10")
        plot = page.locator(".plot").first
        assert page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor") == "rgb(31, 34, 38)"
        plot.hover()
        page.wait_for_function("document.querySelector('.keys').textContent === 'x 1y 2z 3'")
        span = "(() => { const [first, last] = plots.get(0)[0].seen; return last - first; })()"
        before = page.evaluate(span)
        page.mouse.wheel(0, -100)
        page.wait_for_function(f"{span} < {0.9 * before}")
        plot.dblclick()
        page.wait_for_function(f"{span} > {0.9 * before}")
        page.get_by_role("button", name="Light").click()
        page.wait_for_selector('html[data-mantine-color-scheme="light"]')


SETTING = """
world: setting
time: {step: 0.01}
bodies: [{name: ball, parent: map, joint: free, pose: {position: [0, 0, 9]}, geometry: [{sphere: 0.3}],
  inertial: {mass: 2, inertia: [0.1, 0.1, 0.1]}}]
sensors: [{name: ball/imu, parent: ball, type: imu}]
schematic: "tabs { parameters; messages; }"
"""


def test_numbers_of_the_world_are_set_and_messages_read_in_panels(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "setting.yaml"
    path.write_text(SETTING, encoding="utf-8")
    with Session(path, view=0) as session:
        session.start()
        page = opened(browser, url_of(session), (700, 400), drawn=False)
        page.get_by_role("button", name="Messages", exact=True).click()
        page.get_by_label("Topic").select_option("/ball/imu/data_raw")
        page.locator("pre", has_text="linear_acceleration").wait_for()
        page.get_by_role("button", name="Parameters", exact=True).click()
        page.get_by_label("Filter").fill("ball mass")
        mass = page.get_by_label("bodies[ball].inertial.mass")
        mass.fill("-1")
        mass.press("Enter")
        page.locator("#foot .state", has_text="is out of range").wait_for()
        mass.fill("3.5")
        mass.press("Enter")
        until(lambda: session.loop.simulation.world.at("bodies[ball].inertial.mass") == 3.5)
        updates = page.evaluate("updates")
        page.wait_for_function(f"updates > {updates} + 10")
        assert (page.get_by_label("Filter").input_value(), mass.input_value()) == ("ball mass", "3.5")


# Takes seconds in a browser: make test has panels that are added, dragged and fed, below or above.
@pytest.mark.nightly
def test_panels_are_laid_out_dragged_and_fed(browser: Any, tmp_path: Path) -> None:
    path = world(tmp_path, LAYOUT, ball=(np.array([1.0, 2.0, 3.0]), Rotation.identity()))
    with Session(path, view=0) as session:
        session.run(0.04)
        page = opened(browser, url_of(session), (800, 500))
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.locator(".title", has_text="Position").wait_for()
        frame = page.locator("iframe")
        box = frame.bounding_box()
        x, y, _ = settled(page, box)
        # The camera looks along x at the ball.
        assert (x, y) == pytest.approx((0.5 * box["width"], 0.5 * box["height"]), abs=3.0)
        assert box["width"] == pytest.approx(400, abs=4)
        for samples in range(1, 12):
            page.wait_for_function(f"plots.get(0)?.[0].times.length >= {samples}")
            session.run(0.04)  # now: a slow page is not sent every instant
        page.wait_for_function("updates > 5 && plots.get(0)[0].times.at(-1) > 0.47")
        assert page.evaluate("plots.get(0)[0].rows.at(-1)") == pytest.approx([1.0, 2.0, 3.0])
        assert page.evaluate("plots.get(0)[0].times.at(-1)") == pytest.approx(0.48)
        assert not page.evaluate("plots.has(2)")  # its tab is not in front
        page.get_by_role("button", name="Height").click()
        page.wait_for_function("plots.has(2)")
        page.get_by_role("button", name="Feeds").click()
        for name in ("front", "imu"):
            page.get_by_text(f"There is no camera {name}.").wait_for()
        bar = page.locator(".bar").first.bounding_box()
        page.mouse.move(bar["x"] + 2, 150)
        page.mouse.down()
        page.mouse.move(bar["x"] - 98, 250, steps=4)
        page.mouse.up()
        assert frame.bounding_box()["width"] == pytest.approx(300, abs=4)
        assert all(url.startswith((url_of(session), "data:", "blob:")) for url in requests), requests
        page.close()


def test_panels_are_added_tiled_floated_closed_and_kept_in_the_address(browser: Any, tmp_path: Path) -> None:
    """Of a world without a schematic: from the scene alone to panels beside it, and as a page that is opened anew."""
    world(tmp_path, "", ball=(np.array([1.0, 2.0, 3.0]), Rotation.identity()))
    path = tmp_path / "shown.yaml"
    path.write_text(path.read_text(encoding="utf-8").partition("schematic")[0], encoding="utf-8")
    with Session(path, view=0) as session:
        session.run(0.1)
        page = browser.new_page(drawn=False, viewport={"width": 1000, "height": 600})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(url_of(session))
        page.get_by_role("button", name="Panels").click()
        page.get_by_role("button", name="Add panel").click()
        page.get_by_label("Panel", exact=True).select_option("Numbers")
        page.get_by_label("Formula").fill("ball.world_pos")
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("button", name="Close 3D view").click()
        page.wait_for_function("!document.querySelector('iframe')")
        place = {"x": "1.000", "y": "2.000", "z": "3.000"}
        for axis, value in place.items():
            page.get_by_role("row", name=f"{axis} {value} m").wait_for()
        page.get_by_role("button", name="Add panel").click()
        page.get_by_label("Panel", exact=True).select_option("Frames")
        page.get_by_role("button", name="Add", exact=True).click()
        frames, numbers_ = (
            page.locator("[data-leaf]", has=page.locator(".title", has_text=each)) for each in ("Frames", "ball")
        )
        page.get_by_role("button", name="ball", exact=True).click()
        page.wait_for_function("document.querySelector('li [aria-pressed=true]')?.textContent === 'ball'")
        assert frames.bounding_box()["y"] == numbers_.bounding_box()["y"], "side by side"
        # By its title, onto the lower part of the other one.
        title, there = frames.locator(".title").bounding_box(), numbers_.bounding_box()
        page.mouse.move(title["x"] + 20, title["y"] + 10)
        page.mouse.down()
        page.mouse.move(there["x"] + 0.5 * there["width"], there["y"] + there["height"] - 20, steps=5)
        page.mouse.up()
        page.locator(".split.rows").wait_for()
        assert frames.bounding_box()["x"] == pytest.approx(numbers_.bounding_box()["x"], abs=1)
        assert frames.bounding_box()["y"] > numbers_.bounding_box()["y"]
        page.get_by_role("button", name="Float Frames").click()
        page.locator(".float").wait_for()
        page.wait_for_url("**window**")
        address = page.url
        page.close()
        other = browser.new_page(drawn=False, viewport={"width": 1000, "height": 600})
        other.goto(address)
        other.locator(".float").wait_for()
        other.get_by_role("row", name="x 1.000 m").wait_for()
        assert other.locator("[data-leaf]").count() == 2
        with other.expect_download() as saved:
            other.get_by_role("button", name="Save").click()
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert [type(panel).__name__ for panel in read_schematic(text).panels] == ["DataPanel", "Window"]
        # On a phone, what is side by side elsewhere lies below each other, and nothing on anything.
        other.set_viewport_size({"width": 390, "height": 600})
        nested = "vsplit { log_stream; hsplit { parameters; messages; inspector; }; hierarchy; }"
        other.goto(f"{url_of(session)}/?layout={quote(nested)}")
        other.locator("[data-leaf]").nth(4).wait_for()
        boxes = [each.bounding_box() for each in other.locator("[data-leaf]").all()]
        assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in pairwise(boxes))
        assert min(box["height"] for box in boxes) >= 180
