"""Bags that were made to break whoever reads them: each command says in one line what is wrong, and goes no further."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from mcap.writer import Writer

from sim_node.cli.main import main
from sim_node.recording.definitions import definition_of

TYPE = "tf2_msgs/msg/TFMessage"
WORLD = b"world: a\nfixed_frame: map\n"


def transform(seconds: int = 1, x: float = 1.0) -> bytes:
    """A TFMessage of drone in map, as CDR lays it out."""
    header = struct.pack("<I", 1) + struct.pack("<iI", seconds, 0) + struct.pack("<I", 4) + b"map\0"
    child = struct.pack("<I", 6) + b"drone\0" + bytes(2)
    return b"\0\1\0\0" + header + child + bytes(-len(header + child) % 8) + struct.pack("<7d", x, 2, 3, 0, 0, 0, 1)


def bag(path: Path, attachments: list[tuple[str, bytes]], messages: list[bytes]) -> Path:
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        schema = writer.register_schema(TYPE, "ros2msg", definition_of(TYPE).text.encode())
        channel = writer.register_channel("/tf", "cdr", schema)
        for name, data in attachments:
            writer.add_attachment(0, 0, name, "text/plain", data)
        for number, data in enumerate(messages):
            writer.add_message(channel, number * 10**8, data, number * 10**8)
        writer.finish()
    return path


@pytest.mark.parametrize(
    ("run", "output"),
    [
        (b"{broken", "is not JSON"),
        (b"\xff\xfe\xfa", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1, 2]", "is not a JSON object"),
        (b'{"randomised": true, "seed": "x"}', "seed: found 'x'"),
        (b'{"randomised": true, "seed": 1e999}', "seed: found 'inf'"),
        (b'{"randomised": true, "seed": -5}', "seed: found '-5'"),
    ],
)
def test_a_broken_run(run: bytes, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bag(tmp_path / "a.mcap", [("run.json", run), ("world/a.yaml", WORLD)], [transform()])
    assert main(["render", str(path), "-o", str(tmp_path / "a.png")]) == 2
    assert f"attachment 'run.json': {output}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "output"),
    [
        (["world/"], "is not a file below world/"),
        (["world/."], "is not a file below world/"),
        (["world/.."], "is not a file below world/"),
        (["world/../../../escaped.yaml"], "is not a file below world/"),
        (["world//etc/../../escaped.yaml"], "is not a file below world/"),
        (["world/a\0b.yaml"], "cannot be a file: embedded null byte"),
        (["world/" + "a" * 5000 + ".yaml"], "cannot be a file: File name too long"),
        (["world/" + "a/" * 3000 + "b.yaml"], "cannot be a file: File name too long"),
        (["world/a.yaml", "world/a.yaml/b.yaml"], "cannot be a file: "),
        (["world/a/b.yaml", "world/a"], "cannot be a file: Is a directory"),
    ],
)
def test_attachments_that_are_no_files(
    names: list[str], output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bag(tmp_path / "a.mcap", [(name, WORLD) for name in names], [transform()])
    assert main(["render", str(path), "-o", str(tmp_path / "a.png")]) == 2
    assert output in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.mcap"]


BROKEN = {
    "no message": b"xx",
    "more transforms than bytes": b"\0\1\0\0\5\0\0\0",
    "not a number": transform(x=float("nan")),
    "beyond all numbers": transform(x=1e308),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_broken_transforms_are_left_out_and_named(
    broken: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bag(tmp_path / "a.mcap", [], [transform(), broken, transform(2)])
    assert main(["rviz", str(path)]) == 0
    output = capsys.readouterr()
    assert "Fixed Frame: map" in output.out
    assert output.err.startswith("warning: /tf: message skipped: ")
    assert output.err.count("\n") == 1


def test_of_many_broken_transforms_the_first_is_named_and_all_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bag(tmp_path / "a.mcap", [], [transform(), *[b"xx"] * 1000])
    assert main(["rviz", str(path)]) == 0
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("warning: /tf: message skipped: ")
    assert last == "warning: /tf: 1000 messages skipped in total"


def test_nothing_but_broken_transforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bag(tmp_path / "a.mcap", [], [b"xx"])
    assert main(["rviz", str(path)]) == 2
    assert "no transforms" in capsys.readouterr().err


INFORMATION = "rosbag2_bagfile_information: {version: 5, storage_identifier: mcap, relative_file_paths: [%s]%s}"


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("[" * 100_000, "is nested too deeply"),
        ("{a: " * 5_000, "is nested too deeply"),
        ("".join(" " * i + "a:\n" for i in range(2_000)), "is nested too deeply"),
        ("rosbag2_bagfile_information: {version: .inf}", "is not rosbag2 metadata"),
        ("rosbag2_bagfile_information: {version: " + "9" * 5_000 + "}", "is not rosbag2 metadata"),
        (INFORMATION % ("a" * 5_000, ""), "cannot be read: File name too long"),
        (INFORMATION % ('"a\\0b"', ""), "is missing"),
    ],
)
def test_metadata(text: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag(tmp_path / "a.mcap", [], [transform()])
    (tmp_path / "metadata.yaml").write_text(text)
    assert main(["info", str(tmp_path)]) == 2
    assert output in capsys.readouterr().err


def test_a_quality_of_service_that_is_nested_too_deep_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag(tmp_path / "a.mcap", [], [transform()])
    note = ", topics_with_message_count: [{topic_metadata: {name: /tf, type: %s, offered_qos_profiles: '%s'}}]"
    (tmp_path / "metadata.yaml").write_text(INFORMATION % ("a.mcap", note % (TYPE, "[" * 20_000)))
    assert main(["info", str(tmp_path)]) == 0
    assert "unknown" in capsys.readouterr().out


def test_a_name_that_is_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["info"], ["tree"], ["rviz"]):
        assert main([*command, "a" * 5000]) == 2
        assert "File name too long" in capsys.readouterr().err


def test_names_in_a_bag_cannot_move_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, name = tmp_path / "a.mcap", "/tf\x1b[2J\nforged\u202e" + "x" * 5000
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        schema = writer.register_schema(TYPE + "\x1b[31m", "ros2msg", b"\x1b")
        channel = writer.register_channel(name, "cdr", schema)
        writer.add_attachment(0, 0, "\x1b]0;title\x07", "text/\x1b[1m", b"")
        writer.add_message(channel, 0, transform(), 0)
        writer.finish()
    for words in (
        ["info"],
        ["export", "--csv", str(tmp_path / "csv")],
        ["plot", "/tf.x", "-o", str(tmp_path / "a.png")],
    ):
        main([words[0], str(path), *words[1:]])
        printed = capsys.readouterr()
        lines = [*printed.out.split("\n"), *printed.err.split("\n")]
        assert all(line.isprintable() and len(line) < 2500 for line in lines), words
