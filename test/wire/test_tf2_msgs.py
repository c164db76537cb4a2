"""The tf2_msgs that set-up builds is upstream's on the wire: the type hashes of REP 2016 are those of Jazzy's."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

tf2_msgs = pytest.importorskip("tf2_msgs", reason="needs tf2_msgs")


# From the .json files that geometry2 0.36 installs.
HASHES = {
    "msg/TFMessage": "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "msg/TF2Error": "RIHS01_db2485e7d6a0ec75bf087e058ee45df682acc3a621ca7780503d10aac141809a",
    "srv/FrameGraph": "RIHS01_0d1fbc6222c018ba5f33822904a2fdd4063705289956d3fdde07cd8c50fe8067",
    "action/LookupTransform": "RIHS01_0b8adf6bc0b5958879e3265b41a457e03558fe523890a81252c70eba97a82c5d",
}


@pytest.mark.parametrize("name", HASHES)
def test_the_hash(name: str) -> None:
    share = next((folder / "share" / "tf2_msgs" for folder in Path(str(files(tf2_msgs))).parents
                  if (folder / "share" / "tf2_msgs" / "package.xml").exists()), None)  # fmt: skip
    if share is None or not (share / "msg" / "TFMessage.json").exists():
        pytest.skip("this ROS 2 is older than type hashes")
    reported = json.loads((share / f"{name}.json").read_text(encoding="utf-8"))["type_hashes"]
    assert {each["type_name"]: each["hash_string"] for each in reported}[f"tf2_msgs/{name}"] == HASHES[name]


def test_all_of_it_can_be_sent() -> None:
    """A package that had less would keep tf2_ros from loading, or break it half-way."""
    from rclpy.serialization import deserialize_message, serialize_message
    from tf2_msgs.action import LookupTransform
    from tf2_msgs.msg import TF2Error
    from tf2_msgs.srv import FrameGraph

    error = TF2Error(error=TF2Error.TIMEOUT_ERROR, error_string="late")
    result = LookupTransform.Result(error=error)
    for message in (error, result, FrameGraph.Response(frame_yaml="[]"), LookupTransform.Goal(target_frame="map")):
        assert deserialize_message(serialize_message(message), type(message)) == message
    assert TF2Error.TIMEOUT_ERROR == 5
