"""Serving tools in a thread: by standard input and output, or by HTTP on 127.0.0.1."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp.server.mcpserver import MCPServer

from sim_node.extensions.assistants.access import Access
from sim_node.extensions.assistants.commands import END_S
from sim_node.extensions.assistants.graph import Graph, ToolRefused
from sim_node.extensions.assistants.journal import Journal
from sim_node.extensions.assistants.server import HOST, PATH, UnderWay, serve_http, server_of

# What the server has to end in, s, and then the calls under way: a vehicle stops, a program ends.
_END_S, _CALLS_S = 1.5, END_S + 3.0
_CHUNK = 65536


@contextmanager
def serving_stdio(
    access: Access, graph: Callable[[], Graph], journal: Journal, ended: Callable[[], None]
) -> Iterator[None]:
    """Serve one client by standard input and output while a block runs.

    Args:
        access: What the user allows.
        graph: Returns the running graph, or raises ToolRefused.
        journal: Where calls are kept.
        ended: Called from another thread when the client has closed standard input.
    """
    read, write = os.pipe()
    closing = threading.Lock()
    closed = False

    def close() -> None:
        nonlocal closed
        with closing:
            if not closed:
                closed = True
                os.close(write)

    def copy() -> None:
        # A read of standard input cannot be cancelled, the end of a pipe can be made.
        with suppress(OSError):
            while data := os.read(own, _CHUNK):
                while data:
                    data = data[os.write(write, data) :]
        close()

    own = os.dup(0)
    before = sys.stdin
    with open(read, encoding="utf-8", errors="replace") as sys.stdin:
        try:
            with _thread(lambda server: server.run_stdio_async(), access, graph, journal, ended):
                threading.Thread(target=copy, name="stdin", daemon=True).start()
                try:
                    yield
                finally:
                    close()
        finally:
            sys.stdin = before


@contextmanager
def serving_http(
    access: Access, graph: Callable[[], Graph], journal: Journal, port: int, token: str, ended: Callable[[], None]
) -> Iterator[str]:
    """Serve clients by streamable HTTP on 127.0.0.1 while a block runs.

    Args:
        access: What the user allows.
        graph: Returns the running graph, or raises ToolRefused.
        journal: Where calls are kept.
        port: The TCP port; 0 for a free one.
        token: What clients must send as `Authorization: Bearer TOKEN`.
        ended: Called from another thread if the server ends by itself.

    Yields:
        The address for clients.

    Raises:
        ToolRefused: The port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # who connects before the server has started waits
    except (OSError, OverflowError) as error:
        listening.close()
        raise ToolRefused(f"--port {port}: {getattr(error, 'strerror', None) or error}") from None
    with listening, _thread(lambda server: serve_http(server, listening, token), access, graph, journal, ended) as stop:
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}{PATH}"
        finally:
            stop()


@contextmanager
def _thread(
    serve: Callable[[MCPServer[Any]], Awaitable[None]],
    access: Access,
    graph: Callable[[], Graph],
    journal: Journal,
    ended: Callable[[], None],
) -> Iterator[Callable[[], None]]:
    """Run a server in a thread; yield what cancels it. Signals stay with the main thread."""
    ready = threading.Event()
    under_way = UnderWay()
    begun: list[tuple[anyio.CancelScope, Any]] = []

    async def run() -> None:
        with anyio.CancelScope() as scope:
            begun.append((scope, anyio.lowlevel.current_token()))
            ready.set()
            await serve(server_of(access, graph, journal, version("sim_node"), under_way))

    def work() -> None:
        try:
            anyio.run(run)
        finally:
            ready.set()
            ended()

    def stop() -> None:
        scope, token = begun[0]
        with suppress(RuntimeError):  # it has ended already
            anyio.from_thread.run_sync(scope.cancel, token=token)

    thread = threading.Thread(target=work, name="mcp", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield stop
    finally:
        thread.join(_END_S)
        under_way.wait(_CALLS_S)
