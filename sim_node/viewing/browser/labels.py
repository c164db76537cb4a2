"""Keeps labels off each other on each page, and off its edges: from where its camera is, they are turned or hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.overlays import Edges, PlacedLabel, edges_at, inwards, is_free
from sim_node.viewing.browser.panels_page import viewport_of
from sim_node.viewing.view import View, looking

# Maximum field of view for which labels are arranged, rad.
_WIDEST = 2.9


class _Sent(NamedTuple):
    """What a page has of a label: which one, behind how many messages to all pages, whether it is shown, and how."""

    handle: Any
    behind: int
    visible: bool
    anchor: str


class PageLabels:
    """Turns or hides labels on the pages of a server.

    Args:
        server: The server.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        # By page and node
        self._sent: dict[int, dict[str, _Sent]] = {}

    def show(
        self,
        labels: Sequence[PlacedLabel],
        root: FloatArray,
        in_viewports: Sequence[PlacedLabel] = (),
        roots: Mapping[int, FloatArray] = MappingProxyType({}),
    ) -> None:
        """Arrange the labels on all pages.

        Args:
            labels: The labels on pages with their own camera.
            root: Pose (7,) of the fixed frame on these pages.
            in_viewports: The labels that viewports show.
            roots: Poses (7,) of the fixed frame on viewport pages whose camera moves it, by client.
        """
        clients, connections = self._server.get_clients(), self._server.connections()
        self._sent = {number: sent for number, sent in self._sent.items() if number in clients}
        for number, client in clients.items():
            if (view := _view_of(client.camera)) is None:
                continue
            if viewport_of(connections.get(number)) is None:
                self._arrange(number, client, view, labels, root)
            else:
                self._arrange(number, client, view, in_viewports, roots.get(number, root))

    def _arrange(self, number: int, client: Any, view: View, labels: Sequence[PlacedLabel], root: FloatArray) -> None:
        """Hide those of a page's labels that would lie on others or be cut, and show the others.

        Labels are broadcast, and messages to a single page do not wait for broadcasts. Hiding a label that a page has
        not received yet would have no effect, so it is postponed until the page has received all earlier broadcasts.
        """
        shown = apart(view, labels, pose_math.apply(root, np.array([each.place for each in labels]).reshape(-1, 3)))
        sent = self._sent.setdefault(number, {})
        queued, arrived = self._server.queued(), self._server.arrived(number)
        for row, (handle, _, _) in enumerate(labels):
            now = sent.get(handle.name)
            if now is None or now.handle is not handle:
                now = _Sent(handle, queued, handle.visible, handle.anchor)
            if arrived >= now.behind:
                if shown.get(row, now.anchor) != now.anchor:
                    now = now._replace(anchor=shown[row])
                    self._server.set_anchor_for(client, handle.name, now.anchor)
                if now.visible != (row in shown):
                    now = now._replace(visible=row in shown)
                    self._server.set_visible_for(client, handle.name, visible=now.visible)
            sent[handle.name] = now


def apart(view: View, labels: Sequence[PlacedLabel], places: FloatArray) -> dict[int, str]:
    """Return the anchors of the labels at places (L, 3) that lie on no others in a view, and are not cut, by number."""
    pixels, depths = view.project(places)
    taken: list[Edges] = []
    shown: dict[int, str] = {}
    for row in sorted(range(len(labels)), key=lambda row: (labels[row].rank, depths[row])):
        handle = labels[row].handle
        text, scale, size = handle.text, handle.font_screen_scale, (view.lens.width, view.lens.height)
        anchor = inwards(pixels[row], text, handle.anchor, size, scale) if depths[row] > 0.0 else None
        if anchor is not None and is_free(edges := edges_at(pixels[row], text, anchor, scale), taken):
            shown[row] = anchor
            taken.append(edges)
    return shown


def _view_of(camera: Any) -> View | None:
    """Return the view of a page's camera; None until it is known."""
    try:
        eye, at, width, height = camera.position, camera.look_at, camera.image_width, camera.image_height
        horizontal = 2.0 * math.atan(math.tan(0.5 * camera.fov) * width / max(height, 1))
        return looking(np.asarray(eye), np.asarray(at), (width, height), min(horizontal, _WIDEST))
    except (AssertionError, AttributeError, ValueError):
        return None
