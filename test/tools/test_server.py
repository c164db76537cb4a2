"""The MCP server beside the official client: schemas, refusals, files; what needs no graph."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Coroutine
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from PIL import Image

from sim_node.extensions.assistants import TOOLS, Access, FlightLimits, Graph, ToolRefused
from sim_node.extensions.assistants.commands import MAX_JSON, fitted
from sim_node.extensions.assistants.journal import Journal
from sim_node.messages.topic import Qos
from sim_node.recording.channels import RecordedTopic
from sim_node.recording.definitions import definition_of
from sim_node.recording.opening import open_bag
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.writer import BagWriter

# It takes a second to import, which each process that collects tests would spend.
if TYPE_CHECKING:
    from mcp.client import Client


def no_graph() -> Graph:
    raise ToolRefused("no graph here")


def talk(access: Access, act: Callable[[Client], Coroutine[Any, Any, None]]) -> list[dict[str, Any]]:
    """Connect the official client, let it act, and return what the journal has."""
    from mcp.client import Client

    from sim_node.extensions.assistants.server import server_of

    kept = StringIO()

    async def run() -> None:
        async with Client(server_of(access, no_graph, Journal(kept), "1")) as client:
            await act(client)

    anyio.run(run)
    return [json.loads(line) for line in kept.getvalue().splitlines()]


def refusals(access: Access, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Return what the client reads of calls that are all refused; each is in the journal."""
    found: list[str] = []

    async def act(client: Client) -> None:
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert result.is_error
            found.append(result.content[0].text.removeprefix(f"Error executing tool {name}: "))

    journal = talk(access, act)
    assert [row["outcome"] for row in journal] == ["refused"] * len(calls)
    assert [row["tool"] for row in journal] == [name for name, _ in calls]
    return found


def test_every_tool_has_a_schema_with_a_description_of_each_argument(tmp_path: Path) -> None:
    async def act(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [each.name for each in listed] == list(TOOLS)
        for each in listed:
            assert each.description
            assert each.annotations.read_only_hint is not TOOLS[each.name].changes
            for argument in each.input_schema["properties"].values():
                assert argument["description"]
            assert each.output_schema["properties"], each.name

    talk(Access(tmp_path), act)


def test_arguments_that_do_not_exist_or_do_not_fit_are_refused_in_one_line(tmp_path: Path) -> None:
    found = refusals(
        Access(tmp_path),
        ("check_wrld", {}),
        ("check_world", {"wrld": "orbit"}),
        ("flight_goto", {"x": "far", "y": 0.0}),
        ("reset", {"scope": "space"}),
    )
    assert found == [
        "no tool check_wrld; did you mean check_world?",
        "check_world has no argument wrld; did you mean world? (known: world)",
        "x: input should be a valid number, unable to parse string as a number; z: field required",
        "scope: input should be 'all', 'time', 'state' or 'spawned'",
    ]


def test_nothing_outside_the_folder_is_read_or_written(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.yaml").write_text("world: secret\n")
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (inside / "taken.png").write_text("kept")
    (inside / "program.py").write_text("raise SystemExit")
    found = refusals(
        Access(inside),
        ("check_world", {"world": "../secret.yaml"}),
        ("check_world", {"world": str(tmp_path / "secret.yaml")}),
        ("check_world", {"world": "link.yaml"}),
        ("check_world", {"world": "a\0b"}),
        ("check_world", {"world": "program.py"}),
        ("run_world", {"world": "orbit", "duration": 1.0, "bag": "../out"}),
        ("render_picture", {"world": "orbit", "picture": "taken.png"}),
        ("render_picture", {"world": "orbit", "picture": "new.exe"}),
        ("bag_info", {"bag": "."}),
    )
    assert all("is outside the folder" in each for each in (*found[:3], found[5]))
    assert found[3] == "'a\\x00b' is not a path"
    assert found[4] == "'program.py' is a program; the user allows worlds in Python by --allow-code"
    assert found[6] == "'taken.png' exists; tools overwrite nothing"
    assert found[7] == "'new.exe': a name that ends with .png is needed"
    assert found[8] == "'.' is not a bag"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "secret.yaml"]
    assert (inside / "taken.png").read_text() == "kept"


def test_what_is_given_to_a_command_is_never_an_option(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "metadata.yaml").write_text("rosbag2_bagfile_information: {}\n")
    found = refusals(
        Access(tmp_path),
        ("check_world", {"world": "--help"}),
        ("bag_query", {"bag": "bag", "target": "--every", "source": "map"}),
        ("plot", {"bag": "bag", "signals": ["--output=x"], "picture": "p.png"}),
    )
    assert found[0].startswith("no world '--help'")
    assert found[1] == "a name of a frame cannot begin with a dash here"
    assert "signals are needed" in found[2]


def test_a_world_is_checked_run_to_a_bag_and_the_bag_is_asked(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("world: w\nframs: []\n")
    writer = BagWriter(tmp_path / "many", RecordingSettings(spare_bytes=0))
    definition = definition_of("std_msgs/msg/Float64")
    writer.topics = [
        RecordedTopic(f"/topic_{row:03}", "std_msgs/msg/Float64", definition, (Qos(),)) for row in range(400)
    ]
    writer.open()
    writer.close()

    async def act(client: Client) -> None:
        wrong = await client.call_tool("check_world", {"world": "wrong.yaml"})
        assert wrong.structured_content["valid"] is False
        assert "wrong.yaml:2:1: frams: unknown key; did you mean frames?" in wrong.structured_content["report"]
        ran = await client.call_tool("run_world", {"world": "orbit", "duration": 2.0, "bag": "flight"})
        assert ran.structured_content["bag"] == "flight"
        assert ".partial-" not in ran.structured_content["report"]
        info = (await client.call_tool("bag_info", {"bag": "flight"})).structured_content
        assert "/tf" in json.dumps(info)
        assert "note" not in info
        info = (await client.call_tool("bag_info", {"bag": "many"})).structured_content
        assert info["count"] == 0
        assert [each["name"] for each in info["topics"]] == [f"/topic_{row:03}" for row in range(len(info["topics"]))]
        assert MAX_JSON - 1000 < len(json.dumps(info)) < MAX_JSON + 1000
        assert info["note"].startswith(f"left out: {400 - len(info['topics'])} of 400 topics; ")
        again = await client.call_tool("run_world", {"world": "orbit", "duration": 2.0, "bag": "flight"})
        assert again.is_error
        signal = "/tf.transforms[0].transform.translation.x"
        plot = await client.call_tool("plot", {"bag": "flight", "signals": [signal], "picture": "x.svg"})
        assert plot.structured_content["picture"] == "x.svg"
        assert signal in plot.structured_content["report"]
        assert size_of(plot.content[1])[0] > 100
        small = {"world": "flight", "width": 64, "height": 48}
        drawn = await client.call_tool("render_picture", {**small, "picture": "new/frame.png"})
        assert size_of(drawn.content[1]) == (64, 48)
        assert (tmp_path / "new" / "frame.png").read_bytes() == base64.b64decode(drawn.content[1].data)

    outcomes = [row["outcome"] for row in talk(Access(tmp_path), act)]
    assert outcomes == ["done", "done", "done", "done", "refused", "done", "done"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flight", "many", "new", "wrong.yaml", "x.svg"]
    with open_bag(tmp_path / "flight") as bag:
        assert bag.end_ns - bag.start_ns == 2_000_000_000


MOVING = """
world: w
motions:
  - frame: drone_frd
    keyframes: [{t: 0, position: [0, 0, 2]}, {t: 1, position: [4, 0, 2]}]
"""


# Takes seconds: make test has a run that is asked for, and cancelled.
@pytest.mark.nightly
def test_poses_of_a_bag_are_told_with_the_axes_of_both_frames(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(MOVING)

    async def act(client: Client) -> None:
        await client.call_tool("run_world", {"world": "w.yaml", "duration": 1.0, "bag": "flight"})
        asked = {"bag": "flight", "target": "map", "source": "drone_frd"}
        one = (await client.call_tool("bag_query", {**asked, "at": 0.5})).structured_content
        table = (await client.call_tool("bag_query", {**asked, "every": 0.25})).structured_content
        for answer in (one, table):
            assert (answer["target_convention"], answer["source_convention"]) == ("ENU", "FRD")
        assert one["translation"] == pytest.approx([2.0, 0.0, 2.0])
        head, *rows = table["csv"].splitlines()
        assert head == "time_s,x,y,z,qx,qy,qz,qw"
        assert [float(row.split(",")[1]) for row in rows] == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0])
        assert rows[1].startswith("0.250000000,")

    talk(Access(tmp_path), act)


def size_of(content: Any) -> tuple[int, int]:
    """Width and height of a PNG that an answer shows."""
    assert (content.type, content.mime_type) == ("image", "image/png")
    with Image.open(io.BytesIO(base64.b64decode(content.data))) as picture:
        size: tuple[int, int] = picture.size
        return size


def test_a_run_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async def act(client: Client) -> None:
        with anyio.fail_after(120.0):
            async with anyio.create_task_group() as group:
                call = {"world": "quadrotor", "duration": 3600.0, "bag": "flight"}
                group.start_soon(client.call_tool, "run_world", call)
                while not list(tmp_path.glob(".partial-*/flight/*")):
                    await anyio.sleep(0.05)
                assert runs(tmp_path)
                group.cancel_scope.cancel()
            while list(tmp_path.iterdir()):
                await anyio.sleep(0.05)
        assert not runs(tmp_path)
        assert not (await client.call_tool("list_worlds", {})).is_error  # the server goes on

    assert [row["outcome"] for row in talk(Access(tmp_path), act)] == ["cancelled", "done"]


def runs(folder: Path) -> list[psutil.Process]:
    """The processes of this test that record below a folder."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if any(str(folder) in word for word in each.cmdline())]


def test_worlds_are_written_listed_and_read_in_parts(tmp_path: Path) -> None:
    text = "world: w  # " + "é" * 40_000 + "\n"  # 2 bytes each
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "arm.urdf").write_text("<!-- An arm. Of mine. -->\n<robot/>")
    (tmp_path / "data.bin").write_bytes(b"a\0b")

    async def act(client: Client) -> None:
        written = await client.call_tool("write_world", {"file": "new/w.yaml", "text": text})
        assert written.structured_content == {"file": "new/w.yaml", "bytes": len(text.encode())}
        listed = (await client.call_tool("list_worlds", {})).structured_content
        rows = {row["name"]: row for row in listed["worlds"]}
        assert rows["sub/arm.urdf"] == {"name": "sub/arm.urdf", "kind": "file", "about": "An arm."}
        assert (rows["new/w.yaml"]["kind"], rows["orbit"]["kind"]) == ("file", "world")
        assert (rows["differential"]["kind"], rows["iris"]["kind"]) == ("model", "vehicle")
        assert "data.bin" not in rows
        read, offset = "", 0
        while offset is not None:
            part = (await client.call_tool("read_file", {"file": "new/w.yaml", "offset": offset})).structured_content
            assert part["bytes"] == len(text.encode())
            read, offset = read + part["text"], part.get("next_offset")
        assert read == text

    talk(Access(tmp_path), act)
    found = refusals(
        Access(tmp_path),
        ("write_world", {"file": "new/w.yaml", "text": "world: other\n"}),
        ("write_world", {"file": "../w.yaml", "text": "world: other\n"}),
        ("write_world", {"file": "w.py", "text": "raise SystemExit\n"}),
        ("write_world", {"file": "big.yaml", "text": "é" * 500_001}),
        ("read_file", {"file": "/etc/passwd"}),
        ("read_file", {"file": "data.bin"}),
        ("read_file", {"file": "sub"}),
        ("read_file", {"file": "new/w.yaml", "limit": 64_001}),
    )
    assert found[0] == "'new/w.yaml' exists; tools overwrite nothing"
    assert "is outside the folder" in found[1]
    assert "a name that ends with .yaml" in found[2]
    assert found[3] == "the text has 1000002 bytes; allowed: 1000000"
    assert "is outside the folder" in found[4]
    assert found[5:] == [
        "'data.bin' is not a text",
        "no file 'sub' in the folder",
        "limit is 64001; needs 1 to 64000 bytes",
    ]
    assert (tmp_path / "new" / "w.yaml").read_text("utf-8") == text
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_pages_and_worlds_can_be_read(tmp_path: Path) -> None:
    async def act(client: Client) -> None:
        uris = {str(each.uri) for each in (await client.list_resources()).resources}
        assert {"docs://bridge", "world://quadrotor"} <= uris
        page = (await client.read_resource("docs://bridge")).contents[0]
        assert page.text.startswith("# The bridge")
        world = (await client.read_resource("world://quadrotor")).contents[0]
        assert "world: quadrotor" in world.text
        schema = json.loads((await client.read_resource("schema://world")).contents[0].text)
        Draft7Validator.check_schema(schema)
        assert list(Draft7Validator(schema).iter_errors({"frams": []}))

    talk(Access(tmp_path), act)


@pytest.mark.parametrize(
    ("access", "simulated", "refused"),
    [
        (Access(), True, "flight commands are not allowed"),
        (Access(flight=True), True, ""),
        (Access(flight=True), False, "drone may be a real vehicle"),
        (Access(flight=True, real=True), False, ""),
    ],
)
def test_who_may_be_flown(access: Access, simulated: bool, refused: str) -> None:
    if not refused:
        access.refuse_flight("drone", simulated=simulated)
        return
    with pytest.raises(ToolRefused, match=refused):
        access.refuse_flight("drone", simulated=simulated)


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ((30.0, 40.0, 10.0, None), ""),  # 50 m from home
        ((30.0, 40.1, 10.0, None), "from home"),
        ((0.0, 0.0, 20.1, None), "above home"),
        ((0.0, 0.0, -0.1, None), "above home"),
        ((0.0, 0.0, 5.0, 3.1), "m/s"),
        ((0.0, 0.0, 5.0, 0.0), "m/s"),
        ((float("nan"), 0.0, 5.0, None), "numbers are needed"),
        ((0.0, float("inf"), 5.0, None), "numbers are needed"),
    ],
)
def test_targets_beyond_a_limit_are_refused(target: tuple[float, float, float, float | None], refused: str) -> None:
    access = Access(limits=FlightLimits(distance=50.0, height=20.0, speed=3.0))
    if not refused:
        access.refuse_target(*target)
        return
    with pytest.raises(ToolRefused, match=refused):
        access.refuse_target(*target)


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.text(max_size=40), max_size=30)), st.integers(2, 400))
def test_an_answer_keeps_the_beginning_of_each_list(found: dict[str, Any], limit: int) -> None:
    """It is never longer than allowed unless nothing can be left out any more, and nothing is left out without need."""
    kept, note = fitted({**found, "count": 3}, limit)
    lost = {key: len(value) - len(kept[key]) for key, value in found.items()}
    assert kept["count"] == 3
    assert all(kept[key] == value[: len(kept[key])] for key, value in found.items())
    assert len(json.dumps(kept)) <= limit or not any(kept[key] for key in found)
    assert bool(note) == (len(json.dumps({**found, "count": 3})) > limit and any(found.values()))
    assert all(f"{count} of {len(found[key])} {key}" in note for key, count in lost.items() if count)
