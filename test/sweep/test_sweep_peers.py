"""Long: the same results from any number of workers and from Ray, and after many kills."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from strangers import environment_of
from sweeping import SIM_NODE, arguments, contents, environment, family, parts, start
from waiting import until, until_ended

pytestmark = pytest.mark.peers
RUNS = 60
HERE = Path(__file__).parent


def run(words: list[str], python: Path | str = sys.executable) -> None:
    done = subprocess.run([str(python), *words], capture_output=True, text=True, env=environment(python), check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def by_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one worker that nothing disturbed."""
    folder = tmp_path_factory.mktemp("one")
    run([*SIM_NODE[1:], *arguments(folder, RUNS, "--workers", "1")])
    return folder / "results"


@pytest.mark.parametrize("workers", [2, 4])
def test_any_number_of_workers_gives_the_same_content(by_one: Path, workers: int, tmp_path: Path) -> None:
    run([*SIM_NODE[1:], *arguments(tmp_path, RUNS, "--workers", str(workers))])
    assert contents(tmp_path / "results").equals(contents(by_one))


def test_ray_gives_the_same_content(by_one: Path, tmp_path: Path) -> None:
    words = [*SIM_NODE[1:], *arguments(tmp_path, RUNS, "--workers", "2", "--engine", "ray")]
    run(words, environment_of("ray"))
    assert contents(tmp_path / "results").equals(contents(by_one))


def test_a_raylet_that_is_killed_costs_no_case(by_one: Path, tmp_path: Path) -> None:
    arguments(tmp_path, RUNS)
    words = [str(HERE / "ray_cluster.py"), str(tmp_path / "thrown.yaml"), str(tmp_path / "results")]
    run(words, environment_of("ray"))
    assert contents(tmp_path / "results").equals(contents(by_one))


def test_fifty_kills_lose_and_double_no_case(by_one: Path, tmp_path: Path) -> None:
    """As the test of the command has five: the driver or a worker, at moments from its start on."""
    chance = random.Random(int.from_bytes(os.urandom(4), "little"))
    results = tmp_path / "results"
    words = arguments(tmp_path, RUNS, "--workers", "2")
    kills = 0
    while kills < 50:
        if parts(results) and len(contents(results)) == RUNS:
            # Rows of the last parts are taken away, so that there is always something left to do.
            for part in sorted((results / "rows").glob("part-*.parquet"))[-2:]:
                part.unlink()
        process = start(["sweep", "--resume", str(results)] if (results / "sweep.json").exists() else words)
        until(lambda: process.poll() is not None or chance.random() < 0.01, poll_s=0.02)  # noqa: B023
        if process.poll() is None:
            everyone = family(process)
            workers = [each for each in everyone[1:] if "spawn_main" in " ".join(each.cmdline())]
            chance.choice([everyone[0], *workers]).kill()
            kills += 1
            if chance.random() < 0.5:
                process.kill()
                until_ended(*everyone)
        process.communicate()
    run([*SIM_NODE[1:], "sweep", "--resume", str(results)])
    assert contents(results).equals(contents(by_one))
