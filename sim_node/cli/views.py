"""What commands that show a run in the browser have in common: --view, and the viewer itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sim_node.cli.errors import UsageError
from sim_node.cli.parser import add_optional

if TYPE_CHECKING:
    from sim_node.viewing.browser.sink import ViewSink
    from sim_node.viewing.browser.viewer import Viewer

# argparse's mark of a --view without PORT.
_ANY = -1
LAST_PORT = 65535


def add_view(parser: argparse.ArgumentParser) -> None:
    """--view [PORT]."""
    what = "show the run in the browser, on this machine alone (default: port 8080, or the next that is free)"
    add_optional(parser, "--view", "PORT", str.isdecimal, type=port_number, const=_ANY, help=what)


def viewing(title: str, arguments: argparse.Namespace) -> tuple[ViewSink, ...]:
    """The sink that --view asks for, or none; prints where its page is."""
    if arguments.view is None:
        return ()
    viewer = opened(None if arguments.view == _ANY else arguments.view, title)
    from sim_node.viewing.browser.sink import ViewSink

    return (ViewSink(viewer),)


def opened(port: int | None, title: str) -> Viewer:
    """A viewer whose page can be looked at; prints where. Raises UsageError."""
    try:
        from sim_node.viewing.browser.server import PortTaken
        from sim_node.viewing.browser.viewer import Viewer
    except ImportError as error:
        raise UsageError(f"no viewer here ({error}); run: pip install 'sim_node[view]'") from None
    try:
        viewer = Viewer(port, title)
    except PortTaken as taken:
        raise UsageError(str(taken)) from None
    print(f"viewer: {viewer.url}", flush=True)
    return viewer


def port_number(text: str) -> int:
    """A port, for argparse."""
    if not (text.isascii() and text.isdecimal() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; a whole number up to {LAST_PORT} is needed")
    return int(text)
