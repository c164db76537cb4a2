"""The graphs of a page of panels, as they go over its socket."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from waiting import PATIENCE
from websockets.sync.client import connect


def graphs(url: str, enough: Callable[[dict[int, list[Any]]], bool]) -> tuple[list[list[str]], dict[int, list[Any]]]:
    """The labels of the graphs, and by number their samples [time, values], once there are enough."""
    samples: dict[int, list[Any]] = {}
    with connect(f"{url.replace('http', 'ws')}/panels", ping_interval=None) as connection:
        layout = json.loads(connection.recv(PATIENCE))
        end = time.monotonic() + PATIENCE
        while not enough(samples):
            assert time.monotonic() < end, samples
            for number, times, values, reset in json.loads(connection.recv(PATIENCE))["graphs"]:
                kept = [] if reset else samples.get(number, [])
                samples[number] = kept + list(zip(times, values, strict=True))
    return [panel["labels"] for panel in layout["panels"]], samples
