"""The same world, seed and inputs give the same bag, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims import free_instance
from in_process import exit_code
from nightly import rows
from recorded_runs import messages, record

from sim_node.world import load
from sim_node.world.autopilots import autopiloted
from sim_node.world.locate import shipped_worlds
from sim_node.world.problems import WorldError

# Others take part in these runs: a new file each time.
WITH_PEERS = {"px4", "ardupilot"}
# And in these the built-in autopilot, whose time is the run's: for how long (s).
WITH_BUILTIN = {"guided": 5, "rover": 3}


def test_no_other_world_has_peers() -> None:
    flown = {name for name in shipped_worlds() if autopiloted(load(name))}
    assert flown == WITH_PEERS | set(WITH_BUILTIN)


# make test compares the bytes of a flight in test/autopilot/test_builtin_in_process.py.
@pytest.mark.parametrize(
    "world", [pytest.param("guided", marks=pytest.mark.nightly), pytest.param("rover", marks=pytest.mark.peers)]
)
def test_a_world_that_the_built_in_autopilot_flies(world: str, tmp_path: Path) -> None:
    path = tmp_path / f"{world}.yaml"
    text = Path(load(world).source).read_text(encoding="utf-8")
    assert "mavlink_builtin}" in text
    path.write_text(
        text.replace("mavlink_builtin}", f"mavlink_builtin, instance: {free_instance()}}}"), encoding="utf-8"
    )
    for name in ("a", "b"):
        words = [
            "run",
            str(path),
            "--no-ros",
            "--speed",
            "max",
            "--duration",
            str(WITH_BUILTIN[world]),
            "--record",
            str(tmp_path / name),
        ]
        assert exit_code(words) == 0
    first, second = (messages(tmp_path / name / f"{name}_0.mcap") for name in ("a", "b"))
    assert first == second
    poses = [odometry.data for odometry in first if odometry.topic.endswith("/truth/odom")]
    assert poses[0] != poses[-1], "it moves"


# Every engine and kind of sensor is in these; test_simulation compares the others by their poses.
@pytest.mark.parametrize(
    "world", rows(sorted(set(shipped_worlds()) - WITH_PEERS), usual=("arm_on_cart", "orbit", "quadrotor"))
)
def test_a_shipped_world(world: str, tmp_path: Path) -> None:
    try:
        warned = [record(world, tmp_path / name / "bag", seed=11) for name in ("a", "b")]
    except WorldError as error:
        pytest.skip(f"does not run here: {error}")
    assert warned == [[], []]
    first, second = (sorted((tmp_path / name / "bag").iterdir()) for name in ("a", "b"))
    assert [path.name for path in first] == [path.name for path in second] == ["bag_0.mcap", "metadata.yaml"]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    """So the comparison above can fail."""
    for seed in (1, 2):
        record("quadrotor", tmp_path / str(seed) / "bag", seed=seed)
    first, second = ((tmp_path / str(seed) / "bag" / "bag_0.mcap").read_bytes() for seed in (1, 2))
    assert first != second
