"""The recording that a node's parameters ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.nodes.parameters import RECORD, ParameterFault
from sim_node.packages import how_to_install
from sim_node.recording.bag import BagError, RecordingStopped

if TYPE_CHECKING:
    from sim_node.recording.provenance import Attached
    from sim_node.recording.recorder import Recorder


def recorder_of(
    node: Node,
    values: Mapping[str, Any],
    attached: Sequence[Attached] = (),
    custom: Mapping[str, str] | None = None,
    *,
    patient: bool = True,
) -> Recorder:
    """The recording, with its service ~/snapshot in snapshot mode; see Recorder. Raises ParameterFault."""
    try:
        # Here, because a node that does not record needs none of it.
        from sim_node.recording.recorder import Recorder
        from sim_node.recording.settings import SettingsFault, from_options
    except ImportError as error:
        raise ParameterFault(f"parameter record: {how_to_install(error)}") from None
    options = {name.removeprefix("record_"): values[name] for name in RECORD if name != "record"}
    try:
        recorder = Recorder(
            Path(values["record"]),
            from_options(options),
            attached,
            custom,
            tell=node.get_logger().error,
            resolve=node.resolve_topic_name,
            patient=patient,
        )
    except SettingsFault as fault:
        raise ParameterFault(f"parameter record_{fault}") from None
    except BagError as error:
        raise ParameterFault(f"parameter record: {error}") from None
    if recorder.settings.snapshot_ns:
        serve_snapshot(node, recorder)
    return recorder


def serve_snapshot(node: Node, recorder: Recorder) -> None:
    """~/snapshot (std_srvs/Trigger): writes what a recording in snapshot mode keeps."""

    def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            count = recorder.snapshot()
        except RecordingStopped as refusal:
            response.success, response.message = False, str(refusal)
        else:
            response.success, response.message = True, f"{count} messages to {recorder.folder}"
        return response

    node.create_service(Trigger, "~/snapshot", serve)
