"""Compiled kernels are kept between runs; what was compiled in must be what the sources say."""

from __future__ import annotations

import zlib

from sim_node.tree import kernels, layout


def test_kernels_are_compiled_anew_when_the_layout_changes() -> None:
    """numba looks only at the file of a kernel to see whether what it kept is stale."""
    names = sorted(name for name in vars(layout) if name.isupper())
    values = [(name, getattr(layout, name)) for name in names]
    digest = zlib.crc32(repr([(name, getattr(value, "descr", value)) for name, value in values]).encode())
    assert digest == kernels.LAYOUT, f"layout.py has changed: set LAYOUT in kernels.py to {digest}"
