"""Long files: the work of reading grows no faster than the file. Work is counted, not timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.world import WorldError, load
from sim_node.world.readers import xml_elements
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import compose_xml
from sim_node.world.readers.yaml_motions import MAX_FAULTS, read_keyframes

ELEMENTS = "<body name='b%d' pos='1 2 3'/>"


class Counting:
    """A pattern that counts the characters it is given, where they are a copy, and those that it matches."""

    def __init__(self, pattern: re.Pattern[str], document: str) -> None:
        self.characters = 0
        self._pattern, self._document = pattern, document

    def match(self, text: str, place: int) -> re.Match[str] | None:
        found = self._pattern.match(text, place)
        self.characters += 0 if text is self._document else len(text)
        self.characters += found.end() - place if found else 1
        return found


@pytest.mark.parametrize("separator", ["", "\n"])
def test_attributes_are_found_in_linear_time(separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = xml_elements._ATTRIBUTE
    for count in (100, 1000):
        text = "<mujoco>" + separator.join(ELEMENTS % i for i in range(count)) + "</mujoco>"
        counting = Counting(pattern, text)
        monkeypatch.setattr(xml_elements, "_ATTRIBUTE", counting)
        root = compose_xml(text, Report("w.xml"))
        assert root is not None
        assert counting.characters < 2 * len(text)
        lines = text.split("\n")
        for element in root.children:
            line, column = element.attributes["pos"].at
            assert lines[line - 1][column - 1 :].startswith("pos=")


def test_lines_end_as_xml_has_it() -> None:
    """A form feed or U+2028 within an attribute ends no line."""
    text = "<a>\r\n<b x='\u2028\x85é'\r  y='1'\n z='2'/></a>"
    root = compose_xml(text, Report("w.xml"))
    assert root is not None
    [child] = root.children
    assert {name: found.at for name, found in child.attributes.items()} == {"x": (2, 4), "y": (3, 3), "z": (4, 2)}


@pytest.mark.parametrize(
    "line",
    ["1,nan,0,0", "1,2", "0,1,2,3", "nan,nan,nan,nan", "1e99,0,0,0"],
)
def test_only_the_first_faults_of_a_csv_file_are_reported(line: str, tmp_path: Path) -> None:
    path = tmp_path / "path.csv"
    path.write_text("t,x,y,z\n0,0,0,0\n" + f"{line}\n" * 5_000)
    report = Report("path.csv")
    assert read_keyframes(path, report) is None
    assert MAX_FAULTS < len(report.errors) <= MAX_FAULTS + 4
    last = report.errors[-1]
    assert f"the remaining {5_002 - last.where.line + 1} lines were not checked" in last.message


def test_positions_out_of_range_are_reported_up_to_a_number(tmp_path: Path) -> None:
    path = tmp_path / "path.csv"
    path.write_text("t,x,y,z\n" + "".join(f"{i},1e13,0,0\n" for i in range(5_000)))
    report = Report("path.csv")
    assert read_keyframes(path, report) is None
    assert len(report.errors) <= MAX_FAULTS + 1


@pytest.mark.parametrize("axis", ["0 1 1e308", "1e200 0 0", "1e308 1e308 1e308"])
def test_an_axis_that_overflows(axis: str, write: Callable[..., Path]) -> None:
    for text in (
        f'<mujoco><worldbody><body><joint name="j" axis="{axis}"/><geom size="1"/></body></worldbody></mujoco>',
        '<robot name="r"><link name="l"/><link name="m"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" '
        f'type="continuous"><parent link="l"/><child link="m"/><axis xyz="{axis}"/></joint></robot>',
    ):
        with pytest.raises(WorldError, match=r"w\.xml:1:\d+: .*axis has no valid length"):
            load(write(text, "w.xml"))
