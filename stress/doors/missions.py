"""Mission files, in YAML and JSON: read, turned into MAVLink, and packed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.mission.items import KINDS
from sim_node.mavlink.mission.plan import as_messages, read_plan
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Home
from sim_node.spatial.frames import Ned
from sim_node.world import WorldError
from stress.door import Stateless
from stress.mutations import broken_bytes, broken_lines, broken_words, count_lines
from stress.structures import broken_yaml

_PLANS = (
    "frame: enu\nitems:\n  - {type: takeoff, height: 10}\n  - {type: speed, speed: 4}\n"
    "  - {type: waypoint, position: [100, 0, 10], hold: 2, radius: 1.5, yaw_deg: 90}\n"
    "  - {type: loiter, position: [0, 50, 12], hold: 5}\n  - {type: land, position: [0, 0, 0]}\n  - {type: return}\n",
    '{"frame": "lla", "items": [{"type": "takeoff", "height": 5.5}, {"type": "land"},\n'
    ' {"type": "waypoint", "position": [47.39, -8.54, 30.0]}]}\n',
)
_HOME = Home(47.397742, 8.545594, 488.0, Ned((0.0, 0.0, 0.0)))
_KEYS = ("frame", "items", "type", "position", *{key for kind in KINDS.values() for key in kind.keys})


class Missions(Stateless):
    """A plan is read with located errors, and what is read can be sent."""

    def __init__(self, folder: Path) -> None:
        self._keys, self._words = tuple(sorted(_KEYS)), (*KINDS, "enu", "lla")

    def seeds(self) -> Sequence[bytes]:
        """One in metres, one in degrees."""
        return [plan.encode() for plan in _PLANS]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """As a tree, as words, as lines or as bytes."""
        text, what = seed.decode(), rng.randrange(10)
        if what < 5:
            return broken_yaml(text, rng, self._keys, self._words)
        if what < 8:
            return broken_words(text, rng, (*self._keys, *self._words))
        return broken_lines(text, rng) if what == 8 else broken_bytes(seed, rng, 8)

    def feed(self, data: bytes) -> str:
        """As the bridge does with a file, whose text has to be UTF-8."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return "not UTF-8"
        try:
            plan = read_plan(text, "mission.yaml")
        except WorldError as error:
            _check_located(error, data)
            return "refused"
        for autopilot in (PX4, ARDUPILOT):
            for fields in as_messages(plan, _HOME, autopilot):
                frame_bytes("MISSION_ITEM_INT", {**fields, "target_system": 1, "target_component": 1}, 255, 190, 0)
        return "read"


def _check_located(error: WorldError, data: bytes) -> None:
    for problem in error.problems:
        assert problem.message
        assert 0 <= problem.where.line <= count_lines(data)
    assert all(line.isprintable() and len(line) < 1000 for line in error.lines())
