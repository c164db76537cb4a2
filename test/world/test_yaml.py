"""YAML as people write it, and as people attack with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from nightly import only, rows

from sim_node.world import World, lay_out, load
from sim_node.world.locate import shipped_worlds
from sim_node.world.readers import yaml_nodes

FAST_S = 1.0


@pytest.fixture
def refused_fast(faults: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """The faults of a text, found in less than a second of computing, or on a slow machine, with bounded work."""

    def refused_fast(text: str) -> list[str]:
        start = time.process_time()
        found = faults(text)
        took = time.process_time() - start
        if took >= FAST_S:
            start = time.process_time()
            faults(text[: len(text) // 10])
            assert took < 3.0 * (time.process_time() - start)
        return found

    return refused_fast


# What is fine


def test_anchors_and_aliases(read: Callable[..., World]) -> None:
    a, b, c = read("""\
        frames:
          - {name: a, pose: &here {position: &there [1, 2, 3]}}
          - {name: b, pose: *here}
          - {name: c, pose: {position: *there, rpy_deg: [0, 0, 90]}}
        """).frames
    assert a.pose.tolist() == b.pose.tolist()
    assert c.pose[:3].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "frames",
    [
        # An explicit key wins, whether it stands before or after the merge (https://yaml.org/type/merge.html).
        "[&a {name: a, parent: map}, {<<: *a, name: b}]",
        "[&a {name: a, parent: map}, {name: b, <<: *a}]",
        "[{<<: {name: z, parent: z}, parent: map, name: b}]",
        "\n  - <<: {name: z, parent: z}\n    parent: map\n    name: b\n",
        # Of several merged, the first wins.
        "[&a {name: a, parent: map}, &b {name: b, parent: a}, {<<: [*b, *a], name: c}]",
        "[&a {name: a, parent: map}, {<<: [{parent: a}, *a], name: c}]",
        # A merge of a merge.
        "[&a {name: a, parent: map}, &b {<<: *a, name: b, pose: {position: [1, 2, 3]}}, {<<: *b, name: c}]",
        "[{<<: {}, name: b, parent: map}]",
    ],
)
def test_merges_are_those_of_yaml(read: Callable[..., World], frames: str) -> None:
    """PyYAML's own constructor is the oracle."""
    text = f"frames: {frames}\n"
    found = [(frame.name, frame.parent, frame.pose[:3].tolist()) for frame in read(text).frames]
    expected = [
        (entry["name"], entry["parent"], entry.get("pose", {}).get("position", [0, 0, 0]))
        for entry in yaml.safe_load(text)["frames"]
    ]
    assert found == expected


def test_an_alias_means_the_last_anchor_of_its_name(read: Callable[..., World]) -> None:
    """YAML 1.2, section 7.1; PyYAML refuses to define an anchor again."""
    frames = read(
        "frames: [{name: a, pose: &p {scale: 1}}, {name: b, pose: &p {scale: 2}}, {name: c, pose: *p}]"
    ).frames
    assert np.asarray(frames[2].scale).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfworld: yard\nframes: [{name: a}]\n",
        b"world: yard\r\nframes:\r\n  - {name: a}\r\n",
        b"world: yard # a comment\nframes: [\n\t{name: a},\t]\n",
        b"%YAML 1.1\n---\nworld: yard\nframes: [{name: a}]\n...\n",
        b"{world: yard, frames: [{name: a}]}",
        b'{"world": "yard", "frames": [{"name": "a"}]}',
        b"? world\n: yard\n? frames\n: - name: a\n",
        b"world: !!str yard\nframes: !!seq [!!map {name: !!str a}]\n",
        b"world: >-\n  yard\nframes:\n- name: |-\n    a\n",
    ],
)
def test_ways_to_write_one_world(write: Callable[..., Path], text: bytes) -> None:
    world = load(write(text))
    assert (world.name, [frame.name for frame in world.frames]) == ("yard", ["a"])


def test_numbers_in_all_spellings(read: Callable[..., World]) -> None:
    (frame,) = read("frames: [{name: a, pose: {position: [+1, -.5, 1.5e+1], scale: !!float 2}}]").frames
    assert frame.pose[:3].tolist() == [1, -0.5, 15]
    assert np.asarray(frame.scale).tolist() == [2, 2, 2]


def test_names_in_any_script(read: Callable[..., World]) -> None:
    assert lay_out(read("frames: [{name: дрон/камера}, {name: 無人機}, {name: 🛰}]")).frames.names[1:] == (
        "дрон/камера",
        "無人機",
        "🛰",
    )


@pytest.mark.nightly
def test_ten_megabytes_are_fine(write: Callable[..., Path]) -> None:
    """A recorded motion: 40,000 keyframes in flow style, with all digits."""
    turn = "0.0000000000000000, 0.0000000000000000, 0.5000000000000000, 0.8660254037844386"
    keyframes = "".join(
        f"      - {{t: {i / 100:.2f}, position: [{i / 1000:.16f}, 12.3456789012345678, -7.8901234567890123], "
        f"quaternion: [{turn}], convention: ENU}}  # row {i:06d} of the motion capture\n"
        for i in range(40_000)
    )
    text = f"motions:\n  - frame: a\n    keyframes:\n{keyframes}"
    assert len(text) > 9_500_000
    (motion,) = load(write(text)).motions
    assert len(motion.times_ns) == 40_000
    assert motion.times_ns[-1] == 399_990_000_000
    assert motion.poses[-1, :3].tolist() == [39.999, 12.3456789012345678, -7.8901234567890123]


# Takes seconds: make test has ten thousand missing parents.
@pytest.mark.nightly
def test_ten_thousand_frames_of_one_pose_are_fine(write: Callable[..., Path]) -> None:
    frames = "".join(f"  - {{name: f{i}, pose: *here}}\n" for i in range(10_000))
    text = f"frames:\n  - {{name: f, pose: &here {{position: [1, 2, 3], rpy_deg: [0, 0, 90]}}}}\n{frames}"
    assert len(load(write(text)).frames) == 10_001


@pytest.mark.parametrize("name", rows(shipped_worlds(), ("arm_pick", "buoys", "survey")))
def test_without_libyaml_worlds_are_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """PyYAML's own parser, where it was built without the C library."""
    expected = load(name)
    monkeypatch.setattr(yaml_nodes, "EventLoader", yaml.SafeLoader)
    assert load(name) == expected


# What is refused


def test_billion_laughs(refused_fast: Callable[..., list[str]]) -> None:
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert refused_fast("\n".join(lines)) == ["w.yaml:5:36: aliases expand to more values than allowed"]


def test_billion_laughs_by_merges(refused_fast: Callable[..., list[str]]) -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(100)) + "}"]
    lines += [f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 20)}]}}" for i in range(20)]
    (line,) = refused_fast("\n".join(lines))
    assert line.endswith("aliases expand to more values than allowed")


@pytest.mark.parametrize("many", [10, 30, 60])
def test_a_quadratic_blow_up(refused_fast: Callable[..., list[str]], many: int) -> None:
    """One long list, named often."""
    text = "a: &a [" + "1, " * 20_000 + "]\nb: [" + "*a, " * many + "]\n"
    assert refused_fast(text)[0].startswith("w.yaml:")


@pytest.mark.parametrize(
    ("text", "place", "tag"),
    [
        ("world: !!python/object/apply:os.system ['exit 1']", "1:8", "tag:yaml.org,2002:python/object/apply:os.system"),
        (
            "!!python/object:collections.OrderedDict {}",
            "1:1",
            "tag:yaml.org,2002:python/object:collections.OrderedDict",
        ),
        ("world: !!python/name:os.system ''", "1:8", "tag:yaml.org,2002:python/name:os.system"),
        ("frames:\n  - !frame {name: a}\n", "2:5", "!frame"),
        ("world: !!binary aGk=", "1:8", "tag:yaml.org,2002:binary"),
        ("%TAG !e! tag:example.org,2024:\n---\nworld: !e!x a\n", "3:8", "tag:example.org,2024:x"),
    ],
)
def test_tags_that_build_objects(faults: Callable[..., list[str]], text: str, place: str, tag: str) -> None:
    assert faults(text) == [f"w.yaml:{place}: tag {tag!r} is refused; world files contain plain values only"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "!!seq [", "&a ["])
@pytest.mark.parametrize("loader", only([yaml.CSafeLoader, yaml.SafeLoader], 0))
def test_bottomless_nesting(
    refused_fast: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, loader: type[Any], opening: str
) -> None:
    """libyaml's own composer overflows the C stack at some 50,000."""
    monkeypatch.setattr(yaml_nodes, "EventLoader", loader)
    (line,) = refused_fast(opening * 100_000)
    assert "nested deeper than 64 levels" in line


def test_bottomless_nesting_by_indentation(refused_fast: Callable[..., list[str]]) -> None:
    (line,) = refused_fast("".join(" " * i + "a:\n" for i in range(2000)))
    assert "nested deeper than 64 levels" in line


def test_keys_that_stand_twice_are_all_reported(faults: Callable[..., list[str]]) -> None:
    assert faults("world: a\nframes:\n  - name: a\n    name: b\n    parent: map\n    name: c\nworld: b\n") == [
        "w.yaml:4:5: name: is a duplicate, the first is on line 3",
        "w.yaml:6:5: name: is a duplicate, the first is on line 3",
        "w.yaml:7:1: world: is a duplicate, the first is on line 1",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("world: a\n---\nworld: b\n", "w.yaml:2:1: a second document; a world file has only one"),
        ("", "w.yaml: is empty; a world needs at least a name"),
        ("# nothing\n", "w.yaml: is empty; a world needs at least a name"),
        ("world: *a", "w.yaml:1:8: '*a' does not refer to an earlier, complete anchor"),
        ("world: &a [*a]", "w.yaml:1:12: '*a' does not refer to an earlier, complete anchor"),
        ("frames: [{<<: a, name: b}]", "w.yaml:1:11: <<: needs a mapping or a list of mappings"),
        ("frames: [{<<: [{}, a], name: b}]", "w.yaml:1:11: <<: needs a mapping or a list of mappings"),
        ("[a]: 1", "w.yaml:1:1: a key must be a word"),
        ("{{a: 1}: 1}", "w.yaml:1:2: a key must be a word"),
        (
            "frames: [{name: a}\nmotions: []\n",
            "w.yaml:2:1: not YAML: did not find expected ',' or ']' while parsing a flow sequence "
            "that begins on line 1",
        ),
        (
            "expect: {must: [{formula: always pose[drone].z > 1}]}\n",
            "w.yaml:1:38: not YAML: did not find expected ',' or '}' while parsing a flow mapping "
            "that begins on line 1; a text with [ needs quotes here",
        ),
        ("world: {a: b", "w.yaml:2:1: not YAML: did not find expected ',' or '}' while parsing a flow mapping"),
        ("world: a\n\tframes: []\n", "w.yaml:2:1: not YAML: found a tab character that violates indentation"),
        ("world: 'a\n", "w.yaml:2:1: not YAML: found unexpected end of stream while scanning a quoted scalar"),
        ("%YAML 9.0\n---\n{}\n", "w.yaml:1:1: not YAML: found incompatible YAML document"),
        ("world: été\nframes: \x07", "w.yaml:2:9: not YAML: character '\\x07' is not allowed"),
        (b"world: caf\xe9\n", "w.yaml:1:11: not UTF-8: byte 0xe9"),
        ("# é\nworld: é".encode() + b"\xff", "w.yaml:2:9: not UTF-8: byte 0xff"),
        ("world: a\n".encode("utf-16"), "w.yaml:1:1: not UTF-8: byte 0xff"),
        (b"\x89PNG\r\n\x1a\n", "w.yaml:1:1: not UTF-8: byte 0x89"),
        (b"\x7fELF\x02\x01\x01\x00", "w.yaml:1:1: not YAML: character '\\x7f' is not allowed"),
    ],
)
def test_what_is_no_yaml_is_reported_where(faults: Callable[..., list[str]], text: bytes | str, line: str) -> None:
    (found,) = faults(text)
    assert found.startswith(line)


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_and_columns_are_those_of_an_editor(
    faults: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, loader: type[Any], newline: str, mark: bytes
) -> None:
    monkeypatch.setattr(yaml_nodes, "EventLoader", loader)
    text = newline.join(["world: yard", "frames:", "  - name: é", "    pose: {position: [1, 2, ü]}", ""])
    assert faults(mark + text.encode()) == ["w.yaml:4:29: frames[0].pose.position[2]: a number is needed, found 'ü'"]


# Takes seconds: make test has ten thousand missing parents.
@pytest.mark.nightly
def test_a_mapping_of_thirty_thousand_unknown_keys(faults: Callable[..., list[str]]) -> None:
    start = time.process_time()
    found = faults("".join(f"k{i}: 1\n" for i in range(30_000)))
    assert time.process_time() - start < 5 * FAST_S
    assert found[-1] == "... and 29950 more"


def test_ten_thousand_missing_parents(faults: Callable[..., list[str]]) -> None:
    """A nearest name for each of them would be 100,000,000 comparisons."""
    start = time.process_time()
    found = faults("frames:\n" + "".join(f"  - {{name: f{i:05d}, parent: g{i:05d}}}\n" for i in range(10_000)))
    assert time.process_time() - start < 5 * FAST_S
    assert found[0] == "w.yaml:2:28: frames[0].parent: 'g00000' is not a frame of this world; did you mean f00000?"
    assert found[-1] == "... and 9950 more"
