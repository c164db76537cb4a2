"""The browser viewer: 1000 moving frames with a box on each, from poses to what a page is sent.

Run from the repository: python -m bench.viewer [--out bench/results/viewer.json]

A tick is the time that sending all poses takes, beside viser's own way of a node for each frame; then how many
updates a second a page gets (as a client of the websocket in a process of its own), how much a run as fast as possible
is slowed by being viewed, how long a tick of it takes for ten pages, how many pictures a second Chromium draws of
100 bodies without a graphics card, what the main thread of a page takes for a picture of all frames where a graphics
card draws it, and the memory of a page after an hour.

What a page keeps by mistake grows with what it is sent, at the same rate all the time. So its heap is looked at each
minute, after its garbage is gone, and the line through these is followed to the end of an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import viser
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from bench.pairs import Pairs, figure
from bench.panels import CHROMIUM, DRAWN, FLAGS
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.browser.server import Server
from sim_node.viewing.browser.stream import Instant, Stream
from sim_node.viewing.browser.view_sink import ViewSink
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.ports import HOST
from sim_node.world import FrameTable, load

FRAMES, SECONDS = 1000, 5.0
# Updates a second that a page is to get.
WANTED = 30.0
# Pages that look at a run, and how long a tick of it may take then, ms; bodies, and pictures a second of them.
PAGES, TICK_MS = 10, 20.0
BODIES, PICTURES = 100, 10.0
# What the main thread of a page may take for one of 60 pictures a second of FRAMES bodies, ms, where a GPU draws them.
PICTURE_MS = 1e3 / 60
NOTHING_IS_DRAWN = """
for (const draw of ["clear", "drawArrays", "drawArraysInstanced", "drawElements", "drawElementsInstanced",
                    "drawRangeElements", "blitFramebuffer"])
    WebGL2RenderingContext.prototype[draw] = () => {};
"""
# Minutes that the heap of a page is looked at, the hour in them, and how large it may be then, MB.
MINUTES, HOUR, HEAP_MB = 4, 60, 200.0
# What is on that page: a scene, and panels that keep samples.
PANELS = """hsplit {
    scene
    vsplit { graph "drone/base_link.world_pos"; component_monitor component_name="drone/base_link.world_pos"; }
    tabs { query_table "drone/base_link.world_pos"; log_stream; parameters; }
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/viewer.json"))
    parser.add_argument("--minutes", type=int, default=MINUTES, help="that the heap of a page is looked at")
    parser.add_argument("--page", help=argparse.SUPPRESS)
    parser.add_argument("--pages", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pages:
        look_on(arguments.pages)
    if arguments.page:
        print(json.dumps(_updates(arguments.page)))
        return 0
    pairs = Pairs()
    ticks(pairs)
    rate = updates()
    held = figure(f"updates to a page, {FRAMES} frames", rate, "/s", target=WANTED)
    pairs.rows.append({"name": "updates/s to a page", "rate": rate, "target": None})
    viewed(pairs)
    tick_ms, pictures = ticks_of_pages(), pictures_of_bodies()
    held &= figure(f"a tick of a run for {PAGES} pages, 95 of 100 of them", tick_ms, "ms", limit=TICK_MS)
    pairs.rows.append({"name": f"tick for {PAGES} pages", "ms": tick_ms, "target": None})
    if pictures is not None:
        held &= figure(f"pictures of {BODIES} bodies without a graphics card", pictures, "/s", target=PICTURES)
        pairs.rows.append({"name": f"pictures/s of {BODIES} bodies", "rate": pictures, "target": None})
    scripts = scripts_of_bodies()
    if scripts is not None:
        held &= figure(f"scripts of a picture of {FRAMES} bodies", scripts, "ms", limit=PICTURE_MS)
        pairs.rows.append({"name": f"scripts of a picture of {FRAMES} bodies", "ms": scripts, "target": None})
    heap = heap_of_page(arguments.minutes)
    if heap is not None:
        held &= figure("heap of a page after an hour", heap, "MB", limit=HEAP_MB)
        pairs.rows.append({"name": "heap of a page after an hour", "mb": heap, "target": None})
    pairs.save(arguments.out)
    return 0 if held and not pairs.missed else 1


def swarm() -> FrameTable:
    names = ("map", *(f"agent_{k}" for k in range(FRAMES)))
    parents = np.array([-1] + [0] * FRAMES, dtype=np.int32)
    return FrameTable(names, parents, np.array([True] + [False] * FRAMES))


def poses_at(time_s: float) -> FloatArray:
    poses = np.zeros((FRAMES + 1, 7))
    angles = 0.3 * time_s + np.arange(FRAMES + 1) * 0.1
    radii = 2.0 + np.arange(FRAMES + 1) * 0.05
    poses[:, :3] = np.stack([radii * np.cos(angles), radii * np.sin(angles), 1.0 + np.sin(3.0 * angles)], axis=1)
    poses[:, 5:] = np.stack([np.sin(angles / 2), np.cos(angles / 2)], axis=1)
    poses[0] = [0, 0, 0, 0, 0, 0, 1]
    return poses


def staged() -> Viewer:
    viewer = Viewer(0, "swarm")
    boxes = [DrawnShape(row, "box", np.array([0, 0, 0, 0, 0, 0, 1.0]), np.full(3, 0.2)) for row in range(1, FRAMES + 1)]
    viewer.set_scene(swarm(), poses_at(0.0), boxes)
    return viewer


def ticks(pairs: Pairs) -> None:
    viewer = staged()
    naive = Server(0, "nodes")
    nodes: list[Any] = [naive.scene.add_frame(f"/{k}", axes_length=0.1, axes_radius=0.01) for k in range(FRAMES)]
    now = time.perf_counter

    def ours() -> None:
        viewer.show(Instant(round(now() * 1e9), poses_at(now()), {}))

    def one_by_one() -> None:
        with naive.atomic():
            for node, pose in zip(nodes, poses_at(now())[1:], strict=True):
                node.position, node.wxyz = pose[:3], pose[WXYZ]

    pairs.measure(f"show {FRAMES} frames", ours, {"a node each": one_by_one}, target=10.0)
    viewer.close()
    naive.stop()


def updates() -> float:
    """What a page gets of 1000 frames offered at 200 Hz."""
    viewer = staged()
    stream = Stream(FRAMES + 1, viewer.show, viewer.idle)
    page = subprocess.Popen(
        [sys.executable, "-m", "bench.viewer", "--page", str(viewer.server.get_port())], stdout=subprocess.PIPE
    )
    while page.poll() is None:
        stream.offer(time.monotonic_ns(), poses_at(time.monotonic()), {})
        time.sleep(0.005)
    assert page.stdout is not None
    rate: float = json.loads(page.stdout.read())
    stream.close()
    viewer.close()
    return rate


def _updates(port: str) -> float:
    """Frames of the websocket that bring the positions of all boxes, per second."""
    whole = 12 * FRAMES
    protocol = f"viser-v{viser.__version__}"
    with connect(
        f"ws://{HOST}:{port}", subprotocols=[Subprotocol(protocol)], max_size=None, compression=None
    ) as connection:
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            connection.recv()
        began, count = time.monotonic(), 0
        while (now := time.monotonic()) < began + SECONDS:
            count += len(connection.recv()) > whole
        return count / (now - began)


def viewed(pairs: Pairs) -> None:
    """A simulated second at 60 snapshots, with a page that looks on, beside one that nobody sees."""
    world = load("formation")
    viewer = Viewer(0, world.name)
    sink = ViewSink(viewer)
    alone, seen = Simulation(world), Simulation(world)
    sink.open(seen.world, seen.frames)
    page = subprocess.Popen([sys.executable, "-m", "bench.viewer", "--page", str(viewer.server.get_port())])

    def second(simulation: Simulation, show: bool) -> None:
        for _ in range(60):
            simulation.step(4)
            snapshot = simulation.present()
            if show:
                sink.write(snapshot)

    pairs.measure("a viewed second", lambda: second(seen, True), {"unseen": lambda: second(alone, False)}, target=0.8)
    page.kill()
    page.wait()
    sink.close()


def ticks_of_pages() -> float:
    """How long 95 of 100 ticks of a run at 60 snapshots a second take at most, beside the simulation itself, ms."""
    world = load("formation")
    viewer = Viewer(0, world.name)
    sink, simulation = ViewSink(viewer), Simulation(world)
    sink.open(simulation.world, simulation.frames)
    pages = subprocess.Popen([sys.executable, "-m", "bench.viewer", "--pages", str(viewer.server.get_port())])
    while len(viewer.server.connections()) < PAGES:
        time.sleep(0.1)
    took = []
    for _ in range(round(60 * 2 * SECONDS)):
        simulation.step(4)
        snapshot, began = simulation.present(), time.perf_counter()
        sink.write(snapshot)
        took.append(time.perf_counter() - began)
        time.sleep(max(1 / 60 - took[-1], 0.0))
    pages.kill()
    pages.wait()
    sink.close()
    return 1e3 * float(np.percentile(took[60:], 95))


def look_on(port: str) -> None:
    """Read what PAGES pages are sent, until the program is killed."""

    def look() -> None:
        address, protocol = f"ws://{HOST}:{port}", f"viser-v{viser.__version__}"
        with connect(address, subprotocols=[Subprotocol(protocol)], max_size=None, compression=None) as connection:
            while True:
                connection.recv()

    pages = [threading.Thread(target=look) for _ in range(PAGES)]
    for page in pages:
        page.start()
    for page in pages:
        page.join()


@contextmanager
def page_of_bodies(bodies: int, script: str = "", query: str = "") -> Iterator[Any]:
    """A page in Chromium of boxes that move at 60 Hz, after a script that runs before the page's own."""
    from playwright.sync_api import sync_playwright

    rows = range(1, bodies + 1)
    names = ("map", *(f"agent_{row}" for row in rows))
    frames = FrameTable(names, np.array([-1] + [0] * bodies, dtype=np.int32), np.array([True] + [False] * bodies))
    viewer, ended = Viewer(0, "bodies"), threading.Event()
    boxes = [DrawnShape(row, "box", np.array([0, 0, 0, 0, 0, 0, 1.0]), np.full(3, 0.2)) for row in rows]
    viewer.set_scene(frames, poses_at(0.0)[: bodies + 1], boxes)
    stream = Stream(bodies + 1, viewer.show, viewer.idle)

    def move() -> None:
        while not ended.wait(1 / 60):
            stream.offer(time.monotonic_ns(), poses_at(time.monotonic())[: bodies + 1], {})

    mover = threading.Thread(target=move)
    mover.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=False, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.add_init_script(script)
        page.goto(f"{viewer.url}/{query}", timeout=240_000)
        page.locator("#foot button:visible").first.wait_for(timeout=240_000)
        page.wait_for_timeout(5000)
        yield page
        browser.close()
    ended.set()
    mover.join()
    stream.close()
    viewer.close()


def pictures_of_bodies() -> float | None:
    """Pictures a second that Chromium draws in software; None without it."""
    if CHROMIUM is None:
        return None
    with page_of_bodies(BODIES) as page:
        rate: float = page.evaluate(DRAWN, 1e3 * SECONDS)
        return rate


def scripts_of_bodies() -> float | None:
    """Processor time of a page's main thread for a picture of 1000 bodies, in full, where the GPU draws it, ms.

    None without Chromium. Calls that draw return at once, as those of a GPU's driver do; all else is done.
    """
    if CHROMIUM is None:
        return None
    with page_of_bodies(FRAMES, NOTHING_IS_DRAWN, "?quality=full") as page:
        engine = page.context.new_cdp_session(page)
        engine.send("Performance.enable", {"timeDomain": "threadTicks"})

        def busy_s() -> float:
            return float({each["name"]: each["value"] for each in metrics()}["TaskDuration"])

        def metrics() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = engine.send("Performance.getMetrics")["metrics"]
            return found

        before_s = busy_s()
        rate: float = page.evaluate(DRAWN, 1e3 * SECONDS)
        return 1e3 * (busy_s() - before_s) / (rate * SECONDS)


def heap_of_page(minutes: int) -> float | None:
    """The heap of a page's scripts after an hour, MB; None without Chromium."""
    if CHROMIUM is None:
        return None
    from playwright.sync_api import sync_playwright

    heaps = []
    with Session("quadrotor", view=0) as session, sync_playwright() as playwright:
        session.start()
        assert session.viewer is not None
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=False, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 900, "height": 400})
        page.goto(f"{session.viewer.url}/?layout={quote(PANELS)}", timeout=240_000)
        page.locator(".plot").first.wait_for(timeout=240_000)
        engine = page.context.new_cdp_session(page)
        # In the first minute, it is still loading.
        for _ in range(minutes + 1):
            page.wait_for_timeout(60_000)
            engine.send("HeapProfiler.collectGarbage")
            heaps.append(engine.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
        browser.close()
    grows, first = np.polyfit(np.arange(1, minutes + 1), heaps[1:], 1)
    print(f"heap each minute, MB: {', '.join(f'{heap:.1f}' for heap in heaps)}")
    return float(first + max(grows, 0.0) * HOUR)


if __name__ == "__main__":
    sys.exit(main())
