"""Where what a program leaves behind is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """$XDG_STATE_HOME/sim_node, ~/.local/state/sim_node by default (XDG Base Directory Specification 0.8)."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # "If an implementation encounters a relative path in any of these variables it should ... ignore it."
    return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "sim_node"
