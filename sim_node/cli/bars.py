"""Bars that show how far something is, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def bar(over: Iterable[Any] | None = None, *, hidden: bool = False, **options: Any) -> tqdm[Any]:
    """Return a bar, which is not drawn if standard error is no terminal.

    Args:
        over: What it is about, which it yields again; None if its `update` is called.
        hidden: Whether it is never drawn.
        **options: Those of tqdm.

    Returns:
        The bar.
    """
    from tqdm import tqdm  # most commands never show one

    return tqdm(over, disable=hidden or not sys.stderr.isatty(), **options)
