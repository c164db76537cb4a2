"""Draw docs/images/viewer.png, panels.png, laid-out.png, edit.png and report.png: pages as Chromium shows them.

Run from the repository: python tools/draw_viewer.py [NAME ...]
Needs Playwright (of the test requirements) and Chromium; without them it says so, and the pictures stay as they are.
"""

import io
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from PIL import Image

from sim_node.session import Session
from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser import Viewer, ViewSink
from sim_node.world import load

# Of each picture: the world, simulated seconds, the page that the camera of a new page is chosen for
# (sim_node.viewing.browser.start.PAGE) or a smaller one, what is on it once it is there, colours, and its settings.
LAYOUT = """hsplit {
    scene share=0.55
    vsplit share=0.45 {
        graph "drone/base_link.world_pos.linear()" name=Position
        hsplit {
            component_monitor component_name="drone/base_link.world_pos" name=Pose
            horizon_gauge "drone/base_link.world_pos" name=Horizon
        }
        tabs { hierarchy; log_stream; inspector; }
    }
}"""
PICTURES = {
    "viewer": ("lidar_room", 6.5, (1280, 720), "#foot .play", 256, ""),
    "panels": ("viewports", 6.5, (960, 480), "text=Position", 128, ""),
    "laid-out": ("quadrotor", 8.0, (1280, 720), "text=Horizon", 128, f"?layout={quote(LAYOUT)}"),
    "edit": ("warehouse", 2.0, (1280, 720), "text=Request", 128, "?tab=Edit"),
}
FLAGS = ("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PATIENCE_MS = 240_000


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("pictures of the viewer stay as they are: Playwright and Chromium are needed to draw them anew")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=False, args=list(FLAGS))
        for name in sys.argv[1:] or (*PICTURES, "report"):
            if name == "report":
                draw_report(browser)
                continue
            draw(browser, Path("docs/images") / f"{name}.png", *PICTURES[name])
        browser.close()


def draw(
    browser: Any, path: Path, world: str, seconds: float, size: tuple[int, int], there: str, colours: int, settings: str
) -> None:
    # A page on which a run is changed needs a whole run, others a loop.
    with Session(world, view=0, paused=True) if settings else _Looped(world) as run:
        run.start()
        # Before the page opens: with software rendering, it would hold the run up.
        steps = round(100_000_000 / run.loop.simulation.world.time.step_ns)
        for _ in range(round(seconds * 10)):
            run.loop.step(steps)
            # Graphs and trails have what was shown, and a busy machine leaves instants out.
            while run.viewer._instant is None or run.viewer._instant.time_ns < run.loop.simulation.time_ns:
                time.sleep(0.002)
        shoot(browser, run.viewer.url + settings, path, size, there, colours)


def draw_report(browser: Any) -> None:
    """The page of a test that fails: the first world of the page on testing, with a limit that the ball exceeds."""
    page = Path("docs/testing.md").read_text(encoding="utf-8")
    found = re.search(r"^```yaml\n(world: .*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    path = (Path("docs/images") / "report.png").resolve()
    with TemporaryDirectory() as folder:
        (Path(folder) / "field.yaml").write_text(found[1].replace("< 1.4 m", "< 1.2 m"), encoding="utf-8")
        command = [Path(sys.executable).parent / "sim_node", "test", "field.yaml", "--report", "report"]
        subprocess.run(command, cwd=folder, check=False)
        shoot(browser, (Path(folder) / "report" / "index.html").as_uri(), path, (960, 1000), "svg", 64)


class _Looped:
    """A world in a loop, and the viewer that shows it."""

    def __init__(self, world: str) -> None:
        self.viewer = Viewer(0, world)
        sink = ViewSink(self.viewer)
        self.loop = Loop(Simulation(load(world)), (sink,), paused=True)
        sink.steer(self.loop)
        self.start = self.loop.start

    def __enter__(self) -> "_Looped":
        return self

    def __exit__(self, *error: object) -> None:
        self.loop.stop()


def shoot(browser: Any, url: str, path: Path, size: tuple[int, int], there: str, colours: int) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(PATIENCE_MS)
    # As with a graphics card.
    page.goto(f"{url}{'&' if '?' in url else '?'}quality=full")
    page.locator(there).first.wait_for()
    page.wait_for_timeout(9000)
    # It says that WebGL is drawn in software here, which is no news.
    page.add_style_tag(content=".mantine-Notifications-root { display: none }")
    # A slow machine is still fading the page in.
    shots = [b"", page.screenshot()]
    while shots[-1] != shots[-2]:
        page.wait_for_timeout(2000)
        shots.append(page.screenshot())
    page.close()
    shot = Image.open(io.BytesIO(shots[-1])).convert("RGB")
    shot.quantize(colours, kmeans=5, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
