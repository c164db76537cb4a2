"""Bags as recordings of Rerun, read back by Rerun's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pytest
from robot_topics import ORIGIN, SECONDS, robot

from sim_node.cli.main import main

AWAY = (30.0, 40.0, 12.0)


class Recording:
    """Columns of entities: of all chunks, in order."""

    def __init__(self, path: Path) -> None:
        chunk = pytest.importorskip("rerun.chunk", reason="needs rerun-sdk 0.40 or newer, which reads recordings")
        self._chunks = list(chunk.RrdReader(str(path)).stream())

    def column(self, entity: str, name: str) -> list[Any]:
        """The values of a component, or times in ns."""
        batches = [each.to_record_batch() for each in self._chunks if each.entity_path == entity]
        found = [batch for batch in batches if name in batch.schema.names]
        assert found, f"{entity} has no {name}"
        return [value for batch in found for value in batch.column(name).to_pylist()]

    @property
    def entities(self) -> set[str]:
        return {each.entity_path for each in self._chunks}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("rerun")
    fix = pymap3d.enu2geodetic(*AWAY, *ORIGIN)
    bag = robot(folder / "rover", (float(fix[0]), float(fix[1]), float(fix[2])))
    assert main(["export", str(bag), "-o", str(folder / "rover.rrd")]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["rover", "rover.rrd"]
    return Recording(folder / "rover.rrd")


def test_frames_are_entities_with_their_transforms_in_time(exported: Recording) -> None:
    """The rover goes 10 m/s along x."""
    places = np.array(exported.column("/map/chassis", "Transform3D:translation")).reshape(-1, 3)
    times = [each.total_seconds() for each in exported.column("/map/chassis", "bag_time")]
    assert places[:, 0] == pytest.approx(10.0 * np.array(times), abs=1e-5)
    assert len(times) == 10 * SECONDS


def test_shapes_are_below_their_frames(exported: Recording) -> None:
    assert exported.column("/map/chassis/shapes/0", "Boxes3D:half_sizes") == [[[1.0, 0.5, 0.125]]]
    assert exported.column("/map/chassis/shapes/0", "Boxes3D:centers") == [[[0.0, 0.0, 0.5]]]
    assert exported.column("/map/chassis/shapes/0", "Boxes3D:colors") == [[0xFF00FFFF]]


def test_topics_are_below_the_frames_that_they_name_in_enu(exported: Recording) -> None:
    assert exported.column("/map/fix/points/0", "Points3D:positions")[-1][0] == pytest.approx(AWAY, abs=1e-3)
    cloud = "/map/chassis/points/points/0"
    assert exported.column(cloud, "Points3D:positions") == [[[1, 0, 0], [0, 2, 0]]]
    assert exported.column(cloud, "Points3D:colors") == [[0xFF0000FF, 0x0000FFFF]]
    # NED in ENU: (x, y, z, w) = (1, 1, 0, 0) / sqrt(2).
    [[turn]] = exported.column("/map/odom_ned", "Transform3D:quaternion")
    assert np.abs(turn) == pytest.approx([0.5**0.5, 0.5**0.5, 0.0, 0.0], abs=1e-6)


def test_a_deleted_marker_is_cleared(exported: Recording) -> None:
    assert len(exported.column("/map/markers/solids/0", "Boxes3D:half_sizes")) == 2
    assert exported.column("/map/markers/solids/1", "Clear:is_recursive") == [[True]]


@pytest.mark.parametrize(("output", "words"), [("x.txt", "must end with .rrd"), ("no/where/x.rrd", "No such file")])
def test_a_file_that_cannot_be_written_is_refused(
    output: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = robot(tmp_path / "rover", ORIGIN)
    with pytest.raises(SystemExit) if output == "x.txt" else pytest.MonkeyPatch.context():
        assert main(["export", str(bag), "-o", str(tmp_path / output)]) == 2
    assert words in capsys.readouterr().err
