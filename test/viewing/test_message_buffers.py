"""Threads that draw while pages wait (asyncio's documentation: its events and futures are not thread-safe)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from viser._messages import SetPositionMessage
from viser.infra import _infra

from sim_node.viewing.browser.server import Server


def test_a_thread_that_draws_leaves_waiting_pages_to_their_loop() -> None:
    Server(0, "test").stop()  # servers of this process have the buffers that are tried here
    loop = asyncio.new_event_loop()
    buffer: Any = _infra.AsyncMessageBuffer(loop, persistent_messages=True)
    woken_by_others: list[bool] = []

    async def page() -> Any:
        async for window in buffer.window_generator(0):
            return window

    async def draw() -> Any:
        waiting = asyncio.ensure_future(page())
        while not buffer.message_event._waiters:
            await asyncio.sleep(0)
        # While the loop stands, nobody may touch what only its thread may change.
        thread = threading.Thread(target=buffer.push, args=[SetPositionMessage("body", (1.0, 2.0, 3.0))])
        thread.start()
        thread.join()
        woken_by_others.extend(waiter.done() for waiter in buffer.message_event._waiters)
        return await asyncio.wait_for(waiting, 20.0)

    window = loop.run_until_complete(draw())
    loop.close()
    assert woken_by_others == [False]
    assert [message.position for message in window] == [(1.0, 2.0, 3.0)]
