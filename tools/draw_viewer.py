"""Draw docs/images/viewer.png: the browser viewer's page of the world `lidar_room`, as Chromium shows it.

Run from the repository: python tools/draw_viewer.py [docs/images/viewer.png]
Needs Playwright (of the test requirements) and Chromium; without them it says so, and the picture stays as it is.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image

from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser import Viewer, ViewSink
from sim_node.world import load

# The page for which the camera of a new page is chosen: sim_node.viewing.browser.start.PAGE.
SECONDS, SIZE = 6.5, {"width": 1280, "height": 720}
FLAGS = ("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/viewer.png")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print(f"{path} stays as it is: Playwright and Chromium are needed to draw it anew")
        return
    viewer = Viewer(0, "lidar_room")
    sink = ViewSink(viewer)
    loop = Loop(Simulation(load("lidar_room")), (sink,), paused=True)
    sink.steer(loop)
    loop.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=False, args=list(FLAGS))
        page = browser.new_page(viewport=SIZE)
        # Before the page opens: with software rendering, it would hold the run up.
        for _ in range(round(SECONDS * 10)):
            loop.step(10)
        page.goto(viewer.url)
        page.get_by_role("button", name="Play").wait_for(timeout=90_000)
        page.wait_for_timeout(9000)
        # It says that WebGL is drawn in software here, which is no news.
        page.add_style_tag(content=".mantine-Notifications-root { display: none }")
        page.wait_for_timeout(1000)
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    loop.stop()
    shot.quantize(256, kmeans=5, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
