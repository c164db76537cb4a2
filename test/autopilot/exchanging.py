"""Both halves of an exchange with an autopilot."""

from __future__ import annotations

from sim_node.autopilots.lockstep import Commands, LockstepAutopilot, Sample


def take_turns(autopilot: LockstepAutopilot, sample: Sample) -> Commands | None:
    autopilot.send(sample)
    return autopilot.receive()
