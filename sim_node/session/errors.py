"""Errors of opening a session that come from neither a world nor a bag."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sim_node.packages import how_to_install


class MissingExtra(ImportError):
    """A package that is needed only by an option is not installed.

    Args:
        what: The option, for the message.
        missing: The import error.
    """

    def __init__(self, what: str, missing: ImportError) -> None:
        super().__init__(f"{what}: {how_to_install(missing)}")
        self.name = missing.name


@contextmanager
def needing(what: str) -> Iterator[None]:
    """Run imports that only one option needs. Raises MissingExtra if a package is missing."""
    try:
        yield
    except ImportError as missing:
        raise MissingExtra(what, missing) from None
