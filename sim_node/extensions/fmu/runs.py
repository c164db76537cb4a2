"""FMUs as a part of runs. They start if the user allows processes to start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sim_node.session.run_parts import RUN_PARTS, Attendant, OwnedTopic, RunPart, RunTarget

if TYPE_CHECKING:
    from sim_node.simulation import Simulation, Sink
    from sim_node.world import World


class FmuRuns(RunPart):
    """The FMUs of a world: their outputs on topics, and their start."""

    noun = "FMUs"

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sink of their outputs."""
        from sim_node.extensions.fmu.output_sink import FmuOutputSink

        return (FmuOutputSink(target.outlet, prefix=target.prefix, stamp=target.stamp),)

    def topics(self, world: World, prefix: str = "") -> Iterable[OwnedTopic]:
        """Return the topics of their outputs."""
        if not world.parts.get("fmus"):
            return
        from sim_node.extensions.fmu.output_sink import published_outputs

        for fmu, variable, topic in published_outputs(world, prefix):
            yield OwnedTopic(topic, f"the output {variable.name} of FMU {fmu.name}", fmu.place)

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return the attendant that starts them, if there are any."""
        return Starter(simulation) if simulation.world.parts.get("fmus") else None


class Starter(Attendant):
    """Starts the FMUs of a run, or reports that they do not start."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def let_start(self, *, allowed: bool, report: Callable[[str], None], warn: Callable[[str], None]) -> None:
        """Start the FMUs if this is allowed."""
        # Imported here because most runs do not need it.
        from sim_node.extensions.fmu.engine import start_fmus

        if allowed:
            start_fmus(self._simulation, warn)
        else:
            names = ", ".join(each.name for each in self._simulation.world.parts["fmus"])
            report(f"not starting the FMUs {names}; use --processes or processes:=true to start them")


RUN_PARTS.add("fmus")(FmuRuns())
