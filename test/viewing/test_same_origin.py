"""What other web sites in the same browser could try: websocket hijacking (RFC 6455, 10.2) and DNS rebinding."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import viser
import websockets.asyncio.server
from page import opened
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from sim_node.viewing.browser.server import Server, own_pages_only


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = Server(0, "test")
    yield int(urlsplit(server.url).port or 0)
    server.stop()


def shake_hands(port: int, origin: Any, host: str) -> int:
    """The status that a websocket client gets: 101 where it is let in."""
    protocol: Any = f"viser-v{viser.__version__}"
    asked: dict[str, Any] = {"subprotocols": [protocol], "compression": None, "open_timeout": 5.0}
    try:
        # A name as a browser sees it, and the address that its owner lets it lead to.
        there = socket.create_connection(("127.0.0.1", port))
        with connect(f"ws://{host}", sock=there, origin=origin, **asked) as connection:
            return connection.response.status_code if connection.response else 0
    except InvalidStatus as refused:
        return refused.response.status_code


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_its_own_page_comes_in_and_so_does_a_program(port: int, name: str) -> None:
    assert shake_hands(port, f"http://{name}:{port}", f"{name}:{port}") == 101
    assert shake_hands(port, None, f"{name}:{port}") == 101


def test_a_page_that_ssh_brings_to_another_port_comes_in(port: int) -> None:
    assert shake_hands(port, "http://localhost:9000", "localhost:9000") == 101


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}@evil.example",
        "null",
        "",
    ],
)
def test_a_page_from_elsewhere_is_refused(port: int, origin: str) -> None:
    assert shake_hands(port, origin.format(port=port), f"127.0.0.1:{port}") == 403


@pytest.mark.parametrize("host", ["evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1.evil.example"])
def test_a_name_that_was_made_to_lead_here_is_refused(port: int, host: str) -> None:
    host = host.format(port=port)
    for origin in (f"http://{host}", None):
        assert shake_hands(port, origin, host) == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:{port}"}, 200),
        ({"Host": "127.0.0.1:{port}", "Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:{port}", "Origin": "http://evil.example"}, 403),
        ({"Host": "user@127.0.0.1:{port}"}, 403),
        ({"Host": "127.0.0.1:x"}, 403),
        ({"Host": "["}, 403),
        ({}, 403),
    ],
)
def test_the_page_itself_is_for_this_machine_alone(port: int, headers: dict[str, str], status: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("GET", "/", skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value.format(port=port))
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_a_page_still_gets_the_scene(port: int) -> None:
    with opened(f"http://127.0.0.1:{port}") as page:
        assert page.messages


def test_what_was_swapped_is_back_and_a_server_started_otherwise_is_an_error() -> None:
    serve = websockets.asyncio.server.serve
    with pytest.raises(RuntimeError, match="other web sites could reach it"), own_pages_only():
        assert websockets.asyncio.server.serve is not serve
    assert websockets.asyncio.server.serve is serve
