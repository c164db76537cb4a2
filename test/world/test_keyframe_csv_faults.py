"""Faults in CSV files are told at their own line and column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sim_node.world import WorldError, WorldWarning, load

KNOWN = "(known: t, x, y, z, qx, qy, qz, qw, roll, pitch, yaw, roll_deg, pitch_deg, yaw_deg)"


@pytest.fixture
def csv_faults(write: Callable[..., Path]) -> Callable[..., list[str]]:
    def csv_faults(text: bytes | str) -> list[str]:
        write(text, "parts/path.csv")
        with pytest.raises(WorldError) as error:
            load(write("motions: [{frame: a, keyframes: {csv: parts/path.csv}}]"))
        return [line.removeprefix("parts/path.csv") for line in error.value.lines()]

    return csv_faults


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("t,x,y,z\n0,1,2,3\n1,4,five,6\n", [":3:5: y: a finite number is needed, found 'five'"]),
        ("t,x,y,z\n0,  nan,2,3\n", [":2:5: x: a finite number is needed, found 'nan'"]),
        ("t,x,y,z\n0,1,1e999,3\n", [":2:5: y: a finite number is needed, found '1e999'"]),
        ("t,x,y,z\n0,1,,3\n", [":2:5: y: a finite number is needed, found ''"]),
        ("t,x,y,z\n0,1_0,2,3\n", [":2:3: x: a finite number is needed, found '1_0'"]),
        ("t,x,y,z\n0,1,2\n", [":2:1: 3 columns, the header names 4"]),
        ("t,x,y,z\n0,1,2,3,4\n", [":2:1: 5 columns, the header names 4"]),
        ("t,x,y,z\n0,2e12,2,3\n", [":2:3: x: 2e+12 is out of range; allowed: -1e+12 to 1e+12"]),
        ("t,x,y,z\n3e9,1,2,3\n", [":2:1: t: 3e+09 s is out of range; allowed: up to 2147483647 s"]),
        (
            "x,t,y,z\n1,0.5,2,3\n1,0.5,2,3\n1,0.25,2,3\n",
            [
                ":3:3: t: the same time as the line before it (0.5 s); times must increase",
                ":4:3: t: earlier than the line before it (0.5 s); times must increase",
            ],
        ),
        ("t,X,y,z\n0,1,2,3\n", [f":1:3: X: unknown column; did you mean x? {KNOWN}"]),
        ("t,x,y,z,rol\n0,1,2,3,4\n", [f":1:9: rol: unknown column; did you mean roll? {KNOWN}"]),
        ("t,x,x,z\n0,1,2,3\n", [":1:5: x: is a duplicate"]),
        ("x,y,z\n1,2,3\n", [f":1:1: t: the header has no column t {KNOWN}"]),
        ("t,x,y\n0,1,2\n", [":1:3: x: columns x, y, z go together"]),
        ("t,qx,qy,qz\n0,0,0,0\n", [":1:3: qx: columns qx, qy, qz, qw go together"]),
        (
            "t,roll,pitch,yaw,roll_deg,pitch_deg,yaw_deg\n0,1,2,3,4,5,6\n",
            [":1:18: roll_deg: cannot be combined with roll"],
        ),
        ("t;x;y;z\n0;1;2;3\n", [":1:1: columns must be separated by commas, found semicolons or tabs"]),
        ("t,x,y,z\n", [":1:1: no keyframes below the header"]),
        ("", [f":1:1: '': unknown column {KNOWN}"]),
        (
            "t,qx,qy,qz,qw\n0,0,0,0,1\n1,0,0,0,0\n2,0,0,0.8,0\n",
            [
                ":3:3: qx: norm is 0, a rotation needs 1",
                ":4:3: qx: norm is 0.8, a rotation needs 1",
            ],
        ),
        (b"t,x,y,z\n0,1,2,3\n1,caf\xe9,2,3\n", [":3:6: not UTF-8: byte 0xe9"]),
        ("t,x,y,z\r\n0,1,2,3\r\n1,4,5,?\r\n", [":3:7: z: a finite number is needed, found '?'"]),
        (
            "t,x,y,z\n0,a,b,3\nc,4,5,6\n",
            [
                ":2:3: x: a finite number is needed, found 'a'",
                ":2:5: y: a finite number is needed, found 'b'",
                ":3:1: t: a finite number is needed, found 'c'",
            ],
        ),
    ],
)
def test_faults_are_located(csv_faults: Callable[..., list[str]], text: bytes | str, lines: Sequence[str]) -> None:
    assert csv_faults(text) == lines


def test_quaternions_of_few_digits_are_warned_of_once(write: Callable[..., Path]) -> None:
    """An export with four digits has thousands of them: the first, and how many more."""
    rows = "".join(f"{i},0,0,0.7074,0.7074\n" for i in range(1000))
    write("t,qx,qy,qz,qw\n-1,0,0,0,1\n" + rows, "path.csv")
    with pytest.warns(WorldWarning) as caught:
        load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]"))
    expected = "path.csv:3:3: qx: norm is 1.000415; normalised to 1, as in 999 more lines"
    assert [str(warning.message) for warning in caught] == [expected]


def test_a_missing_csv_is_reported_where_it_is_named(write: Callable[..., Path]) -> None:
    write("t\n0\n", "paths.csv")
    with pytest.raises(WorldError) as error:
        load(write("motions:\n  - frame: a\n    keyframes: {csv: path.csv}\n"))
    expected = "w.yaml:3:22: motions[0].keyframes.csv: no file 'path.csv' beside w.yaml; did you mean paths.csv?"
    assert error.value.lines() == [expected]


def test_a_folder_is_no_csv(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "path.csv").mkdir()
    with pytest.raises(
        WorldError, match=r"^w.yaml:1:39: motions\[0\].keyframes.csv: no file 'path.csv' beside w.yaml$"
    ):
        load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]"))
