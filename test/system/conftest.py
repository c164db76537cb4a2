"""Makes the helpers beside the tests importable, opens browsers, and claims what a machine has once."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims import claim_alone

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "autopilot"), str(HERE.parent / "recording"), str(HERE.parent / "viewing")]

from waiting import PATIENCE  # noqa: E402  it is beside the tests

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# The scene is drawn by SwiftShader. The page around it is not: it took a second of processor time for each page.
SOFTWARE_GL = (
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    "--disable-gpu-compositing",
)
# What runs for seconds is not worth being optimised: that took 1.5 of the 5 s of processor time of a page that loads.
UNOPTIMISED = "--js-flags=--no-opt"


# Without a graphics card, the first picture of a scene takes ten seconds of processor time.
NOTHING_IS_DRAWN = """
for (const draw of ["clear", "drawArrays", "drawArraysInstanced", "drawElements", "drawElementsInstanced",
                    "drawRangeElements", "blitFramebuffer"])
    WebGL2RenderingContext.prototype[draw] = () => {};
"""

# Ten pictures a second, as of a slow machine: sixty are a third of a processor for a page on which nothing is drawn.
FEW_PICTURES = """{
    const own = window.requestAnimationFrame.bind(window);
    let waiting = new Map(), number = 0;
    function draw(now) {
        const due = waiting;
        waiting = new Map();
        for (const each of due.values()) try { each(now); } catch (error) { reportError(error); }
    }
    window.requestAnimationFrame = (callback) => {
        if (waiting.size === 0) setTimeout(() => own(draw), 90);
        waiting.set(++number, callback);
        return number;
    };
    window.cancelAnimationFrame = (which) => waiting.delete(which);
}"""


class Browser:
    """Opens the pages of a test, and closes them: an open one goes on drawing, in software on all processors."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._pages: list[Any] = []

    def new_page(self, *, drawn: bool = True, **options: Any) -> Any:
        """Open a page. drawn: Whether its scene is: else for a test that looks at all but the scene's pixels."""
        page = self._chromium.new_page(**options)
        if not drawn:  # one that is drawn would drop its shadows, as slow pages do
            page.add_init_script(FEW_PICTURES)
            page.add_init_script(NOTHING_IS_DRAWN)
        self._pages.append(page)
        return page

    def close(self) -> None:
        for page in self._pages:
            page.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of Playwright, which draws without a display. To start one takes a second of processor time."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    from playwright.sync_api import sync_playwright

    # Playwright's own headless flag is of another Chromium than Debian's.
    flags = ["--headless=new", "--no-sandbox", "--disable-background-networking", *SOFTWARE_GL, UNOPTIMISED]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, headless=False, args=flags, timeout=1000.0 * PATIENCE
        )
        yield chromium
        chromium.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Browser]:
    """A browser whose pages are gone after the test."""
    browser = Browser(chromium)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def browser_of_module(chromium: Any) -> Iterator[Browser]:
    """A browser whose pages are gone after the tests of a module."""
    browser = Browser(chromium)
    yield browser
    browser.close()


@pytest.fixture
def autopilots() -> None:
    """Real ones, one at a time on a machine: PX4 has ports of its own for its first ten instances alone."""
    claim_alone("real autopilots")
