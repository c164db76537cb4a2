"""Anything at all on the simulator links: see bench/lockstep_fuzz.py, of which this is a part."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from claims import free_instance

from bench.lockstep_fuzz import fuzz_ardupilot, fuzz_px4


@pytest.mark.parametrize(("fuzz", "packets"), [(fuzz_ardupilot, 100_000), (fuzz_px4, 25_000)])
def test_broken_packets_are_left_aside(fuzz: Callable[..., int], packets: int) -> None:
    assert fuzz(packets, seed=7, instance=free_instance()) >= packets
