"""What is printed for the person who made the mistake: file:line:column: key: what was found; what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sim_node.world import WorldError, load
from sim_node.world.problems import MAX_QUOTED, MAX_SHOWN, Problem, Where

SECTIONS = (
    "(known: world, fixed_frame, origin, time, static_patterns, frames, sensors, include, motions, physics, bodies, "
    "actuators, transmissions, joint_commands, signals, triggers, forces, vehicles, bases, systems, loop_closures, "
    "contact_exclusions, contact_materials, suction, "
    "body_commands, vehicle_commands, processes, ground, lights, sky, camera, schematic, actors, resources, "
    "expect, fmus, fmu_frames, scenario)"
)
MOTION = "(known: frame, parent, keyframes, interpolation, before, after, scale, convention)"
POSE = "(known: position, quaternion, rpy, rpy_deg, matrix, axis_angle, scale, convention)"
STAMPS = "(stamps hold 31 bits of seconds)"


def check(faults: Callable[..., list[str]], text: str, *lines: str) -> None:
    assert faults(text) == [f"w.yaml:{line}" for line in lines]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("frams: []", f"1:1: frams: unknown key; did you mean frames? {SECTIONS}"),
        ("xyzzy: 1", f"1:1: xyzzy: unknown key {SECTIONS}"),
        ("'a b': 1", f"1:1: 'a b': unknown key {SECTIONS}"),
        (
            "frames:\n  - name: a\n    parant: map\n",
            "3:5: frames[0].parant: unknown key; did you mean parent? "
            "(known: name, parent, pose, mate, size, description, tags)",
        ),
        (
            "motions:\n  - {frame: a, aftr: loop, keyframes: [{t: 0}]}\n",
            f"2:16: motions[0].aftr: unknown key; did you mean after? {MOTION}",
        ),
        (
            "frames: [{name: a, pose: {rpydeg: [0, 0, 0]}}]",
            f"1:27: frames[0].pose.rpydeg: unknown key; did you mean rpy_deg? {POSE}",
        ),
        ("time: {begin: 0}", "1:8: time.begin: unknown key (known: start, step)"),
        (
            "origin: {latitude: 1, longitude: 2, altitude: 3, height: 4}",
            "1:50: origin.height: unknown key (known: latitude, longitude, altitude)",
        ),
        (
            "include: [{fil: a.yaml, file: a.yaml}]",
            "1:12: include[0].fil: unknown key; did you mean file? "
            "(known: file, prefix, parent, pose, q, qd, keyframe, free, balance_inertia, packages, arguments, "
            "convention, effectors, scaled_children, assets, pilot, autopilot, topics)",
        ),
        (
            "frames: [{name: a, pose: {axis_angle: {axis: [1, 0, 0], angel: 1, angle: 1}}}]",
            "1:57: frames[0].pose.axis_angle.angel: unknown key; did you mean angle? (known: axis, angle, angle_deg)",
        ),
    ],
)
def test_unknown_keys(faults: Callable[..., list[str]], write: Callable[..., Path], text: str, line: str) -> None:
    write("{}", "a.yaml")
    check(faults, text, line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "- a",
            f"1:1: a mapping is needed {SECTIONS.replace('known: ', '')}, found a list of 1",
        ),
        ("world: [a]", "1:8: world: a text is needed, found a list of 1"),
        ("world: 7", "1:8: world: a text is needed, found the number 7; write it in quotes"),
        ("world: true", "1:8: world: a text is needed, found 'true'"),
        ("world:", "1:7: world: a text is needed, found nothing"),
        ("fixed_frame: ~", "1:14: fixed_frame: a text is needed, found nothing"),
        ("time: 3", "1:7: time: a mapping is needed (start, step), found '3'"),
        ("time: {start: soon}", "1:15: time.start: a number is needed, found 'soon'"),
        ("time: {start: '1.5'}", "1:15: time.start: a number is needed, found '1.5' in quotes"),
        ("time: {start: [1]}", "1:15: time.start: a number is needed, found a list of 1"),
        ("time: {start: 1_000}", "1:15: time.start: a number is needed, found '1_000'"),
        ("time: {start: 0x10}", "1:15: time.start: a number is needed, found '0x10'"),
        ("time: {start: １}", "1:15: time.start: a number is needed, found '１'"),
        ("frames: {name: a}", "1:9: frames: a list is needed, found a mapping"),
        ("frames:", "1:8: frames: a list is needed, found nothing"),
        (
            "frames: [a]",
            "1:10: frames[0]: a mapping is needed (name, parent, pose, mate, size, description, tags), found 'a'",
        ),
        ("frames: [{parent: map}]", "1:10: frames[0]: name is missing"),
        ("frames: [{name: ''}]", "1:17: frames[0].name: is empty; a frame needs a name"),
        ("frames: [{name: a, parent: ''}]", "1:28: frames[0].parent: is empty; a frame needs a name"),
        (
            "frames: [{name: a, parent: 1}]",
            "1:28: frames[0].parent: a text is needed, found the number 1; write it in quotes",
        ),
        (
            "frames: [{name: a, pose: [1, 2, 3]}]",
            f"1:26: frames[0].pose: a mapping is needed {POSE.replace('known: ', '')}, found a list of 3",
        ),
        (
            "frames: [{name: a, pose: {position: 1}}]",
            "1:37: frames[0].pose.position: a list of 3 numbers is needed, found '1'",
        ),
        (
            "frames: [{name: a, pose: {position: [1, 2]}}]",
            "1:37: frames[0].pose.position: a list of 3 numbers is needed, found a list of 2",
        ),
        (
            "frames: [{name: a, pose: {position: [1, two, 3]}}]",
            "1:41: frames[0].pose.position[1]: a number is needed, found 'two'",
        ),
        (
            "frames: [{name: a, pose: {position: [1, [2], 3]}}]",
            "1:41: frames[0].pose.position[1]: a number is needed, found a list of 1",
        ),
        (
            "frames: [{name: a, pose: {matrix: 1}}]",
            "1:35: frames[0].pose.matrix: three rows of three numbers are needed, found '1'",
        ),
        (
            "frames: [{name: a, pose: {matrix: [[1, 0, 0], [0, 1, 0]]}}]",
            "1:35: frames[0].pose.matrix: three rows of three numbers are needed, found a list of 2",
        ),
        (
            "frames: [{name: a, pose: {axis_angle: [1, 0, 0, 1]}}]",
            "1:39: frames[0].pose.axis_angle: a mapping is needed (axis, angle, angle_deg), found a list of 4",
        ),
        ("frames: [{name: a, pose: {axis_angle: {angle: 1}}}]", "1:39: frames[0].pose.axis_angle: axis is missing"),
        (
            "frames: [{name: a, pose: {axis_angle: {axis: [1, 0, 0]}}}]",
            "1:39: frames[0].pose.axis_angle: one of angle (radians) and angle_deg is needed",
        ),
        (
            "frames: [{name: a, pose: {axis_angle: {axis: [1, 0, 0], angle: 1, angle_deg: 1}}}]",
            "1:39: frames[0].pose.axis_angle: one of angle (radians) and angle_deg is needed",
        ),
        ("motions: [{keyframes: [{t: 0}]}]", "1:11: motions[0]: frame is missing"),
        ("motions: [{frame: a}]", "1:11: motions[0]: keyframes is missing"),
        (
            "motions: [{frame: a, keyframes: path.csv}]",
            "1:33: motions[0].keyframes: a list is needed, found 'path.csv'",
        ),
        ("motions: [{frame: a, keyframes: [{position: [0, 0, 0]}]}]", "1:34: motions[0].keyframes[0]: t is missing"),
        ("origin: {latitude: 1, longitude: 2}", "1:9: origin: altitude is missing"),
        ("sensors: [{pose: {}}]", "1:11: sensors[0]: name is missing"),
        ("include: [{prefix: a}]", "1:11: include[0]: file is missing"),
        ("include: a.yaml", "1:10: include: a list is needed, found 'a.yaml'"),
        ("static_patterns: CAM_*", "1:18: static_patterns: a list is needed, found 'CAM_*'"),
        (
            "static_patterns: [drone/CAM_*]",
            "1:19: static_patterns[0]: found 'drone/CAM_*'; a pattern matches the last part of a name and has no slash",
        ),
    ],
)
def test_wrong_types_and_missing_keys(faults: Callable[..., list[str]], text: str, line: str) -> None:
    check(faults, text, line)


def test_keyframes_from_a_file_name_it_as_csv(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        "motions: [{frame: a, keyframes: {file: path.csv}}]",
        "1:33: motions[0].keyframes: csv is missing",
        "1:34: motions[0].keyframes.file: unknown key (known: csv)",
    )


def test_each_row_of_a_matrix_is_reported(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        "frames: [{name: a, pose: {matrix: [1, [0, 1, 0], [0, x, 1]]}}]",
        "1:36: frames[0].pose.matrix[0]: a list of 3 numbers is needed, found '1'",
        "1:54: frames[0].pose.matrix[2][1]: a number is needed, found 'x'",
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("time: {start: -1}", f"1:15: time.start: -1 s is out of range; allowed: 0 to 2147483647 s {STAMPS}"),
        (
            "time: {start: 2147483648}",
            f"1:15: time.start: 2147483648 s is out of range; allowed: 0 to 2147483647 s {STAMPS}",
        ),
        ("time: {step: 0}", f"1:14: time.step: 0 s is out of range; allowed: 1e-06 to 2147483647 s {STAMPS}"),
        ("time: {step: 1e-7}", f"1:14: time.step: 1e-7 s is out of range; allowed: 1e-06 to 2147483647 s {STAMPS}"),
        ("time: {step: 1e999}", "1:14: time.step: 1e999 is out of range; allowed: the range of a 64-bit float"),
        ("time: {step: .nan}", "1:14: time.step: .nan is not a finite number"),
        ("time: {start: .inf}", "1:15: time.start: .inf is not a finite number"),
        ("time: {start: -.Inf}", "1:15: time.start: -.Inf is not a finite number"),
        (
            "origin: {latitude: 90.5, longitude: 0, altitude: 0}",
            "1:20: origin.latitude: 90.5 is out of range; allowed: -90 to 90",
        ),
        (
            "origin: {latitude: 0, longitude: -181, altitude: 0}",
            "1:34: origin.longitude: -181 is out of range; allowed: -180 to 180",
        ),
        (
            "origin: {latitude: 0, longitude: 0, altitude: -20000}",
            "1:47: origin.altitude: -20000 is out of range; allowed: -12000 to 1e+08",
        ),
        (
            "frames: [{name: a, pose: {position: [0, nan, 0]}}]",
            "1:41: frames[0].pose.position[1]: nan is not a finite number",
        ),
        (
            "frames: [{name: a, pose: {position: [0, 1e13, 0]}}]",
            "1:41: frames[0].pose.position[1]: 1e13 is out of range; allowed: -1e+12 to 1e+12",
        ),
        ("frames: [{name: a, pose: {rpy: [0, 0, -inf]}}]", "1:39: frames[0].pose.rpy[2]: -inf is not a finite number"),
        ("frames: [{name: a, pose: {scale: 0}}]", "1:34: frames[0].pose.scale: found 0; a scale must be above zero"),
        (
            "frames: [{name: a, pose: {scale: [1, -2, 1]}}]",
            "1:34: frames[0].pose.scale: found -2; a scale must be above zero",
        ),
        ("frames: [{name: a, pose: {scale: .inf}}]", "1:34: frames[0].pose.scale: .inf is not a finite number"),
        (
            "frames: [{name: a, pose: {convention: NWU}}]",
            "1:39: frames[0].pose.convention: found 'NWU'; allowed: ENU, FLU, NED, FRD",
        ),
        (
            "frames: [{name: a, pose: {convention: NEDD}}]",
            "1:39: frames[0].pose.convention: found 'NEDD'; allowed: ENU, FLU, NED, FRD; did you mean NED?",
        ),
        (
            "motions: [{frame: a, interpolation: smoth, keyframes: [{t: 0}]}]",
            "1:37: motions[0].interpolation: found 'smoth'; allowed: slerp, step, smooth, catmull_rom; "
            "did you mean smooth?",
        ),
        (
            "motions: [{frame: a, after: looop, keyframes: [{t: 0}]}]",
            "1:29: motions[0].after: found 'looop'; allowed: hold, loop, pingpong; did you mean loop?",
        ),
        (
            "motions: [{frame: a, before: [hold], keyframes: [{t: 0}]}]",
            "1:30: motions[0].before: found a list of 1; allowed: hold, loop, pingpong",
        ),
        (
            "motions: [{frame: a, keyframes: [{t: 3e9}]}]",
            f"1:38: motions[0].keyframes[0].t: 3e9 s is out of range; allowed: -2147483647 to 2147483647 s {STAMPS}",
        ),
    ],
)
def test_values_out_of_range(faults: Callable[..., list[str]], text: str, line: str) -> None:
    check(faults, text, line)


@pytest.mark.parametrize(
    ("pose", "line"),
    [
        ("quaternion: [0, 0, 0, 0]", "quaternion: is zero; a rotation needs norm 1; did you mean [0, 0, 0, 1]?"),
        (
            "quaternion: [0, 0, 0.6152, 0.6152]",
            "quaternion: norm is 0.87, a rotation needs 1; did you mean [0, 0, 0.7071, 0.7071]?",
        ),
        ("quaternion: [0, 0, 0, 1.002]", "quaternion: norm is 1.002, a rotation needs 1; did you mean [0, 0, 0, 1]?"),
        (
            "quaternion: [1e308, 1e308, 0, 0]",
            "quaternion: norm is 1.414e+308, a rotation needs 1; did you mean [0.7071, 0.7071, 0, 0]?",
        ),
        (
            "quaternion: [0, 0, 1e-320, 0]",
            "quaternion: norm is 1e-320, a rotation needs 1; did you mean [0, 0, 1, 0]?",
        ),
        ("quaternion: [0, 0, 1]", "quaternion: a list of 4 numbers is needed, found a list of 3"),
        (
            "matrix: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]",
            "matrix: is not a rotation: off orthonormal by 0, determinant -1",
        ),
        (
            "matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 1.5]]",
            "matrix: is not a rotation: off orthonormal by 1.25, determinant 1.5",
        ),
        (
            "matrix: [[0, 0, 0], [0, 0, 0], [0, 0, 0]]",
            "matrix: is not a rotation: off orthonormal by 1, determinant 0",
        ),
        ("matrix: [[1e200, 0, 0], [0, 1, 0], [0, 0, 1]]", "matrix[0][0]: 1e200 is out of range; allowed: -2 to 2"),
        ("axis_angle: {axis: [0, 0, 0], angle: 1}", "axis_angle.axis: is zero; an axis needs a direction"),
    ],
)
def test_what_is_no_rotation(faults: Callable[..., list[str]], pose: str, line: str) -> None:
    (found,) = faults(f"frames: [{{name: a, pose: {{{pose}}}}}]")
    assert found.startswith("w.yaml:1:")
    assert found.endswith(f": frames[0].pose.{line}")


def test_a_second_rotation_is_reported(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        "frames: [{name: a, pose: {rpy: [0, 0, 0], quaternion: [0, 0, 0, 1]}}]",
        "1:32: frames[0].pose.rpy: cannot be combined with quaternion; give one of "
        "quaternion, rpy, rpy_deg, matrix, axis_angle",
    )


def test_keyframe_times_must_increase(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        """\
        motions:
          - frame: a
            keyframes:
              - {t: 0}
              - {t: 0.5}
              - {t: 0.5}
              - {t: oops}
              - {t: 0.25}
              - {t: 1}
        """,
        "6:13: motions[0].keyframes[2].t: the same time as the keyframe before it (0.5 s); times must increase",
        "7:13: motions[0].keyframes[3].t: a number is needed, found 'oops'",
        "8:13: motions[0].keyframes[4].t: earlier than the keyframe before it (0.5 s); times must increase",
    )


def test_no_keyframes(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        "motions: [{frame: a, keyframes: []}]",
        "1:33: motions[0].keyframes: no keyframes; a motion needs at least one",
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "frames:\n  - name: a\n  - name: b\n  - name: a\n",
            ["4:11: frames[2].name: a second frame 'a', the first is at w.yaml:2:11"],
        ),
        (
            "frames: [{name: a}]\nmotions: [{frame: a, keyframes: [{t: 0}]}]\n",
            ["2:19: motions[0].frame: a second frame 'a', the first is at w.yaml:1:17"],
        ),
        (
            "fixed_frame: world\nsensors: [{name: world, parent: a}]\nframes: [{name: a}]\n",
            ["2:18: sensors[0].name: 'world' is the fixed frame, which has no parent and no pose"],
        ),
        (
            "frames: [{name: drone/base_link}, {name: a, parent: drone/bas_link}]\n",
            ["1:53: frames[1].parent: 'drone/bas_link' is not a frame of this world; did you mean drone/base_link?"],
        ),
        ("frames: [{name: a, parent: xyz}]", ["1:28: frames[0].parent: 'xyz' is not a frame of this world"]),
        (
            "motions: [{frame: a, parent: mp, keyframes: [{t: 0}]}]",
            ["1:30: motions[0].parent: 'mp' is not a frame of this world; did you mean map?"],
        ),
        (
            "sensors: [{name: drone/CAM_1}]",
            ["1:18: sensors[0].parent: 'drone/base_link' is not a frame of this world"],
        ),
        ("frames: [{name: a, parent: a}]", ["1:28: frames[0].parent: 'a' is its own ancestor: a below a"]),
        (
            "frames: [{name: a, parent: b}, {name: b, parent: c}]\n"
            "motions: [{frame: c, parent: a, keyframes: [{t: 0}]}]\n",
            ["1:28: frames[0].parent: 'a' is its own ancestor: a below b below c below a"],
        ),
        (
            "frames: [{name: /a}]",
            ["1:17: frames[0].name: the name '/a' begins with a slash, which tf2 refuses; did you mean a?"],
        ),
        (
            "fixed_frame: 'my map'",
            [
                "1:14: fixed_frame: the name 'my map' may have no white space, no control characters, "
                "no empty part and no slash at its end"
            ],
        ),
    ],
)
def test_names_and_parents(faults: Callable[..., list[str]], text: str, lines: Sequence[str]) -> None:
    check(faults, text, *lines)


def test_many_faults_at_once_in_the_order_of_the_file(faults: Callable[..., list[str]]) -> None:
    """Whatever kind they are of, and in whatever order sections are read."""
    check(
        faults,
        """\
        motions:
          - {frame: bird, parent: nest, after: lop, keyframes: [{t: 0}, {t: 0}]}
        frames:
          - {name: a, pose: {quaternion: [0, 0, 0, 2]}}
          - {name: a}
          - {parent: a}
        time: {step: -1}
        fixd_frame: map
        """,
        "2:27: motions[0].parent: 'nest' is not a frame of this world",
        "2:40: motions[0].after: found 'lop'; allowed: hold, loop, pingpong; did you mean loop?",
        "2:69: motions[0].keyframes[1].t: the same time as the keyframe before it (0 s); times must increase",
        "4:34: frames[0].pose.quaternion: norm is 2, a rotation needs 1; did you mean [0, 0, 0, 1]?",
        "5:12: frames[1].name: a second frame 'a', the first is at w.yaml:4:12",
        "6:5: frames[2]: name is missing",
        f"7:14: time.step: -1 s is out of range; allowed: 1e-06 to 2147483647 s {STAMPS}",
        f"8:1: fixd_frame: unknown key; did you mean fixed_frame? {SECTIONS}",
    )


def test_one_mistake_behind_many_aliases_is_reported_once(faults: Callable[..., list[str]]) -> None:
    check(
        faults,
        """\
        frames:
          - {name: a, pose: &here {position: [0, 0, up]}}
          - {name: b, pose: *here}
          - {name: c, pose: *here}
        """,
        "2:45: frames[0].pose.position[2]: a number is needed, found 'up'",
    )


def test_the_problems_of_an_error_are_data(write: Callable[..., Path]) -> None:
    with pytest.raises(WorldError) as error:
        load(write("world: x\nframes: [{name: a, parent: b}]\n"))
    (problem,) = error.value.problems
    assert problem.where == ("w.yaml", 2, 28)
    assert problem.key == "frames[0].parent"
    assert problem.message == "'b' is not a frame of this world"


def test_a_flood_of_faults_is_cut_short(faults: Callable[..., list[str]]) -> None:
    found = faults("frames: [" + ", ".join("{nam: a}" for _ in range(300)) + "]")
    assert len(found) == MAX_SHOWN + 1
    assert found[-1] == "... and 550 more"


@pytest.mark.parametrize(
    "text",
    [
        f"frames: [{{name: {'x' * 100_000}}}]",
        f"frames: [{{name: a, parent: {'x' * 100_000}}}]",
        f"? {'x' * 100_000}\n: 1\n",
        f"? {'x' * 100_000}\n: 1\n? {'x' * 100_000}\n: 1\n",
        f"time: {{start: {'1' * 100_000}}}",
        f"time: {{start: {'x' * 100_000}}}",
        f"include: [{'x' * 100_000}]",
        f"include: ['../{'x' * 100_000}']",
        f"include: ['package://{'x' * 100_000}/a']",
        f"motions: [{{frame: a, after: {'x' * 100_000}, keyframes: [{{t: 0}}]}}]",
        f"world: !{'x' * 100_000} a",
        f"world: *{'x' * 100_000}",
        '"\\e[31m\\n\\u202e": 1',
        'frames: [{name: "a\\nb: \\e[31m"}]',
        'include: ["a\\nb"]',
    ],
)
def test_a_line_is_never_longer_than_a_person_reads_nor_more_than_one(
    faults: Callable[..., list[str]], text: str
) -> None:
    for line in faults(text):
        assert len(line) < 440 + MAX_QUOTED
        assert line.isprintable()


@pytest.mark.parametrize(("odd", "shown"), [("\x1b[2J", "\\x1b[2J"), ("a\u202eb", "a\\u202eb"), ("\ud7ff", "\\ud7ff")])
def test_what_a_terminal_would_obey_is_escaped(odd: str, shown: str) -> None:
    """Messages quote names, and those of MuJoCo are its own."""
    problem = Problem(Where("w.xml", 1, 2), "", f"MuJoCo: invalid keyword: '{odd}'")
    assert str(problem) == f"w.xml:1:2: MuJoCo: invalid keyword: '{shown}'"
