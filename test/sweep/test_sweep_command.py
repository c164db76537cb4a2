"""The command `sweep`: results, errors, interruptions, and the repetition of a case."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from in_process import exit_code
from nightly import only
from sweeping import Here, arguments, contents, family, parts, start, workers_of
from waiting import has_ended, until, until_ended

from sim_node import Simulation
from sim_node.extensions.sweep import SWEEP_ENGINES, read
from sim_node.extensions.sweep.about import repeated
from sim_node.recording import open_bag

RUNS = 30


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a sweep by two workers, which nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    process = start(arguments(folder, RUNS, "--workers", "2", "--plot"))
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert f"{RUNS} of {RUNS} cases: {RUNS} ok" in output
    return folder / "results"


def test_each_case_has_a_row_with_its_numbers_and_measures(undisturbed: Path) -> None:
    rows = read(undisturbed)
    assert rows["case"].to_list() == list(range(RUNS))
    assert rows["bodies[ball].geometry[0].mass"].to_list() == [1.0, 2.0, 3.0] * (RUNS // 3)
    assert rows["status"].unique().to_list() == ["ok"]
    # A second of free flight: x = vx, z = 5 - 10 / 2, and the apex is at 0.5 s.
    assert np.abs((rows["final_pose(ball).x"] - rows["bodies[ball].joint.qd[0]"]).to_numpy()).max() < 1e-9
    assert np.abs(rows["max(pose[ball].z)"].to_numpy() - 1.25).max() < 1e-9
    assert (undisturbed / "plot.png").read_bytes()[:4] == b"\x89PNG"
    # Any tool reads the dataset.
    assert len(pl.read_parquet(undisturbed / "rows" / "*.parquet")) == RUNS


# Takes seconds: make test has processes of a sweep that end, in test_driver.py.
@pytest.mark.nightly
@pytest.mark.parametrize("kills", only([2, 8], 0))
def test_a_killed_sweep_is_gone_on_with_and_no_case_is_lost_or_doubled(
    kills: int, undisturbed: Path, tmp_path: Path
) -> None:
    """Kill -9 of the driver or of a worker, at random moments. The first kill is one of a worker."""
    chance = random.Random(int.from_bytes(os.urandom(4), "little"))
    results = tmp_path / "results"
    words = arguments(tmp_path, RUNS, "--workers", "1")
    process = start(words)
    for kill in range(kills):
        until(lambda: process.poll() is not None or workers_of(process), "a worker", poll_s=0.2)  # noqa: B023
        moment = time.monotonic() + chance.uniform(0.0, 1.5)
        until(lambda: process.poll() is not None or time.monotonic() > moment, "the moment", poll_s=0.05)  # noqa: B023
        if process.poll() is None:
            everyone = family(process)
            victims = workers_of(process) if kill == 0 else everyone[:1]
            for victim in victims:
                victim.kill()
            if kill > 0:
                until_ended(*everyone)
        if process.poll() is not None and kill > 0:
            process.wait()
            has_begun = (results / "sweep.json").exists()
            process = start(["sweep", "--resume", str(results), "--workers", "1"] if has_begun else words)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert contents(results).equals(contents(undisturbed))
    assert not list((results / "rows").glob("*.tmp"))


# make test has processes of a sweep that end, in test_driver.py.
@pytest.mark.nightly
def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    results = tmp_path / "results"
    process = start(arguments(tmp_path, 100_000, "--workers", "1"))
    until(lambda: process.poll() is not None or parts(results) > 0, "the first rows")
    everyone = family(process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "go on with: sim_node sweep --resume" in output
    assert "Traceback" not in output
    assert all(map(has_ended, everyone[:1]))
    until_ended(*everyone)
    assert 0 < len(read(results)) < 100_000


def test_a_case_is_repeated_to_the_same_bytes(undisturbed: Path) -> None:
    """The measures of a repeated run are those of the row, to the bit."""
    row = read(undisturbed).row(17, named=True)
    world, seed, duration = repeated(undisturbed, 17)
    assert (seed, duration) == (row["seed"], 1.0)
    simulation = Simulation(world, seed)
    simulation.run(duration)
    pose = simulation.present().poses[simulation.frames.index("ball")]
    assert pose.tolist() == [row[f"final_pose(ball).{part}"] for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]


def test_kept_topics_columns_and_pictures(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A repeated run, recorded by the command `run`, has the messages that the sweep has kept."""
    more = ["--keep", "/tf", "--keep-columns", "qvel", "--engine", "here"]
    with SWEEP_ENGINES.extended({"here": Here}):
        assert exit_code(arguments(tmp_path, 2, *more, duration=0.2)) == 0, capfd.readouterr().err
    kept = tmp_path / "results" / "cases" / "000001"
    frame = pl.read_parquet(kept / "columns" / "qvel.parquet")
    assert frame["time"].to_list() == pytest.approx([0.0, 0.1, 0.2])
    assert frame["ball.vz"].to_list()[-1] == pytest.approx(5.0 - 10.0 * 0.2)
    again = ["run", "--from", str(tmp_path / "results"), "--case", "1", "--no-ros", "--speed", "max"]
    assert exit_code([*again, "--record", str(tmp_path / "again")]) == 0, capfd.readouterr().err
    with open_bag(kept / "bag") as one, open_bag(tmp_path / "again") as other:
        first, second = ([(m.time_ns, bytes(m.data)) for m in bag.messages(["/tf"])] for bag in (one, other))
    assert len(first) > 5
    assert first == second


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (
            ["--vary", "bodies[bal].joint.qd[0]=1,2"],
            "--vary: bodies[bal].joint.qd[0]: no [bal] here; did you mean ball",
        ),
        (["--vary", "bodies[ball].geometry[0].mass=-1,2"], "out of range"),
        (["--vary", "bodies[ball].geometry[0].mass"], "PATH=SPEC is needed"),
        (["--vary", "bodies[ball].joint.qd[0]=1,2", "--vary", "bodies[ball].joint.qd[0]=1"], "is varied twice"),
        (["--measure", "max(pose[ball].up)"], "no number 'up'"),
        (["--every", "5"], "every: 5 s is out of range"),
        (["--engine", "proceses"], "did you mean processes"),
        (["--address", "auto"], "--address requires --engine ray"),
        (["--keep-columns", "qvl"], "did you mean qvel"),
    ],
)
def test_a_mistake_is_one_line_before_anything_starts(
    words: list[str], reported: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    world = tmp_path / "thrown.yaml"
    arguments(tmp_path, 1)
    given = ["sweep", str(world), "--duration", "1", "--runs", "4", "--out", str(tmp_path / "results"), *words]
    assert exit_code(given) == 2
    assert reported in capfd.readouterr().err
    assert not (tmp_path / "results").exists()


def test_the_study_of_the_page_is_the_shipped_one() -> None:
    root = Path(__file__).parents[2]
    study = (root / "config" / "sweeps" / "cart_pole.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{study}```" in (root / "docs" / "sweeps.md").read_text(encoding="utf-8")


STUDY = """\
sweep:
  world: thrown.yaml
  duration: 0.1
  runs: 3
  vary:
    bodies[ball].joint.qd[0]: uniform(1, 2)
    seed: [7, 8, 9]
  measures:
    - fell=final(pose[ball].z)
"""


def test_a_study_in_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments(tmp_path, 1)
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    with SWEEP_ENGINES.extended({"here": Here}):
        assert exit_code(["sweep", str(study), "--out", str(tmp_path / "out"), "--engine", "here"]) == 0
    rows = read(tmp_path / "out")
    assert rows["seed"].to_list() == [7, 8, 9]
    assert rows["fell"].to_list() == pytest.approx([0.45] * 3)
    capfd.readouterr()
    for old, new, where in (
        ("uniform", "unifrom", "study.yaml:6:31: sweep.vary.'bodies[ball].joint.qd[0]': "),
        ("[ball].joint", "[bal].joint", "did you mean ball"),
        ("thrown.yaml", "throwm.yaml", "study.yaml:2:10: sweep.world"),
        ("runs: 3", "run: 3", "study.yaml:4:3: sweep.run: unknown key; did you mean runs"),
        ("    - fell", "    -- fell: [", "study.yaml:9:26: not YAML"),
        ("runs: 3", "runs: 0", "study.yaml:4:9: sweep.runs: 0 is out of range"),
        ("pose[ball]", "pose[bal]", "study.yaml:9:7: sweep.measures[0]"),
    ):
        study.write_text(STUDY.replace(old, new))
        assert exit_code(["sweep", str(study), "--out", str(tmp_path / "other")]) == 2
        assert where in capfd.readouterr().err
