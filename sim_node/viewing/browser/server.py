"""The web server: on this machine alone, on a port that is free, without other hosts, for its own page alone."""

from __future__ import annotations

import logging

import rich
import viser

from sim_node.viewing.browser.page_messages import refusal
from sim_node.viewing.browser.same_origin import own_pages_only
from sim_node.viewing.ports import HOST, free_port

_log = logging.getLogger(__name__)


class Server(viser.ViserServer):  # type: ignore[misc]
    """viser's server, on this machine alone and quiet. Ports are as `free_port` has them. Raises PagePortTaken."""

    def __init__(self, port: int | None, title: str) -> None:
        # viser tells of its start and end on the standard output, which is the program's.
        rich.get_console().quiet = True
        with own_pages_only(self._refusal, _log.warning):
            super().__init__(host=HOST, port=free_port(port), label=title, verbose=False)
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self.gui.set_panel_label(title)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.get_port()}"

    def _refusal(self, data: bytes | str) -> str:
        """Say why a message of a page is left out."""
        gui = getattr(self, "gui", None)
        return refusal(data, {} if gui is None else gui._gui_input_handle_from_uuid)

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing: viser would open a tunnel to a host of its makers for any page that asks."""
        return None
