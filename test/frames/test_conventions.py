"""The six conventions are data, and the data is right."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from sim_node.spatial.frames import Frame, FrameKind

DIRECTIONS = {  # REP 103's words as unit vectors of ENU and FLU
    **{"east": (1, 0, 0), "north": (0, 1, 0), "up": (0, 0, 1), "down": (0, 0, -1)},
    **{"forward": (1, 0, 0), "left": (0, 1, 0), "right": (0, -1, 0)},
}


def test_there_are_six() -> None:
    assert [frame.name for frame in Frame] == ["ENU", "NED", "FLU", "FRD", "ECEF", "LLA"]


@pytest.mark.parametrize("frame", [Frame.ENU, Frame.NED, Frame.FLU, Frame.FRD])
def test_signed_axes_say_what_the_names_say(frame: Frame) -> None:
    assert frame.value.signed_axes is not None
    for name, signed in zip(frame.axes, frame.value.signed_axes, strict=True):
        unit = np.zeros(3)
        unit[abs(signed) - 1] = np.sign(signed)
        assert tuple(unit.tolist()) == DIRECTIONS[name]


@pytest.mark.parametrize("frame", [Frame.ENU, Frame.NED, Frame.FLU, Frame.FRD])
def test_right_handed(frame: Frame) -> None:
    x, y, z = (np.array(DIRECTIONS[name]) for name in frame.axes)
    assert frame.value.handedness == "right"
    np.testing.assert_array_equal(np.cross(x, y), z)


def test_initials_spell_the_name() -> None:
    for frame in Frame:
        if frame is not Frame.ECEF:
            assert "".join(axis[0] for axis in frame.axes).upper() == frame.name
        assert frame.value.users


def test_kinds() -> None:
    kinds = {kind: {frame.name for frame in Frame if frame.kind is kind} for kind in FrameKind}
    assert kinds == {FrameKind.LOCAL: {"ENU", "NED"}, FrameKind.BODY: {"FLU", "FRD"}, FrameKind.GLOBAL: {"ECEF", "LLA"}}


def test_a_name_in_any_case() -> None:
    assert Frame.named(" ned") is Frame.NED


@pytest.mark.parametrize(("wrong", "nearest"), [("EUN", "ENU"), ("ll", "LLA"), ("ECFE", "ECEF"), ("nde", "NED")])
def test_a_wrong_name_gets_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=rf"unknown frame '{wrong}'; did you mean {nearest}\? \(known: ENU, NED"):
        Frame.named(wrong)


@pytest.mark.parametrize("wrong", ["lunar", "lat", "NWU", ""])
def test_a_name_of_something_else_gets_none(wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"^unknown frame '{wrong}' \(known: ENU, NED, FLU, FRD, ECEF, LLA\)$"):
        Frame.named(wrong)


def test_members_are_keys_and_travel() -> None:
    table = {pair: i for i, pair in enumerate(itertools.product(Frame, Frame))}
    assert len(table) == 36
    for frame in Frame:
        assert pickle.loads(pickle.dumps(frame)) is frame
    assert f"{Frame.NED} {Frame.NED!r}" == "NED Frame.NED"
