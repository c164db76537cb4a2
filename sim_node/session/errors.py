"""Why a session cannot be opened, where neither a world nor a bag is at fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sim_node.packages import how_to_install


class MissingExtra(ImportError):
    """A package that only an option needs is not installed. extra: what `pip install 'sim_node[EXTRA]'` would name."""

    def __init__(self, what: str, extra: str, missing: ImportError) -> None:
        super().__init__(f"{what}: {how_to_install(missing)}; or with pip: pip install 'sim_node[{extra}]'")
        self.name = missing.name
        self.extra = extra


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Imports for one option, by the extra that has what they need. Raises MissingExtra."""
    try:
        yield
    except ImportError as missing:
        raise MissingExtra(what, extra, missing) from None
