"""The built-in autopilot in the process of the run: the same MAVLink bytes, through memory instead of a socket."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable

from sim_node.autopilots.builtin.memory import Memory
from sim_node.autopilots.builtin.program import in_process
from sim_node.autopilots.builtin.simulator import MemoryLink
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.lockstep.autopilot import Commands
from sim_node.autopilots.lockstep.mavlink_builtin import MavlinkBuiltin
from sim_node.autopilots.lockstep.samples import Sample


def _nothing() -> None:
    """Nothing runs that would have to be ended."""


class InProcessBuiltin(MavlinkBuiltin):
    """The simulator side of the built-in autopilot, which flies in the thread that steps the simulation.

    A thread of its own serves its ground links, also while the run is paused.

    Args:
        instance: The instance number, from 0, which determines the ports.
        outputs: Number of channels that it sends.
        low: The least command of a channel.
        parameters: The vehicle.
    """

    def __init__(self, instance: int, outputs: int, low: float, parameters: VehicleParameters) -> None:
        super().__init__(instance, outputs, low)
        self.wait.own = True
        self._parameters = parameters
        self._remembered = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the simulation
        self._link: MemoryLink | None = None
        self._end: Callable[[], None] = _nothing

    def close(self) -> None:
        """Close the ports, and end the autopilot."""
        self.kill()
        super().close()
        self._remembered.close()

    def send(self, sample: Sample) -> None:
        """Let the autopilot answer the sample."""
        self._reset = self._reset or sample.time_ns < self._now_ns
        # Samples begin with the first step of a run, also after a reset.
        self._sample = sample if sample.time_ns else None
        if self._sample is None:
            return
        link = self._link or self._begin()
        self._exchanges += 1
        self._reject_second()
        self._keep_time(sample.time_ns)
        self._take(link.exchange(self._frames(sample)))
        self._reset = False
        self.wait.answered += 1

    def receive(self) -> Commands | None:
        """Return the commands of the answer."""
        if self._sample is None or self._controls is None:
            return None
        return self._controls.commands(self._outputs, self._low)

    def kill(self) -> None:
        """End the autopilot; the next sample begins it again, from what it remembers."""
        self._end()
        self._link, self._end = None, _nothing
        self.wait.peer, self.wait.lockstep = "", False

    def _begin(self) -> MemoryLink:
        autopilot = in_process(self._parameters, self.instance, Memory(self._remembered.fileno()))
        assert isinstance(autopilot.link, MemoryLink)
        serving = threading.Thread(target=autopilot.run, name=f"autopilot {self.instance}", daemon=True)
        serving.start()

        def end() -> None:
            autopilot.stop()
            serving.join()

        self._link, self._end = autopilot.link, end
        self.wait.peer, self.wait.lockstep = "this process", True
        return self._link
