"""Resolution of the annotations of the user's functions and classes, including those written as strings."""

from __future__ import annotations

import builtins
import re
import typing
from collections.abc import Mapping
from types import FrameType
from typing import Any

from sim_node.extensions.elodin.errors import EcsError
from sim_node.text import did_you_mean
from sim_node.world.problems import Where

_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")


def scope_of(frame: FrameType | None) -> dict[str, Any]:
    """Return the local variables visible to a definition in a frame: its own and those of the enclosing functions.

    String annotations (`from __future__ import annotations`) may name them, and nothing else keeps them alive.
    """
    scope: dict[str, Any] = {}
    file = frame.f_code.co_filename if frame is not None else ""
    while frame is not None:
        if frame.f_code.co_filename == file:
            scope = {**frame.f_locals, **scope}
        frame = frame.f_back
    return scope


def resolved(owner: Any, scope: Mapping[str, Any], where: Where, name: str) -> dict[str, Any]:
    """Return the annotations of a function or class.

    Args:
        owner: The function or class.
        scope: Variables that its annotations may name, in addition to those of its module.
        where: Its location, for messages.
        name: Its name, for messages.

    Raises:
        EcsError: An annotation names something unknown or is invalid. The message suggests the nearest name.
    """
    try:
        return typing.get_type_hints(owner, localns=dict(scope), include_extras=True)
    except NameError as error:
        unknown = str(error.name)
        known = [*scope, *getattr(owner, "__globals__", {}), *vars(builtins)]
        message = f"the annotation {unknown!r} names nothing{did_you_mean(unknown, known)}"
    except AttributeError as error:
        missing = _ATTRIBUTE.search(str(error))
        near = did_you_mean(missing[1], dir(error.obj)) if missing else ""
        message = f"annotation: {error}{near}"
    except (TypeError, SyntaxError) as error:
        message = f"annotation: {error}"
    raise EcsError(message, where, name)
