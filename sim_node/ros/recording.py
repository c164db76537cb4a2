"""The recording configured by a node's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.recording.settings import RecordingSettings, SettingsFault, from_options
from sim_node.ros.parameters import RECORD, ParameterFault

if TYPE_CHECKING:
    from sim_node.recording.recorder import Recorder


# Service that a node offers only while it records in snapshot mode.
SNAPSHOT = "~/snapshot"


def recording_settings(values: Mapping[str, Any]) -> RecordingSettings:
    """Return recording settings from parameters. Raises ParameterFault."""
    with recording_faults():
        return from_options({name.removeprefix("record_"): values[name] for name in RECORD if name != "record"})


@contextmanager
def recording_faults() -> Iterator[None]:
    """Convert errors of a recording to ParameterFault."""
    try:
        yield
    except SettingsFault as fault:
        raise ParameterFault(f"parameter record_{fault}") from None
    except BagError as fault:
        raise ParameterFault(f"parameter record: {fault}") from None


def recorder_of(node: Node, values: Mapping[str, Any]) -> Recorder:
    """Create a recorder that never blocks, with the service ~/snapshot in snapshot mode. Raises ParameterFault."""
    settings = recording_settings(values)
    with recording_faults():
        # Imported here because a node that does not record does not need it.
        from sim_node.recording.recorder import Recorder

        recorder = Recorder(
            Path(values["record"]),
            settings,
            warn=node.get_logger().error,
            resolve=node.resolve_topic_name,
            patient=False,
        )
    if settings.snapshot_ns:
        serve_snapshot(node, recorder)
    return recorder


def serve_snapshot(node: Node, recorder: Recorder) -> None:
    """Offer ~/snapshot (std_srvs/Trigger), which writes the buffer of a recording in snapshot mode."""

    def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            count = recorder.snapshot()
        except RecordingStopped as refusal:
            response.success, response.message = False, str(refusal)
        else:
            response.success, response.message = True, f"{count} messages to {recorder.folder}"
        return response

    node.create_service(Trigger, SNAPSHOT, serve)
