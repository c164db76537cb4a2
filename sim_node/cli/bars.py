"""Progress bars on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def bar(over: Iterable[Any] | None = None, *, hidden: bool = False, **options: Any) -> tqdm[Any]:
    """Return a progress bar, which is only drawn if standard error is a terminal.

    Args:
        over: Iterable to wrap; None if its `update` is called instead.
        hidden: Whether it is never drawn.
        **options: Options of tqdm.

    Returns:
        The bar.
    """
    from tqdm import tqdm  # most commands never show one

    return tqdm(over, disable=hidden or not sys.stderr.isatty(), **options)
