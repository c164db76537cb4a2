"""Both halves of a client's program: it does one thing, says what came of it, and waits until that was checked."""

from __future__ import annotations

import json
import sys
from typing import Any


def did(what: str, **found: Any) -> None:
    """Say what was done, and wait for the go-ahead."""
    print(json.dumps({"did": what, **found}), flush=True)
    if sys.stdin.readline().strip() != "on":
        sys.exit("stopped")
