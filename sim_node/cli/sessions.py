"""What subcommands that open a session share: its faults, as mistakes of the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sim_node.cli.errors import UsageError
from sim_node.recording.bag import BagError
from sim_node.recording.settings import SettingsFault
from sim_node.session import MissingExtra
from sim_node.viewing.ports import PagePortTaken


@contextmanager
def session_faults() -> Iterator[None]:
    """What the user got wrong about a recording or a viewer, as UsageError."""
    try:
        yield
    except (BagError, SettingsFault) as fault:
        raise UsageError(f"--record: {fault}") from None
    except (MissingExtra, PagePortTaken) as fault:
        raise UsageError(str(fault)) from None
