"""Both halves of an exchange with an autopilot."""

from __future__ import annotations

from sim_node.autopilot.lockstep import Autopilot, Commands, Sample


def take_turns(autopilot: Autopilot, sample: Sample) -> Commands | None:
    autopilot.send(sample)
    return autopilot.receive()
