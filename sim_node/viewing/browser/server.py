"""The page's server, on localhost, which accepts only the page's own origin and valid messages."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping

import rich
import viser
from viser._messages import (
    SceneNodeUpdateMessage,
    SetOrientationMessage,
    SetPositionMessage,
    SetSceneNodeVisibilityMessage,
)
from websockets.asyncio.server import ServerConnection

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.gamepad_page import GamepadPage
from sim_node.viewing.browser.message_buffers import make_thread_safe
from sim_node.viewing.browser.page_messages import refusal
from sim_node.viewing.browser.panels_page import PanelsPage
from sim_node.viewing.browser.same_origin import own_pages_only
from sim_node.viewing.ports import HOST, free_port

_log = logging.getLogger(__name__)


class Server(viser.ViserServer):  # type: ignore[misc]
    """viser's server, on localhost only and without output. Ports as in `free_port`. Raises PagePortInUse."""

    def __init__(self, port: int | None, title: str) -> None:
        # viser prints messages to standard output, which belongs to the program.
        rich.get_console().quiet = True
        # A page may be closed after the clients were listed and before a message is sent to it.
        warnings.filterwarnings("ignore", "Queued a .* on a closed connection", UserWarning)
        self.panels_page = PanelsPage(title)
        self.gamepad_page = GamepadPage(self.panels_page)
        make_thread_safe()
        with own_pages_only(self._refusal, _log.warning, self.gamepad_page):
            super().__init__(host=HOST, port=free_port(port), label=title, verbose=False)
        self.set_dark(False)
        self.gui.set_panel_label(title)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.get_port()}"

    def set_dark(self, dark: bool) -> None:
        """Make the panels of all pages dark or light."""
        self.gui.configure_theme(show_logo=False, show_share_button=False, dark_mode=dark)

    def connections(self) -> Mapping[int, ServerConnection]:
        """Return the connections of viser's pages by client number."""
        return dict(self._websock_server._live_connections)

    def queued(self) -> int:
        """Return the number of messages broadcast to all pages so far."""
        return int(self._websock_server._broadcast_buffer.message_counter)

    def arrived(self, client: int) -> int:
        """Return how many broadcast messages a page will have received before the next message to it alone."""
        return int(self._websock_server._broadcast_buffer.generator_cursors.get(client, -1)) + 1

    def set_visible_for(self, client: viser.ClientHandle, node: str, *, visible: bool) -> None:
        """Show or hide a scene node and its descendants on one page."""
        client._websock_connection.queue_message(SetSceneNodeVisibilityMessage(node, visible))

    def set_anchor_for(self, client: viser.ClientHandle, label: str, anchor: str) -> None:
        """Put a label on another side of its place, on one page."""
        client._websock_connection.queue_message(SceneNodeUpdateMessage(label, {"anchor": anchor}))

    def place_for(self, client: viser.ClientHandle, node: str, pose: FloatArray) -> None:
        """Place a scene node at a pose (7,) on one page."""
        x, y, z, qx, qy, qz, qw = pose.tolist()
        client._websock_connection.queue_message(SetOrientationMessage(node, (qw, qx, qy, qz)))
        client._websock_connection.queue_message(SetPositionMessage(node, (x, y, z)))

    def _refusal(self, data: bytes | str) -> str:
        """Return why a page's message is ignored, or an empty string."""
        gui, scene = getattr(self, "gui", None), getattr(self, "scene", None)
        elements = {} if gui is None else gui._gui_input_handle_from_uuid
        if scene is None:
            return refusal(data, elements)
        return refusal(data, elements, scene._handle_from_transform_controls_name, scene._handle_from_node_name)

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Return None. viser would open a tunnel to its makers' host for any page that asks."""
        return None
