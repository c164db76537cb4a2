"""World files in YAML with what they include, and keyframes in CSV: loaded, and run for some steps."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import yaml

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import SENSORS
from sim_node.world import Diverged, World, WorldError, WorldWarning, load
from sim_node.world.forces import FORCES
from sim_node.world.joints import JOINTS
from sim_node.world.locate import shipped_worlds
from sim_node.world.mate_types import MATES
from sim_node.world.readers.yaml_section import SECTIONS
from sim_node.world.vehicles import AUTOPILOT_TYPES
from stress.door import Stateless
from stress.mutations import NUMBERS, ODD, broken_bytes, broken_lines, broken_words, count_lines
from stress.structures import broken_yaml

SAMPLES = Path(__file__).parents[1] / "samples"
STEPS = 3
# Longest line of an error, and of what a file can make us quote.
MAX_LINE = 1000


class Folders(Stateless):
    """World files in folders: an input is `FOLDER/FILE`, a line feed, and what is in that file instead.

    Each folder has the world itself in a file `w` of any suffix.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, bytes] = {}
        self._main: dict[str, Path] = {}
        self._sound: dict[str, str] = {}
        for name, files in self.samples().items():
            for file, data in files.items():
                path = folder / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                self._files[f"{name}/{file}"] = data
                if path.stem == "w":
                    self._main[name] = path

    def samples(self) -> dict[str, dict[str, bytes]]:
        """Return files by name for each folder."""
        raise NotImplementedError

    def broken(self, file: str, data: bytes, rng: Random) -> bytes:
        """Return other contents of a file."""
        raise NotImplementedError

    def seeds(self) -> Sequence[bytes]:
        """Each file as it is: most often the world, which is there four times."""
        return [
            name.encode() + b"\n" + data
            for name, data in self._files.items()
            for _ in range(4 if Path(name).stem == "w" else 1)
        ]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """The file changed as its format allows, or as text, or as bytes."""
        name, _, data = seed.partition(b"\n")
        return name + b"\n" + self.broken(name.decode(), data, rng)

    def feed(self, data: bytes) -> str:
        """The world is loaded and run, or refused with places."""
        head, _, contents = data.partition(b"\n")
        name = head.decode()
        world = name.partition("/")[0]
        if contents == self._files[name]:  # the world as it is, whichever of its files is fed: one load is enough
            if world not in self._sound:
                self._sound[world] = loaded(self._main[world])
            return self._sound[world]
        path = self.folder / name
        path.write_bytes(contents)
        try:
            return loaded(self._main[world])
        finally:
            path.write_bytes(self._files[name])


class Worlds(Folders):
    """YAML: keys and words are those of the registries of parts."""

    def samples(self) -> dict[str, dict[str, bytes]]:
        """Those of the samples, one with each sensor, and all that are shipped."""
        found = {name: files_of(SAMPLES / name) for name in ("rich", "bodies", "models", "joints")}
        found["sensors"] = {"w.yaml": sensors().encode()}
        for name, path in shipped_worlds().items():
            if path.suffix == ".yaml":
                parts = {f"parts/{part.name}": part.read_bytes() for part in (path.parent / "parts").iterdir()}
                found[name] = {"w.yaml": path.read_bytes(), **parts}
        return found

    def broken(self, file: str, data: bytes, rng: Random) -> bytes:
        """As a tree, as words, as lines or as bytes."""
        text, what = data.decode(), rng.randrange(10)
        if what < 5 and file.endswith(".yaml"):
            return broken_yaml(text, rng, _words()[0], _words()[1])
        if what < 8:
            return broken_words(text, rng, (*_words()[0], *_words()[1], *_PUNCTUATION))
        return broken_lines(text, rng) if what == 8 else broken_bytes(data, rng, 8)


class Keyframes(Folders):
    """CSV files of motions."""

    _CELLS = (*NUMBERS, *ODD, "t", "x", "qw", "yaw_deg", "scale", '"', '"1"', "'", ";", "#", " ", "1 ")

    def samples(self) -> dict[str, dict[str, bytes]]:
        """Quaternions and angles."""
        world = b"motions: [{frame: bird, keyframes: {csv: path.csv}, interpolation: %s, after: %s}]\n"
        angles = (shipped_worlds()["orbit"].parent / "parts" / "scout.csv").read_bytes()
        return {
            "quaternions": {
                "w.yaml": world % (b"slerp", b"loop"),
                "path.csv": (SAMPLES / "rich/path.csv").read_bytes(),
            },
            "angles": {"w.yaml": world % (b"catmull_rom", b"hold"), "path.csv": angles},
        }

    def seeds(self) -> Sequence[bytes]:
        """The CSV files only."""
        return [seed for seed in super().seeds() if b".csv\n" in seed[:40]]

    def broken(self, file: str, data: bytes, rng: Random) -> bytes:
        """Cells, columns and rows; or as text, or as bytes."""
        what = rng.randrange(8)
        if what == 0:
            return broken_bytes(data, rng, 8)
        if what == 1:
            return broken_lines(data.decode(), rng)
        rows = [line.split(",") for line in data.decode().splitlines()]
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            row = rng.choice((rows[0], rng.choice(rows)))
            column, kind = rng.randrange(len(row)) if row else 0, rng.randrange(7)
            if kind < 3 and row:
                row[column] = rng.choice(self._CELLS)
            elif kind == 3:
                row.insert(column, rng.choice(self._CELLS))
            elif kind == 4:
                del row[column : column + 1]
            elif kind == 5:  # a column of all rows
                for each in rows:
                    del each[column : column + 1]
            else:
                rows.insert(rng.randrange(len(rows)), list(row))
        end = rng.choice(("\n", "\n", "\r\n", "\r"))
        comma = rng.choice((";", "\t", " ")) if rng.random() < 0.05 else ","
        return end.join(comma.join(row) for row in rows).encode(errors="surrogatepass")


_PUNCTUATION = (
    "- ", ": ", ",", "[", "]", "{", "}", "[[", "{{", "'", '"', "|", ">", "#", "%", "@", "`", "&a", "*a", "*ship", "<<",
    "<<: *ship", "!", "!!str", "!!float", "!!python/object:os.system", "---", "...", "null", "~", "on", "../x", ".",
    "w.yaml", "package://sim_node/config/worlds/orbit.yaml", "package://..",
)  # fmt: skip


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder by their names in it."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def loaded(path: Path) -> str:
    """Load a world and run it for some steps; what it is refused for is checked to be located."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's too: nothing overflows unseen
        warnings.simplefilter("ignore", WorldWarning)
        try:
            world = load(path)
        except WorldError as error:
            _check_located(error, path.parent)
            return "refused"
        if any(sensor.type in ("camera", "depth_camera") for sensor in world.sensors):
            return "loaded, has cameras"  # which draw in a process of their own: that takes a second each
        try:
            _check_runs(world)
        except WorldError as error:
            _check_located(error, path.parent)
            return "refused when laid out"
        except Diverged:
            return "diverged"
    return "loaded"


def _check_located(error: WorldError, folder: Path) -> None:
    assert error.problems
    for problem in error.problems:
        where = problem.where
        file = Path(where.file)
        assert file.is_file(), f"a fault of {where.file}, which is not a file"
        assert problem.message
        assert (where.line > 0) == (where.column > 0)
        if file.is_relative_to(folder):
            assert 0 <= where.line <= count_lines(file.read_bytes())
    for line in error.lines():
        assert line.isprintable(), f"not printable: {line!r}"
        assert len(line) < MAX_LINE, f"{len(line)} characters"


def _check_runs(world: World) -> None:
    simulation = Simulation(world)
    for _ in range(STEPS):
        poses = simulation.snapshot().poses
        assert np.isfinite(poses).all(), "a pose is not finite"
        np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0, atol=1e-9)
        simulation.step()


def sensors() -> str:
    """Return a world with a sensor of each type that needs no joints and draws no pictures."""
    apart = {"camera", "depth_camera", "contact", "force_torque", "joint_states"}
    path = [{"t": 0, "position": [0, 0, 5]}, {"t": 4, "position": [1, 2, 6], "rpy_deg": [0, 5, 90]}]
    return str(
        yaml.safe_dump(
            {
                "time": {"step": 0.01},
                "origin": {"latitude": 47.4, "longitude": 8.5, "altitude": 488.0},
                "motions": [{"frame": "drone/base_link", "interpolation": "smooth", "keyframes": path}],
                "bodies": [{"name": "ground", "geometry": [{"plane": True}]}],
                "sensors": [
                    {"name": f"drone/{kind}", "type": kind, "rate": 50} for kind in SENSORS if kind not in apart
                ],
            }
        )
    )


@cache
def _words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys of world files and the words that are choices in them."""
    keys = set(SECTIONS) | {field.name for kind in SENSORS.values() for field in dataclasses.fields(cast(Any, kind))}
    words: set[str] = set()
    files = [*SAMPLES.rglob("*.yaml"), *(path for path in shipped_worlds().values() if path.suffix == ".yaml")]
    for text in [*(file.read_text() for file in files), sensors()]:
        for key, value in _pairs(yaml.safe_load(text)):
            keys.add(key)
            words |= {value} if isinstance(value, str) else set()
    words |= {*SENSORS, *JOINTS, *MATES, *FORCES, *AUTOPILOT_TYPES}
    return tuple(sorted(keys)), tuple(sorted(words))


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key), each
            yield from _pairs(each)
    elif isinstance(value, list):
        for each in value:
            yield from _pairs(each)
