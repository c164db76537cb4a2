"""Kernels work where numba finds no folder to keep them in."""

from __future__ import annotations

import subprocess
import sys

from waiting import PATIENCE

READ_ONLY = """
from numba.core import caching

getattr(caching, "CacheImpl", getattr(caching, "_CacheImpl", None))._locator_classes = []

from numba import njit

try:
    njit(cache=True)(lambda: None)
except RuntimeError as refused:
    assert "no locator" in str(refused)
else:
    raise AssertionError("numba kept a kernel after all")

from sim_node.geometry.kernel_cache import CACHE

print(CACHE)
"""


def test_without_a_place_to_keep_them_kernels_are_not_kept() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", READ_ONLY], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.stdout, ran.returncode) == ("False\n", 0), ran.stderr


def test_here_they_are_kept() -> None:
    from sim_node.geometry.kernel_cache import CACHE

    assert CACHE
