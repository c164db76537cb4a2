"""How a script of a world in Python ends with an uncaught error."""

from __future__ import annotations

import sys
from types import TracebackType


def show_only_messages() -> None:
    """Make an uncaught EcsError end a script with its message alone, and exit code 2.

    The message names the line of the script; a traceback through this package would only hide it.
    """
    others = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        from sim_node.extensions.elodin.errors import EcsError  # with all that it imports, which a script may not need

        if not isinstance(error, EcsError):
            others(kind, error, trace)
            return
        print(error, file=sys.stderr)
        raise SystemExit(2)

    sys.excepthook = show
