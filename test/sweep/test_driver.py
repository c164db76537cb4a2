"""The driver: workers that crash, worlds in Python in batches, payloads, plots and what memory rows need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from strangers import environment_of
from sweeping import WORLD, Here, environment

from sim_node import loads
from sim_node.extensions.sweep import SWEEP_ENGINES, DatasetFault, read, run
from sim_node.extensions.sweep.components import BLOCK
from sim_node.extensions.sweep.job import Case, Outcome, payload_of
from sim_node.extensions.sweep.plots import plot
from sim_node.extensions.sweep.study import Study, prepare
from sim_node.extensions.sweep.variations import variation
from sim_node.extensions.sweep.worker import CaseWorker
from sim_node.world import Body, Geometry, World, WorldError

HOSTILE = """\
import os
import signal
import sys
import threading

def hostile(run):
    what = run.values["bodies[ball].joint.qd[0]"]
    if what == 2.0:
        sys.exit()
    if what == 3.0:
        threading.Event().wait()
    if what == 4.0:
        return {"case": 17}
    if what == 5.0:
        return {"hostile": object()}
    if what == 6.0:
        os._exit(9)
    if what == 7.0:  # as code that Python cannot interrupt
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        threading.Event().wait()
    return what
"""


def hostile(folder: Path, engine: str, whats: list[float], python: Path | str = sys.executable) -> pl.DataFrame:
    """The rows of a sweep whose measure does `whats`, by one worker of an engine, in a process of its own."""
    (folder / "hostile.py").write_text(HOSTILE)
    (folder / "thrown.yaml").write_text(WORLD)
    vary = f"bodies[ball].joint.qd[0]={','.join(map(str, whats))}"
    words = ["sweep", "thrown.yaml", "--duration", "0.02", "--vary", vary, "--measure", "hostile.py", "-o", "out"]
    options = ["--engine", engine, "--workers", "1", "--timeout", "6"]
    done = subprocess.run(
        [str(python), "-m", "sim_node.cli.main", *words, *options],
        cwd=folder,
        env=environment(python),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return read(folder / "out")


def test_what_a_measure_does_is_the_outcome_of_its_case_and_of_no_other(tmp_path: Path) -> None:
    rows = hostile(tmp_path, "processes", [1, 2, 3, 4, 5, 1])
    check_hostile(tmp_path, rows, ["ok", "failed", "timeout", "failed", "failed", "ok"])


@pytest.mark.peers  # processes start, or a cluster, and time passes
@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_a_worker_that_ends_or_cannot_be_interrupted_costs_its_case_only(engine: str, tmp_path: Path) -> None:
    python = environment_of("ray") if engine == "ray" else sys.executable
    rows = hostile(tmp_path, engine, [1, 2, 3, 4, 5, 6, 7, 1], python)
    check_hostile(tmp_path, rows, ["ok", "failed", "timeout", "failed", "failed", "crashed", "crashed", "ok"])


def check_hostile(folder: Path, rows: pl.DataFrame, statuses: list[str]) -> None:
    assert rows["status"].to_list() == statuses
    assert rows["case"].to_list() == list(range(len(statuses)))
    assert [value for value in rows["hostile"].to_list() if value is not None] == [1.0, 1.0]
    errors = rows["error"].to_list()
    file = f"{folder}/hostile.py"  # Ray's workers have a copy, below a folder of their own
    assert errors[1].startswith("SystemExit (/")
    assert errors[1].endswith(f"{file}:9, in hostile)")
    assert errors[2] == "did not end within 6 s (--timeout)"
    reserved = "a value has the name 'case', which each row has already (case, seed, status, error, wall_s)"
    assert errors[3].endswith(f"{file}:hostile: {reserved}")
    assert f"{file}:hostile: returned <object object" in errors[4]


SCRIPT = """\
import jax.numpy as jnp
import sim_node.extensions.elodin as el

@el.map
def weight(f: el.Force, i: el.Inertia) -> el.Force:
    return f + el.SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -10.0]))

world = el.World()
world.spawn(el.Body(world_vel=el.SpatialMotion(linear=jnp.array([3.0, 0.0, 5.0]))), "ball")
world.run(el.six_dof(sys=weight), 1 / 100)
"""


def test_worlds_in_python_run_in_blocks_that_do_not_depend_on_what_is_left(tmp_path: Path) -> None:
    """RK4 is exact for a parabola: x = vx t, z = 5 t - 5 t^2, highest at 0.5 s."""
    script = tmp_path / "thrown.py"
    script.write_text(SCRIPT)
    vary = (variation("ball.world_vel[3]", "uniform(1, 2)"),)
    top = "max(component/world_pos[ball][6])"
    prepared = prepare(Study(script, 1.0, vary, BLOCK + 8, measures=(top, "final_pose(ball)")))
    assert prepared.job.block == BLOCK
    worker = CaseWorker(prepared.job)
    whole = {row.case.number: row for row in worker.run(prepared.cases)}
    assert len(whole) == BLOCK + 8
    for number, row in whole.items():
        assert row.measures[top] == pytest.approx(1.25, abs=1e-9)
        assert row.measures["final_pose(ball).x"] == pytest.approx(prepared.cases.values[vary[0].path][number])
        assert row.measures["final_pose(ball).z"] == pytest.approx(0.0, abs=1e-9)
    last = list(worker.run(prepared.cases.part(slice(BLOCK, None))))
    assert [row.measures for row in last] == [whole[row.case.number].measures for row in last]
    for path, reported in (("bal.world_vel[3]", "did you mean ball"), ("ball.world_vel", "has 6 numbers")):
        with pytest.raises(WorldError, match=reported):
            prepare(Study(script, 1.0, (variation(path, "1,2"),)))


def test_a_payload_brings_the_meshes_of_a_world(tmp_path: Path) -> None:
    """As on another machine: the file is gone, and the world has its own copy."""
    mesh = tmp_path / "tetrahedron.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    shape = Geometry("mesh", np.ones(3), mass=1.0, file=mesh)
    world = World("meshes", bodies=(Body("b", "map", joint="free", geometry=(shape,)),))
    payload = payload_of(world)
    assert payload.digest == payload_of(world).digest
    mesh.unlink()
    there = payload.remote().open()
    (body,) = there.bodies
    assert body.geometry[0].file is not None
    assert body.geometry[0].file.read_text().startswith("v 0 0 0")
    assert payload.digest in str(body.geometry[0].file)


# Takes seconds: make test has a sweep that is killed, in test_sweep_command.py, and blocks of worlds in Python.
@pytest.mark.nightly
def test_results_are_not_mixed_with_those_of_another_sweep(tmp_path: Path) -> None:
    world, out = loads(WORLD), tmp_path / "out"
    few = {"bodies[ball].joint.qd[0]": [1.0, 2.0]}
    with SWEEP_ENGINES.extended({"here": Here}):
        run(world, duration=0.02, vary=few, out=out, engine="here")
    with pytest.raises(DatasetFault, match="has results already"):
        run(world, duration=0.02, vary=few, out=out)
    with pytest.raises(DatasetFault, match="duration is another"):
        run(world, duration=0.03, vary=few, out=out, resume=True)
    heavier = world.with_values({"bodies[ball].geometry[0].mass": 2})
    with pytest.raises(DatasetFault, match="the world has changed"):
        run(heavier, duration=0.02, vary=few, out=out, resume=True)
    with pytest.raises(DatasetFault, match="no results of a sweep"):
        read(tmp_path)
    with pytest.raises(DatasetFault, match="no measure has two"):
        plot(out)
    next((out / "rows").glob("*.parquet")).write_bytes(b"PAR1 but not really")
    with pytest.raises(DatasetFault, match="cannot be read"):
        read(out)


def test_rows_of_other_types_can_be_joined(tmp_path: Path) -> None:
    """A measure may be null in one part, a number in the next, a text in a third."""
    from contextlib import closing

    from sim_node.extensions.sweep.dataset import RowWriter

    about = {"world": "w", "runs": 4, "duration": 1.0, "vary": {}}
    with closing(RowWriter(tmp_path / "out", about, 4)) as dataset:
        for number, value in enumerate((None, 2.5, True, "far")):
            dataset.add([Outcome(Case(number, 0, {}), "ok", "", {"m": value}, 0.1)])
            dataset.flush()
    assert read(tmp_path / "out")["m"].to_list() == [None, "2.5", "1.0", "far"]
    assert pl.read_parquet(tmp_path / "out" / "rows" / "part-000001.parquet")["m"].to_list() == [2.5]
    assert not os.path.exists(tmp_path / "out" / "cases")
