"""viser's message buffers, safe to fill from the threads that draw."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from viser.infra import _infra
from viser.infra._async_message_buffer import AsyncMessageBuffer


class _LoopEvent(asyncio.Event):
    """An event that only its loop's thread sets.

    asyncio's events are not thread-safe: set from another thread, one fails where a waiter leaves at that moment
    ("deque mutated during iteration"). viser's `push` sets it so, and then asks the loop to set it; the second call is
    enough.
    """

    def set(self) -> None:
        if asyncio._get_running_loop() is not None:
            super().set()


@dataclass
class _Buffer(AsyncMessageBuffer):  # type: ignore[misc]
    message_event: asyncio.Event = field(default_factory=_LoopEvent)


def make_thread_safe() -> None:
    """Give servers that viser starts from now on buffers that several threads may fill."""
    _infra.AsyncMessageBuffer = _Buffer
