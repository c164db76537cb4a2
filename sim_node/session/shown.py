"""A run and its viewer inside a notebook: `sim_node.show`."""

from __future__ import annotations

import atexit
from html import escape
from pathlib import Path

from sim_node.session.session import Session
from sim_node.world import World

# Keeps runs without other references alive until they are closed or the program ends.
_OPEN: list[Shown] = []


class Shown:
    """A run with its page, displayed by a notebook as the output of a cell. Returned by `sim_node.show`.

    Args:
        session: An open session with a viewer.
        height: Height of the page in a notebook, pixels.

    Attributes:
        session: The run: `session.loop.pause()`, `session.loop.call(...)`.
        url: Address of the page, on this machine.
    """

    def __init__(self, session: Session, height: int) -> None:
        assert session.viewer is not None
        self.session = session
        self.url: str = session.viewer.url
        self._height = height

    def close(self) -> None:
        """End the run and close its page. Closing it again has no effect."""
        if self in _OPEN:
            _OPEN.remove(self)
            self.session.close()

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Shown({self.session.world.name!r} at {self.url})" if self in _OPEN else "Shown(closed)"

    def _repr_html_(self) -> str:
        """Return the page as an iframe."""
        if self not in _OPEN:
            return "<i>closed</i>"
        url = escape(self.url, quote=True)
        style = f"width:100%;height:{self._height}px;border:0"
        return f'<iframe src="{url}" style="{style}" title="viewer"></iframe><br><a href="{url}">{url}</a>'


def show(
    world: World | str | Path,
    *,
    seed: int = 0,
    real_time_factor: float = 1.0,
    paused: bool = False,
    port: int | None = None,
    height: int = 480,
) -> Shown:
    """Run a world and show it; in a notebook, as the output of the cell.

    The run continues in the background until `close`, or until the program ends. The page is served on the machine that
    runs Python; to open it from another one, forward its port.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Seed of all random numbers.
        real_time_factor: Simulated seconds per wall second; 0 for as fast as possible.
        paused: Whether the run waits for the play button.
        port: Port of the page; None for the default one or the next free one, 0 for any free port.
        height: Height of the page in a notebook, pixels.

    Returns:
        The run with its page. Also a context manager that closes it.

    Raises:
        WorldError: The world is invalid.
        PagePortInUse: The port cannot be opened.
        MissingExtra: The viewer's packages are not installed.
    """
    view = True if port is None else port
    session = Session(world, seed=seed, real_time_factor=real_time_factor, paused=paused, view=view)
    session.open()
    shown = Shown(session, height)
    _OPEN.append(shown)
    session.start()
    return shown


@atexit.register
def _close_all() -> None:
    for shown in tuple(_OPEN):
        shown.close()
