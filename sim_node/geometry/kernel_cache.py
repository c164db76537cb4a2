"""Whether compiled kernels can be kept on disk. Importing this imports numba: kernels do, callers need not."""

from __future__ import annotations

from numba import njit


def _possible() -> bool:
    """numba keeps them beside the source, else in the user's cache folder, and refuses where it may write neither."""
    try:
        njit(cache=True)(_nothing)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    pass


# Without a place to keep them, as in a read-only container, kernels are compiled anew by each process.
CACHE = _possible()
