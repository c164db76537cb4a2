"""Additions to runs, mainly by extensions: sinks and their topics, recording attachments, and end conditions.

To add one, subclass RunPart and add an entry to RUN_PARTS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sim_node.messages.topic import Topic
from sim_node.registry import Registry
from sim_node.world.problems import Place

if TYPE_CHECKING:
    from sim_node.messages.clock import Stamp
    from sim_node.messages.topic import Outlet
    from sim_node.recording.worlds import Attached
    from sim_node.session.requests import RequestContext
    from sim_node.simulation import Simulation, Sink
    from sim_node.simulation.programs import Supervisor
    from sim_node.world import World


@dataclass(frozen=True)
class RunTarget:
    """Where the sinks of a run send their messages, and how they name and stamp them.

    Attributes:
        outlet: Receives the messages.
        prefix: Prefix of all frame names except the fixed frame's.
        stamp: Returns the message stamp (ns) for a simulation time (ns).
        scene_graph_rate: Updates of the scene graph per simulated second, Hz; 0 for no scene graph.
    """

    outlet: Outlet
    prefix: str
    stamp: Stamp
    scene_graph_rate: float


class OwnedTopic(NamedTuple):
    """A topic of a run; its publisher, for messages; and where the world defines that publisher."""

    topic: Topic
    owner: str
    place: Place


class Attendant:
    """A companion of a run, for as long as the run lasts. The default implementation does nothing.

    Attributes:
        duration_ns: Simulated time after which the run ends, unless another duration is requested; or None.
        notes: Sentences for the user.
    """

    duration_ns: int | None = None
    notes: Sequence[str] = ()

    def sinks(self, stop: Callable[[], None]) -> tuple[Sink, ...]:
        """Return sinks that follow the run. stop: ends the run."""
        return ()

    def let_start(self, *, allowed: bool, report: Callable[[str], None], warn: Callable[[str], None]) -> None:
        """Receive whether the world may start programs, and the functions that report to the user."""

    def let_stop(self, programs: Supervisor) -> None:
        """Receive the supervisor of the run's programs, to be able to stop them."""

    def let_ask(self, requests: RequestContext, report: Callable[[str], None]) -> None:
        """Receive the context that carries out requests, and the function that reports to the user."""


class RunPart:
    """An extension's contribution to runs. The default implementation adds nothing.

    Attributes:
        noun: What its topics are called in the node's startup messages.
    """

    noun = ""

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sinks that publish its messages. They are opened with the world."""
        return ()

    def topics(self, world: World, prefix: str = "") -> Iterable[OwnedTopic]:
        """Return the topics that its sinks advertise for an assembled world."""
        return ()

    def attachments(
        self, world: World, publish_rate: float, prefix: str, resolve: Callable[[str], str]
    ) -> Iterable[Attached]:
        """Return files to attach to the recording of a run.

        Args:
            world: The world.
            publish_rate: Published ticks per simulated second (Hz).
            prefix: Prefix of the names of all frames and topics.
            resolve: Makes topic names absolute.
        """
        return ()

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return the companion of a run, or None. shown: whether a viewer shows the run."""
        return None


RUN_PARTS: Registry[str, RunPart] = Registry(
    "part of runs", shipped=("sim_node.session.joint_states",), group="sim_node.runs"
)
