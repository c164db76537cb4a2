"""Download of models, as binary glTF or ZIP files, with limits on size, time and redirections."""

from __future__ import annotations

import ipaddress
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from sim_node.world.unpacking import check_zip

MAX_BYTES = 64 * 1024 * 1024
# Time limit for each answer of the server, and for a whole download, s.
PATIENCE_S, DEADLINE_S = 15.0, 120.0
# Media types of servers for such files. Other types are usually web pages, such as a login page.
_ANY = ("application/octet-stream", "binary/octet-stream", "application/x-binary")
# GLB file format, glTF 2.0, 4.4: magic, version and length; then chunks of a length and a type, JSON first.
_MAGIC, _VERSION, _HEADER, _JSON = b"glTF", 2, 12, b"JSON"


class Fetchable(NamedTuple):
    """A format that can be fetched: its media types, and a check that raises ValueError for anything else."""

    media_types: tuple[str, ...]
    check: Callable[[bytes], None]


def check_url(url: str) -> None:
    """Raise ValueError, with the reason, if a URL must not be fetched."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"is not a URL: {error}") from None
    if parts.scheme not in ("https", "http"):
        raise ValueError(f"is not fetched by {parts.scheme}; allowed: https")
    if not host or any(ord(each) <= 32 or ord(each) == 127 for each in url):
        raise ValueError("is not a URL: it needs a host, and no spaces")
    if parts.username is not None or parts.password is not None:
        raise ValueError("has a user's name, which is not sent")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ValueError("is not fetched by http, which anybody on the way can change; allowed: https")


def download(url: str, suffix: str) -> bytes:
    """Download a file.

    Args:
        url: URL that `check_url` allows.
        suffix: The format, a key of FORMATS.

    Returns:
        The content of the file.

    Raises:
        ValueError: The download fails, is too large, or has another format. The message gives the reason.
    """
    opener = urllib.request.OpenerDirector()
    handlers = (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler)
    for handler in (*handlers, urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPErrorProcessor, _Redirects):
        opener.add_handler(handler())
    media_types, check = FORMATS[suffix]
    request = urllib.request.Request(url, headers={"User-Agent": "sim_node", "Accept": media_types[0]})
    try:
        with opener.open(request, timeout=PATIENCE_S) as answer:
            data = _read(answer, media_types)
    except urllib.error.HTTPError as error:
        raise ValueError(f"the server answered {error.code} {error.reason}".rstrip()) from None
    except urllib.error.URLError as error:
        reason = error.reason
        detail = getattr(reason, "strerror", None) or reason
        raise ValueError(f"no connection: {' '.join(str(detail).split())}") from None
    except (OSError, HTTPException) as error:
        detail = getattr(error, "strerror", None) or error
        raise ValueError(f"the connection failed: {' '.join(str(detail).split()) or type(error).__name__}") from None
    check(data)
    return data


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections only to URLs that are allowed themselves, and not from the network to this machine."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        try:
            check_url(newurl)
        except ValueError as error:
            raise ValueError(f"it is redirected to {newurl!r}, which {error}") from None
        if _is_loopback(urlsplit(newurl).hostname or "") and not _is_loopback(urlsplit(req.full_url).hostname or ""):
            raise ValueError(f"it is redirected to {newurl!r}, on this machine")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _read(answer: Any, media_types: tuple[str, ...]) -> bytes:
    """Return the body of a response. Raises ValueError for another media type, too many bytes, or too much time."""
    media_type = answer.headers.get_content_type() if answer.headers.get("Content-Type") else media_types[0]
    if media_type not in media_types:
        raise ValueError(f"the server sent {media_type}; allowed: {', '.join(media_types)}")
    too_large = ValueError(f"it is larger than {MAX_BYTES // 1024**2} MB")
    announced = answer.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > MAX_BYTES:
        raise too_large
    until, data = time.monotonic() + DEADLINE_S, bytearray()
    while chunk := answer.read1(1 << 16):
        data += chunk
        if len(data) > MAX_BYTES:
            raise too_large
        if time.monotonic() > until:
            raise ValueError(f"it took longer than {DEADLINE_S:g} s")
    return bytes(data)


def _check_glb(data: bytes) -> None:
    """Raise ValueError if data is not a whole binary glTF file, or refers to other files."""
    version, length, size = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8, 12))
    if data[:4] != _MAGIC or version != _VERSION:
        raise ValueError("what the server sent is not a binary glTF 2 file")
    if length != len(data):
        raise ValueError(f"it is incomplete: {len(data)} of {length} bytes")
    text = data[_HEADER + 8 : _HEADER + 8 + size]
    try:
        if data[_HEADER + 4 : _HEADER + 8] != _JSON or len(text) != size:
            raise ValueError
        content = json.loads(text)
        entries = [each for key in ("buffers", "images") for each in content.get(key, ())]
        uris = [str(each["uri"]) for each in entries if "uri" in each]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError("what the server sent is not a binary glTF 2 file: its JSON is damaged") from None
    outside = next((uri for uri in uris if not uri.startswith("data:")), None)
    if outside is not None:
        raise ValueError(f"it refers to another file, {outside[:60]!r}")


# Formats that can be fetched, by suffix of the URL.
FORMATS = {
    ".glb": Fetchable(("model/gltf-binary", *_ANY), _check_glb),
    ".zip": Fetchable(("application/zip", "application/x-zip-compressed", *_ANY), check_zip),
}
