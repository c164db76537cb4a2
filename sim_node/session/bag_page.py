"""A bag as a single HTML file that plays in a browser without a server: the viewer page with all its messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.opening import open_bag
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.ghosts import Ghost
from sim_node.viewing.browser.panels_page import own_page
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.surroundings import night
from sim_node.viewing.browser.viewer import Viewer

# Frame rate of the page, Hz, and the number of frames between updates of trails.
RATE, TRAILS = 30, 10


class _Direct:
    """A Stream without a thread: each instant is shown as soon as it is offered."""

    def __init__(self, frames: int, show: Callable[[Instant], None], idle: Callable[[], None]) -> None:
        self._show = show

    def offer(self, *instant: Any) -> None:
        """Show an instant."""
        self._show(Instant(*instant))

    def change(self, frames: int, prepare: Callable[[], None]) -> None:
        """Prepare the page for instants with another number of frames."""
        prepare()

    def close(self) -> None:
        """Do nothing."""


def page_of(
    path: str | Path,
    report: Callable[[str], None],
    max_bytes: int = MAX_BYTES,
    ended: Callable[[], bool] = lambda: False,
    ghosts: Sequence[Ghost] = (),
) -> str | None:
    """Return the page (HTML) that plays a bag, or None if it was cancelled.

    Args:
        path: The bag.
        report: Called with messages for the user.
        max_bytes: Limit of a chunk in memory, as in open_bag.
        ended: Returns whether to cancel.
        ghosts: Ghosts to show beside the bag.

    Raises:
        BagError: The bag cannot be read.
    """
    bag, title = open_bag(path, max_bytes), Path(path).resolve().name
    viewer, due_ns = Viewer(0, title), 0
    viewer.ghosts.sources = list(ghosts)
    view = BagView(path, viewer, report, max_bytes, stream=_Direct, wall=lambda: due_ns / 1e9)
    try:
        sends = view.sends
        due_ns = bag.start_ns
        view.clock(due_ns)
        serializer, shown = viewer.server.get_scene_serializer(), 0
        for message in bag.messages():
            if ended():
                return None
            while message.time_ns > due_ns:
                viewer.hurry(slowly=shown % TRAILS == 0)
                view.clock(due_ns)
                serializer.insert_sleep(1.0 / RATE)
                due_ns += round(1e9 / RATE)
                shown += 1
            if message.topic in sends:
                sends[message.topic](message.data)
        view.clock(due_ns)
        script = f"window.simNight({json.dumps(night())}); window.simCamera.take({json.dumps(viewer.opening())});"
        return own_page(serializer.as_html(), title, script)
    finally:
        bag.close()
        view.close()
