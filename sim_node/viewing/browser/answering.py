"""Replies to users of the page: what was done, or why it was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.plugins import blamed

SHOWN_S = 5.0


def answer(event: Any, act: Callable[[], object]) -> None:
    """Call a function, and show its text result, or the reason why it was refused, to the user who caused the event."""
    title = "Done"
    try:
        text = act()
    except Exception as refusal:  # of the run
        title, text = "Not done", str(blamed(refusal) or refusal)
    if isinstance(text, str) and event.client is not None:
        event.client.add_notification(title, text, auto_close_seconds=SHOWN_S)
