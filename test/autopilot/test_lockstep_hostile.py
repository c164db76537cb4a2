"""Anything at all on the simulator links: see bench/lockstep_fuzz.py, of which this is a few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from bench.lockstep_fuzz import fuzz_ardupilot, fuzz_px4

FUZZ_S = 4.0


@pytest.mark.parametrize("fuzz", [fuzz_ardupilot, fuzz_px4])
def test_broken_packets_are_left_aside(fuzz: Callable[..., int]) -> None:
    assert fuzz(10**9, seed=7, until=time.monotonic() + FUZZ_S) > 1000
