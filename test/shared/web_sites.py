"""A server of files on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """A server: what it answers by path, as a media type and a body or a place elsewhere; and what was asked for."""

    port: int
    answers: dict[str, tuple[str, bytes | str]]
    asked: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving(answers: dict[str, tuple[str, bytes | str]]) -> Iterator[Site]:
    """Serve answers on this machine, in a thread."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            media_type, body = served.answers.get(self.path, ("", b""))
            if isinstance(body, str):
                self.send_response(302)
                self.send_header("Location", body)
                self.end_headers()
                return
            self.send_response(200 if media_type else 404)
            self.send_header("Content-Type", media_type or "text/plain")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Site(server.server_port, answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()
