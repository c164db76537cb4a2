"""Four panels of the world `guided`, three viewports and a graph: what the page's connections bring, and what is drawn.

Run from the repository: python -m bench.panels [--out bench/results/panels.json]

First the updates per second that each of the page's four connections gets, all at once, as clients of the websocket.
Then the same in Chromium, with the pictures per second that it draws, in turns with the plain page of the same run,
which has one view. Without a graphics card, drawing takes the browser so long that it reads less than it is sent.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import viser
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from bench.pairs import Pairs, aim

FLAGS = ("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Updates a second that each panel is to get, but for what a count over some seconds cuts off at its ends.
WANTED = 29.5
ROUNDS, SECONDS, BEFORE_S = 4, 5.0, 4.0
PANELS = "/panels"
PATHS = (PANELS, "/viewport/0", "/viewport/1", "/viewport/2")
PICTURES = "pictures of a view"
LAYOUT = """
hsplit {
    vsplit {
        viewport name=Chase pos="'drone/base_link'.world_pos.translate(-3, 0, 1)" look_at="'drone/base_link'.world_pos"
        viewport name=Down pos="'drone/base_link'.world_pos.rotate_y(90)"
    }
    vsplit {
        viewport name=Outside pos="(-15, -15, 8)" look_at="'drone/base_link'.world_pos"
        graph "'drone/base_link'.world_pos.linear()" name="Position"
    }
}
"""
# Counts the pictures of a page.
DRAWN = """milliseconds => new Promise(done => {
    let count = 0, begin = performance.now()
    const next = now => now - begin > milliseconds ? done(count / (now - begin) * 1000)
        : (count++, requestAnimationFrame(next))
    requestAnimationFrame(next)
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/panels.json"))
    arguments = parser.parse_args()
    turns: dict[str, list[dict[str, float]]] = {"sent": [], "four panels": [], "plain page": []}
    with serving() as url:
        for _ in range(ROUNDS):
            turns["sent"].append(sent(url))
        if CHROMIUM is not None:
            in_chromium(url, turns)
    for name, found in turns.items():
        for what in found[0] if found else ():
            rates = [turn[what] for turn in found]
            print(f"{f'{name}: {what}':<34}{statistics.median(rates):>8.1f} /s   best {max(rates):.1f} of {len(rates)}")
    best = max(min(turn.values()) for turn in turns["sent"])
    print(f"slowest of four panels: {best:.1f} updates/s{aim(f'target {WANTED:g}', best >= WANTED)}")
    pairs = Pairs()
    pairs.rows.append({"name": "four panels of guided", "turns": turns, "target": None})
    pairs.save(arguments.out)
    return 0 if best >= WANTED else 1


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of the page of a run that has begun."""
    with tempfile.TemporaryDirectory() as folder:
        layout = Path(folder, "four.kdl")
        layout.write_text(LAYOUT, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "sim_node.cli.main",
            "view",
            "guided",
            "--schematic",
            str(layout),
            "--port",
            "0",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            try:
                found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in run.stdout)
                url = next(each[0] for each in found if each)
                time.sleep(BEFORE_S)
                yield url
            finally:
                run.terminate()


def sent(url: str) -> dict[str, float]:
    """Return the updates per second that each of four connections gets, all at once, by its path."""
    rates: dict[str, float] = {}
    threads = [threading.Thread(target=_received, args=(url, path, rates)) for path in PATHS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {path: rates[path] for path in PATHS}


def _received(url: str, path: str, rates: dict[str, float]) -> None:
    protocols = None if path == PANELS else [Subprotocol(f"viser-v{viser.__version__}")]
    address = f"ws://{url.removeprefix('http://')}{path}"
    with connect(address, subprotocols=protocols, max_size=None, compression=None) as connection:
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            connection.recv()
        began, count = time.monotonic(), 0
        while (now := time.monotonic()) < began + SECONDS:
            connection.recv()
            count += 1
        rates[path] = count / (now - began)


def in_chromium(url: str, turns: dict[str, list[dict[str, float]]]) -> None:
    """Add what is measured of both pages, in turns."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=False, args=list(FLAGS))
        for _ in range(ROUNDS):
            for name, path in (("four panels", ""), ("plain page", "/plain")):
                turns[name].append(_read(browser, url + path))
        browser.close()


def _read(browser: Any, url: str) -> dict[str, float]:
    """Return the updates per second that a page reads by connection, and the pictures per second of a view."""
    page = browser.new_page(viewport={"width": 960, "height": 600})
    counts: Counter[str] = Counter()

    def count(socket: Any) -> None:
        name = re.sub(r"^ws://[^/]+", "", socket.url) or "/"
        socket.on("framereceived", lambda _: counts.update([name]))

    page.on("websocket", count)
    page.goto(url)
    page.wait_for_timeout(1000.0 * BEFORE_S)
    before, began = Counter(counts), time.monotonic()
    views = [frame for frame in page.frames if "/viewport/" in frame.url] or [page.main_frame]
    pictures: float = views[0].evaluate(DRAWN, 1000.0 * SECONDS)
    took = time.monotonic() - began
    rates = {name: (counts[name] - before[name]) / took for name in sorted(counts)}
    page.close()
    return {**rates, PICTURES: pictures}


if __name__ == "__main__":
    sys.exit(main())
