"""`sim_node convert` as a person or a pipe calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryFile

import pytest
from in_process import exit_code
from waiting import PATIENCE

ORIGIN = "47.397742,8.545594,488"
PROJ_EXAMPLE = (30.6510364, 28.6863649, 1.9998619)


def convert(*arguments: str, stdin: str = "") -> tuple[object, str, str]:
    """Exit code, output and errors, of this process."""
    out, err = StringIO(), StringIO()
    with TemporaryFile("w+", encoding="utf-8", newline="") as file, pytest.MonkeyPatch.context() as patch:
        file.write(stdin)
        file.seek(0)
        patch.setattr(sys, "stdin", file)
        with redirect_stdout(out), redirect_stderr(err):
            code = exit_code(["convert", *arguments])
    return code, out.getvalue(), err.getvalue()


def piped(*arguments: str, stdin: bytes) -> tuple[int, str, str]:
    """The same of a process of its own, between pipes."""
    done = subprocess.run(
        [sys.executable, "-m", "sim_node.cli.main", "convert", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def numbers(text: str) -> list[list[float]]:
    return [[float(cell) for cell in line.split(",")] for line in text.splitlines()]


def test_the_example() -> None:
    """The values are PROJ's: cct -d 6 +proj=pipeline +step +proj=cart +step +proj=topocentric, WGS84."""
    code, out, err = convert("--from", "LLA", "--to", "ENU", "--origin", ORIGIN, "47.398,8.546,490")
    assert (code, err) == (0, "")
    assert numbers(out) == [pytest.approx(PROJ_EXAMPLE, abs=1e-6)]


def test_several_points_that_begin_with_a_minus() -> None:
    code, out, _ = convert(
        "--from", "lla", "--to", "ned", "--origin", "-33.8,151.2,5", "-33.8,151.2,5", "-33.8,151.2,-15", "-.5,151.2,5"
    )
    assert code == 0
    assert numbers(out)[:2] == [[0, 0, 0], [0, 0, 20]]
    assert "-0.0" not in out.splitlines()[0]


def test_json_keeps_every_digit() -> None:
    code, out, _ = convert("--from", "NED", "--to", "ENU", "--json", "-1.2345678901234567,2,3", "4,5,6")
    assert code == 0
    assert json.loads(out) == {
        "from": "NED",
        "to": "ENU",
        "origin": None,
        "units": {"east": "m", "north": "m", "up": "m"},
        "points": [{"east": 2, "north": -1.2345678901234567, "up": -3}, {"east": 5, "north": 4, "up": -6}],
    }


@pytest.mark.parametrize("dash", [(), ("-",)])
def test_csv_without_a_header(dash: tuple[str, ...]) -> None:
    code, out, _ = piped("--from", "ENU", "--to", "NED", *dash, stdin=b"1,2,3\n\n-4,5,6\n")
    assert (code, out) == (0, "2.000000,1.000000,-3.000000\n5.000000,-4.000000,-6.000000\n")


def test_csv_columns_go_by_the_header() -> None:
    """Longitude first, a name in front, a byte order mark, carriage returns: what spreadsheets write."""
    table = "\ufeffname,lon,lat,alt\r\nhome,8.545594,47.397742,488\r\n"
    code, out, _ = convert("--from", "LLA", "--to", "ENU", "--origin", ORIGIN, stdin=table)
    assert (code, out) == (0, "east,north,up\n0.000000,0.000000,0.000000\n")


def test_csv_goes_on_after_a_bad_line() -> None:
    table = "x,y,z\n1,2,3\n1,two,3\n4\n4,5,6\n"
    code, out, err = convert("--from", "ENU", "--to", "NED", stdin=table)
    assert code == 2
    assert out == "north,east,down\n2.000000,1.000000,-3.000000\n5.000000,4.000000,-6.000000\n"
    assert err.splitlines() == [
        "sim_node: line 3, column 2: 'two' is not a finite number",
        "sim_node: line 4, column 2: missing",
    ]


def test_csv_names_the_column_of_the_file() -> None:
    _, _, err = convert("--from", "ENU", "--to", "NED", stdin="id,up,north,east\n7,3,2,oops\n")
    assert err == "sim_node: line 2, column 4: 'oops' is not a finite number\n"


def test_nothing_in_nothing_out() -> None:
    assert convert("--from", "ENU", "--to", "NED", stdin="") == (0, "", "")


MISTAKES = {
    "nearest name": (("--from", "ENV", "--to", "NED", "1,2,3"), "--from: unknown frame 'ENV'; did you mean ENU?"),
    "no origin": (("--from", "LLA", "--to", "NED", "1,2,3"), "LLA to NED needs --origin LAT,LON,ALT"),
    "pose": (("--from", "ENU", "--to", "FLU", "1,2,3"), "a position in ENU is in FLU only for one pose"),
    "two numbers": (("--from", "ENU", "--to", "NED", "1,2"), "point 1,2: 2 values, needs 3"),
    "no number": (("--from", "ENU", "--to", "NED", "1,2,3", "1,b,3"), "column 2: 'b' is not a finite number"),
    "nan": (("--from", "ENU", "--to", "NED", "1,nan,3"), "column 2: 'nan' is not a finite number"),
    "latitude": (("--from", "LLA", "--to", "ECEF", "95,2,3"), "latitude must be in [-90, 90]"),
    "origin": (("--from", "LLA", "--to", "ENU", "--origin", "95,2,3", "1,2,3"), "origin is (95, 2, 3), needs"),
    "header": (("--from", "LLA", "--to", "ECEF"), "line 1: header 'a,b,c' has no column for latitude"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_code_2(mistake: str) -> None:
    arguments, message = MISTAKES[mistake]
    code, out, err = convert(*arguments, stdin="a,b,c\n")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_bytes_that_are_no_text() -> None:
    code, _, err = piped("--from", "ENU", "--to", "NED", stdin=b"1,\xff,3\n")
    assert (code, err) == (2, "sim_node: line 1, column 2: '\\xff' is not a finite number\n")
