"""What a run publishes and where: the sinks of its messages, and of its recording, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.topic import Outlet, Tee, absolute
from sim_node.session.run_parts import RUN_PARTS, RunTarget
from sim_node.simulation import Sink
from sim_node.world import World

if TYPE_CHECKING:
    from sim_node.messages.clock import ClockSink
    from sim_node.messages.tf_sink import PoseOutlet
    from sim_node.recording.recorder import Recorder


@dataclass(frozen=True)
class Publishing:
    """How the messages of a run are composed, and where they go besides its recording.

    Attributes:
        outlet: Receives all messages; None for no outlet.
        transforms: Sends /tf and /tf_static in its own way, instead of as bytes on the outlet.
        clock: Whether /clock is published.
        after_clock: Sinks between /clock and /tf.
        prefix: Prefix of all frame names except the fixed frame's.
        stamp: Returns the message stamp (ns) for a simulation time (ns). Also used as the recording's time.
        displays: Names of the displays to publish; None for all.
        describes: Whether to publish robot descriptions and link transforms. If False, robot_state_publisher does.
        resolve: Makes topic names absolute.
        scene_graph_rate: Updates of the scene graph per simulated second, Hz; 0 for no scene graph.
        rotor_frame_rate: Transforms of turning rotors per simulated second, Hz; 0 for none.
    """

    outlet: Outlet | None = None
    transforms: PoseOutlet | None = None
    clock: bool = True
    after_clock: tuple[Sink, ...] = ()
    stamp: Stamp = simulation_stamp
    prefix: str = ""
    displays: Mapping[str, bool] | None = None
    describes: bool = True
    resolve: Callable[[str], str] = absolute
    scene_graph_rate: float = 0.0
    rotor_frame_rate: float = 0.0


class Published(NamedTuple):
    """The sinks that publish a run, in order.

    Attributes:
        sinks: All of them.
        clock: The sink of /clock.
    """

    sinks: tuple[Sink, ...] = ()
    clock: ClockSink | None = None


def published(
    how: Publishing, recorder: Recorder | None, recorded: World | None = None, served: Outlet | None = None
) -> Published:
    """Return the sinks that publish a run to an outlet and a recording; none if there is neither.

    The sink of /clock is first, for subscribers that wait for time. The recording's own sink is last and commits the
    tick. recorded: the assembled world that the recording already contains; None for the first one that is opened.
    served: an additional outlet that receives all messages.
    receives all messages.
    """
    outlets: list[Outlet] = [each for each in (how.outlet, served, recorder) if each is not None]
    if not outlets:
        return Published()
    # Imported here because a run that publishes nothing does not need them.
    from sim_node.messages.clock import ClockSink
    from sim_node.messages.odometry import OdometrySink
    from sim_node.messages.sensor_topics import SensorSink
    from sim_node.messages.signal_sink import SignalSink
    from sim_node.messages.tf_sink import TfSink, serialised, to_all
    from sim_node.viewing.display_sinks import EVERYTHING, display_sinks

    outlet = Tee(*outlets)
    transforms = serialised(outlet)
    displays = how.displays or EVERYTHING
    others: dict[str, Any] = {}
    if not how.describes:
        from sim_node.viewing.urdf import described_rows

        displays, others = {**displays, "robot_descriptions": False}, {"left_out": described_rows}
    if how.transforms is not None:
        transforms = to_all(how.transforms, *(serialised(each) for each in (served, recorder) if each is not None))
    clock = ClockSink(outlet, enabled=how.clock)
    target = RunTarget(outlet, how.prefix, how.stamp, how.scene_graph_rate)
    sinks: list[Sink] = [
        clock,
        *how.after_clock,
        TfSink(transforms, prefix=how.prefix, stamp=how.stamp, **others),
        SensorSink(outlet, prefix=how.prefix, stamp=how.stamp),
        OdometrySink(outlet, prefix=how.prefix, stamp=how.stamp),
        SignalSink(outlet, prefix=how.prefix, stamp=how.stamp),
        *(sink for part in RUN_PARTS.values() for sink in part.sinks(target)),
        *display_sinks(outlet, displays, prefix=how.prefix, stamp=how.stamp),
    ]
    if how.rotor_frame_rate > 0.0:
        from sim_node.messages.rotor_frames import RotorFrameSink

        sinks.append(RotorFrameSink(transforms, how.rotor_frame_rate, prefix=how.prefix, stamp=how.stamp))
    if recorder is not None:
        from sim_node.recording.recording_sink import RecordingSink

        sinks.append(RecordingSink(recorder, recorded))
    return Published(tuple(sinks), clock)
