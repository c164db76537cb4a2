"""The names of `sim_node.extensions.elodin`, for worlds that reproduce the numerical results of Elodin 0.16.

import sim_node.extensions.elodin.compat as el
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from sim_node.extensions.elodin import *  # noqa: F403
from sim_node.extensions.elodin.egm08 import EGM08
from sim_node.extensions.elodin.session.world import World as _World


class World(_World):  # type: ignore[no-redef]
    """A world in Python that reproduces the results of Elodin 0.16. See `sim_node.extensions.elodin.World`."""

    def __init__(self, frame: Any = None, compat: str | None = "elodin", **more: Any) -> None:
        super().__init__(frame, compat, **more)

    from_file = staticmethod(partial(_World.from_file, compat="elodin"))


WorldBuilder = World  # type: ignore[misc]
egm08 = cast("Any", SimpleNamespace(EGM08=partial(EGM08, compat="elodin")))
