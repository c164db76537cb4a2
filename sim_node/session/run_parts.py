"""What is added to runs, by extensions above all: sinks and their topics, files of recordings, and what ends a run.

A new one is a subclass of RunPart and its entry in RUN_PARTS.
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
    """Where the sinks of a run send, and how they name and stamp.

    Attributes:
        outlet: Receives the messages.
        prefix: Prefix of all frame names except the fixed frame's.
        stamp: Gives the stamp (ns) of messages for a simulation time (ns).
        scene_graph_rate: Updates of the scene graph per simulated second, Hz; 0 for no scene graph.
    """

    outlet: Outlet
    prefix: str
    stamp: Stamp
    scene_graph_rate: float


class OwnedTopic(NamedTuple):
    """A topic of a run, what publishes it, for messages, and where the world describes that."""

    topic: Topic
    owner: str
    place: Place


class Attendant:
    """What goes with a run while it lasts; by default nothing.

    Attributes:
        duration_ns: Simulated time after which the run is over unless another is asked for, or None.
        notes: Sentences for the user.
    """

    duration_ns: int | None = None
    notes: Sequence[str] = ()

    def sinks(self, stop: Callable[[], None]) -> tuple[Sink, ...]:
        """Return sinks that follow the run. stop: ends it."""
        return ()

    def let_start(self, *, allowed: bool, report: Callable[[str], None], warn: Callable[[str], None]) -> None:
        """Take whether the world may start programs, and what receives lines of text for the user."""

    def let_stop(self, programs: Supervisor) -> None:
        """Take the programs of the run, which may be asked to end."""

    def let_ask(self, requests: RequestContext, report: Callable[[str], None]) -> None:
        """Take what carries out requests, and what receives lines of text for the user."""


class RunPart:
    """What an extension adds to runs; by default nothing.

    Attributes:
        noun: What its topics are, on the node's first lines.
    """

    noun = ""

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sinks that publish what it has; they are opened with the world."""
        return ()

    def topics(self, world: World, prefix: str = "") -> Iterable[OwnedTopic]:
        """Return the topics that these sinks advertise for an assembled world."""
        return ()

    def attachments(
        self, world: World, publish_rate: float, prefix: str, resolve: Callable[[str], str]
    ) -> Iterable[Attached]:
        """Return files for the recording of a run.

        Args:
            world: The world.
            publish_rate: Ticks that are published per simulated second (Hz).
            prefix: Prefix of the names of all frames and topics.
            resolve: Makes the names of topics absolute.
        """
        return ()

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return what goes with a run, or None. shown: whether a viewer shows it."""
        return None


RUN_PARTS: Registry[str, RunPart] = Registry(
    "part of runs", shipped=("sim_node.session.joint_states",), group="sim_node.runs"
)
