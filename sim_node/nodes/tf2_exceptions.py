"""tf2's exceptions by their names: tf2_py's own classes where it is installed, so that `except` of either works."""

from __future__ import annotations

from typing import Any

from sim_node.tree import Disconnected, Extrapolation, InvalidTransform, TransformError, UnknownFrame

try:
    from tf2_py import (  # type: ignore[import-not-found, unused-ignore]
        ConnectivityException,
        ExtrapolationException,
        InvalidArgumentException,
        LookupException,
        TimeoutException,
        TransformException,
    )
except ImportError:

    class TransformException(Exception):  # type: ignore[no-redef]
        """Base of all that a buffer raises."""

    class LookupException(TransformException):  # type: ignore[no-redef]
        """A frame does not exist."""

    class ConnectivityException(TransformException):  # type: ignore[no-redef]
        """The frames are not in one tree."""

    class ExtrapolationException(TransformException):  # type: ignore[no-redef]
        """The time lies outside what is stored."""

    class InvalidArgumentException(TransformException):  # type: ignore[no-redef]
        """A frame name or a transform cannot be used."""

    class TimeoutException(TransformException):  # type: ignore[no-redef]
        """Kept for code that catches it; a wait that ends raises the reason instead, as in tf2_ros."""


__all__ = [
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "TimeoutException",
    "TransformException",
    "as_tf2",
]


def as_tf2(error: TransformError) -> Any:
    """Return the exception that tf2 has for an error of the tree, with the error's own message."""
    if isinstance(error, Extrapolation):
        # Programs look for tf2's words.
        return ExtrapolationException(f"Lookup would require {error}")
    if isinstance(error, Disconnected):
        return ConnectivityException(str(error))
    if isinstance(error, InvalidTransform):
        return InvalidArgumentException(str(error))
    if isinstance(error, UnknownFrame) and (not error.frame or error.frame.startswith("/")):
        return InvalidArgumentException(f"'{error.frame}' is no frame name: it is empty or begins with a slash")
    return LookupException(str(error))
