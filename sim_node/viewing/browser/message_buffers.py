"""viser's message buffers, made safe to fill from drawing threads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from viser.infra import _infra
from viser.infra._async_message_buffer import AsyncMessageBuffer


class _LoopEvent(asyncio.Event):
    """An event that is only set by its loop's thread.

    asyncio events are not thread-safe: setting one from another thread fails if a waiter leaves at the same time
    ("deque mutated during iteration"). viser's `push` does that and then also asks the loop to set the event, which is
    sufficient.
    """

    def set(self) -> None:
        if asyncio._get_running_loop() is not None:
            super().set()


@dataclass
class _Buffer(AsyncMessageBuffer):  # type: ignore[misc]
    message_event: asyncio.Event = field(default_factory=_LoopEvent)


def make_thread_safe() -> None:
    """Give the servers that viser starts from now on message buffers that several threads may fill."""
    _infra.AsyncMessageBuffer = _Buffer
