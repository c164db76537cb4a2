"""Campaigns of Elodin: plans that are drawn as Elodin draws them, runs with parameters and ports, scores, errors."""

from __future__ import annotations

import csv
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy import stats
from waiting import until_ended

from sim_node.cli.main import main
from sim_node.extensions.elodin import monte_carlo
from sim_node.extensions.elodin.pacing import PaceKept
from sim_node.extensions.sweep.campaign_files import read_campaign
from sim_node.extensions.sweep.delivery import DELIVERED
from sim_node.extensions.sweep.plans import read_plan, read_spec, write_plan
from sim_node.world import WorldError

SPEC = """
[monte_carlo]
n_samples = 100
seed = 42
method = "lhs"

[monte_carlo.variables]
mass = { dist = "uniform", min = 1.0, max = 2.0 }
target_x = { dist = "uniform", min = 20.0, max = 40.0 }
thrust_gain = { dist = "uniform", min = 0.8, max = 1.2 }
wind = { dist = "normal", mean = 0.0, std = 0.5 }
"""
# As the sampler of Elodin 0.20 writes them for this spec.
FIRST = {
    "mass": 1.916274460417031,
    "target_x": 23.64996128957642,
    "thrust_gain": 0.8884985012626575,
    "wind": 0.31006448623760835,
}
SCRIPT = """
import os, socket, sys, time
from sim_node.extensions.elodin import monte_carlo as mc

p = mc.params(mc.params_spec(kind=mc.Param(str, default="plain"), x=mc.Param(float, default=0.5)))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    own.bind(("127.0.0.1", mc.port("state")))
    os.mkdir(p.db_path)
    if p["kind"] == "hangs":
        time.sleep(1000)
    if p["kind"] == "breaks" and p.meta["part"] == 3:
        sys.exit("it broke")
    mc.result(square=p["x"] ** 2, seed=p.seed, port=mc.port("state"), kind=p.get("kind"))
"""
SCORE = """
import json

def post_run(ctx):
    found = json.load(open(ctx.run_dir + "/result.json")) if ctx.metrics.exit_ok else {}
    return {"valid": getattr(ctx.params, "kind", "") != "odd", "pass": found.get("square", 9) < 2, **found}

def post_campaign(ctx):
    print("report of", json.load(open(ctx.summary))["total_runs"])
"""
PLAN = """run_id,seed,param.kind,param.x,meta.part
one,7,,1.0,1
two,8,plain,2.0,2
three,9,breaks,1.0,3
four,10,odd,1.0,4
"""
CAMPAIGN = """
timeout = "1h"
rampup = "off"
[resources.ports]
state = "auto"
[retention]
keep_run_db = "on-fail"
[hooks]
post_run = "score.py"
post_campaign = "score.py"
"""


def test_samples_are_those_of_elodin(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    rows = read_spec(tmp_path / "spec.toml")
    assert (rows[0].run_id, rows[0].seed, rows[0].params) == ("run_0000000", 1, FIRST)
    assert len(rows) == 100
    wind = np.array([row.params["wind"] for row in rows])
    strata = np.sort((stats.norm(0.0, 0.5).cdf(wind) * 100).astype(int))
    assert strata.tolist() == list(range(100))  # one in each hundredth
    write_plan(rows, tmp_path / "plan.csv")
    assert read_plan(tmp_path / "plan.csv") == rows


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(0, 2**32))
def test_values_are_of_their_distributions(tmp_path_factory: Any, count: int, seed: int) -> None:
    file = tmp_path_factory.mktemp("spec") / "spec.toml"
    file.write_text(f"""
[monte_carlo]
n_samples = {count}
seed = {seed}
method = "random"
[monte_carlo.variables]
a = {{ dist = "loguniform", lo = 0.1, hi = 10 }}
b = {{ dist = "choice", values = ["x", "y"] }}
c = {{ value = 3 }}
[sim_sweep]
d = [1, 2]
[meta_sweep]
e = ["u", "v", "w"]
""")
    rows = read_spec(file)
    assert len(rows) == 6 * count
    assert len({(row.params["d"], row.meta["e"]) for row in rows}) == 6
    for row in rows:
        assert 0.1 <= row.params["a"] <= 10.0
        assert row.params["b"] in ("x", "y")
        assert row.params["c"] == 3


def test_a_campaign_runs_scores_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("main.py", SCRIPT), ("score.py", SCORE), ("plan.csv", PLAN), ("campaign.toml", CAMPAIGN)):
        (tmp_path / name).write_text(text)
    out = tmp_path / "out"
    files = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *files, "-o", str(out), "--workers", "3"]) == 0
    printed = capsys.readouterr()
    assert "report of 4" in printed.out
    assert "1 of 4 runs passed" in printed.out
    assert "campaign.toml:3:1: rampup: has no effect here" in printed.err
    with (out / "results.csv").open(newline="") as file:
        rows = {row["run_id"]: row for row in csv.DictReader(file)}
    found = {name: (row["status"], row["passed"], row["valid"]) for name, row in rows.items()}
    assert found == {
        "one": ("ok", "true", "true"),
        "two": ("ok", "false", "true"),
        "three": ("failed", "false", "true"),
        "four": ("invalid", "false", "false"),
    }
    assert rows["three"]["failure_reason"] == "exit code 1: it broke"
    assert (rows["one"]["square"], rows["one"]["seed"], rows["one"]["kind"]) == ("1.0", "7", "plain")
    kept = sorted(path.parent.name for path in out.glob("runs/*/db"))
    assert kept == ["four", "three", "two"]
    summary = json.loads((out / "summary.json").read_text())
    assert [summary[name] for name in ("total_runs", "passed", "failed", "invalid", "skipped")] == [4, 1, 2, 1, 0]
    assert summary["hook_metrics"]["square"]["max"] == 4.0


def test_a_run_that_does_not_end_is_ended(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import time\ntime.sleep(1000)")
    (tmp_path / "plan.csv").write_text("run_id\nonly\n")
    (tmp_path / "campaign.toml").write_text('timeout = "500ms"\nfail_on_run_errors = true')
    files = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *files, "-o", str(tmp_path / "out")]) == 1
    metrics = json.loads((tmp_path / "out" / "runs" / "only" / "metrics.json").read_text())
    assert (metrics["status"], metrics["failure_reason"]) == ("timeout", "took longer than 0.5 s")


def test_what_a_run_has_started_ends_with_it_even_where_that_does_not_hear(tmp_path: Path) -> None:
    """A child that ignores SIGTERM, of a run that does not."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('.', flush=True); time.sleep(99)"
    (tmp_path / "main.py").write_text(
        "import pathlib, subprocess, sys, time\n"
        f"started = subprocess.Popen([sys.executable, '-c', {deaf!r}], stdout=subprocess.PIPE)\n"
        "started.stdout.readline()\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(started.pid))\n"
        "time.sleep(1000)\n"
    )
    (tmp_path / "plan.csv").write_text("run_id\nonly\n")
    (tmp_path / "campaign.toml").write_text('timeout = "5s"\n')
    files = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    main(["sweep", str(tmp_path / "main.py"), *files, "-o", str(tmp_path / "out")])
    with suppress(psutil.NoSuchProcess):
        until_ended(psutil.Process(int((tmp_path / "pid").read_text())))


def test_without_a_campaign_there_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(monte_carlo.CONTEXT, raising=False)
    spec = monte_carlo.params_spec(mass=monte_carlo.Param(float, default=1.5, min=0.5))
    found = monte_carlo.params(spec)
    assert (found["mass"], found.get("nothing", 3), found.run_id, found.ports()) == (1.5, 3, None, {})
    assert json.loads(monte_carlo.spec_json())["params"]["mass"]["type_name"] == "float"
    assert monte_carlo.port("state", 9003) == 9003
    with pytest.raises(KeyError, match="state"):
        monte_carlo.port("state")
    with pytest.raises(RuntimeError, match=r"result\(\) needs a campaign"):
        monte_carlo.result(error=1.0)
    with pytest.raises(TypeError, match=r"params_spec: mass is 1\.5; a monte_carlo\.Param is needed"):
        monte_carlo.params_spec(mass=1.5)  # type: ignore[arg-type]


PACED = """
from dataclasses import dataclass
from typing import Annotated
import jax
import sim_node.extensions.elodin as el

X = Annotated[jax.Array, el.Component("x", el.ComponentType.F64)]

@dataclass
class One(el.Archetype):
    x: X

@el.map
def rise(x: X) -> X:
    return x + 1.0

step = el.monte_carlo.params(el.monte_carlo.params_spec(step=el.monte_carlo.Param(float)))["step"]
world = el.World()
world.spawn(One(0.0), "one")
world.run(rise, sim_time_step=step, run_time_step=step, max_ticks=6, pre_step=lambda *a: None, interactive=False)
"""


# Takes seconds: make test has campaigns that run, score and report.
@pytest.mark.nightly
def test_a_run_that_does_not_keep_to_real_time_is_degraded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No tick takes less than a microsecond: such a run is late each time, and many times slower than real time."""
    campaign = "workers = 1\nfail_on_run_errors = true\n[quality]\nmax_real_time_factor = 3.0\n"
    plan = "run_id,param.step\nslow,1e-6\ntimely,0.2\n"
    for name, text in {"main.py": PACED, "plan.csv": plan, "campaign.toml": campaign}.items():
        (tmp_path / name).write_text(text)
    given = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(tmp_path / "out")]) == 0
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        slow, timely = csv.DictReader(file)
    assert (timely["status"], timely["degraded"], timely["passed"]) == ("ok", "false", "true")
    assert 0.5 < float(timely["real_time_factor"]) < 3.0
    assert (slow["status"], slow["degraded"], slow["passed"], slow["valid"]) == ("degraded", "true", "false", "true")
    assert float(slow["behind_deadline_frac"]) == 1.0
    assert float(slow["real_time_factor"]) > 3.0
    assert slow["failure_reason"] == f"took {float(slow['real_time_factor']):.3f} times real time (3 allowed)"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["degraded"], summary["failed"], summary["passed"]) == (1, 0, 1)
    assert summary["pacing"]["paced_runs"] == 2
    assert summary["pacing"]["max_real_time_factor_run"] == "slow"
    with (tmp_path / "campaign.toml").open("a") as file:
        file.write("fail_on_degraded = true\n")
    (tmp_path / "plan.csv").write_text("run_id,param.step\nslow,1e-6\n")
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(tmp_path / "again")]) == 1


def test_pace_is_judged_as_elodin_does(tmp_path: Path) -> None:
    """Of its test extract_pacing_computes_rtf_and_frac: 20 s for 10 simulated, 5 of 100 cycles late, two resets."""
    summary = {
        **{"cycles": 100, "steps": 1000, "simulation_rate_hz": 100.0, "wall_ns": 20_000_000_000},
        **{"pacing_behind_events": 5, "pacing_resets": 2, "real_time_pacing": {"count": 10}},
    }
    path = tmp_path / "sim_summary.json"
    path.write_text(json.dumps(summary))
    assert [*PaceKept.read(path)] == pytest.approx([0.05, 2.0, 2.0], abs=1e-9)
    path.write_text(json.dumps({**summary, "real_time_pacing": {"count": 0}}))
    assert PaceKept.read(path) == PaceKept()


READS = """
import json, os, pathlib, tomllib

name = os.environ["OF_RUN"]
text = pathlib.Path(name).read_text()
found = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
run = pathlib.Path(os.environ["RUN"])
(run / "raw").mkdir()
(run / "raw" / "log.bin").write_text("much")
(run / "trace.bin").write_text("more")
(run / "result.json").write_text(json.dumps({"square": found["x"] ** 2, "kind": found.get("kind", ""), "of": str(run)}))
"""


@pytest.mark.parametrize("format", only(["json", "toml"], 0))
def test_parameters_are_delivered_in_a_file_and_what_is_not_kept_is_removed(format: str, tmp_path: Path) -> None:
    """As Elodin 0.18 has params_delivery, prune_on_pass and prune_on_fail."""
    (tmp_path / "outside.bin").write_text("")
    delivery = f'[params_delivery]\nfile = "given/{{seed}}.{format}"\nformat = "{format}"\nenv_var = "OF_RUN"\n'
    more = '[params_delivery.env]\nRUN = "{run_dir}"\n[retention]\nprune_on_pass = ["raw", "*.bin"]\n'
    more += f'prune_on_fail = ["raw/*"]\n[hooks]\npost_run = "{tmp_path / "score.py"}"\n'
    plan = 'run_id,seed,param.kind,param.x\none,7,a "b",1.0\ntwo,8,c,2.0\n'
    files = {"main.py": READS, "score.py": SCORE, "plan.csv": plan, "campaign.toml": delivery + more}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    given = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml"), "--workers", "1"]
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(tmp_path / "out")]) == 0
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        rows = {row["run_id"]: row for row in csv.DictReader(file)}
    assert [(row["passed"], row["square"]) for row in rows.values()] == [("true", "1.0"), ("false", "4.0")]
    one, two = (tmp_path / "out" / "runs" / name for name in ("one", "two"))
    assert (one / "given" / f"7.{format}").exists()
    assert not (one / "raw").exists()
    assert not (one / "trace.bin").exists()
    assert (two / "raw").exists()
    assert not (two / "raw" / "log.bin").exists()
    assert (two / "trace.bin").exists()


def test_runs_share_the_cores_unless_their_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Elodin 0.18 to 0.20: `max(1, cores / workers)` threads each, where nobody has set the variables."""
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "XLA_FLAGS"]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    script = (
        "import json, os, pathlib\n"
        "run = pathlib.Path(os.environ['ELODIN_MONTE_CARLO_RUN_DIR'])\n"
        f"(run / 'found.json').write_text(json.dumps([os.environ[name] for name in {names}]))\n"
    )
    campaign = '[env]\nOPENBLAS_NUM_THREADS = "3"\n'
    files = {"main.py": script, "plan.csv": PLAN, "campaign.toml": campaign}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml"), "--workers", "2"]
    assert main(["sweep", str(tmp_path / "main.py"), *words, "-o", str(tmp_path / "out")]) == 0
    each = str(max(1, (os.cpu_count() or 1) // 2))
    xla = f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads={each}"
    for run in (tmp_path / "out" / "runs").iterdir():
        assert json.loads((run / "found.json").read_text()) == [each, "3", "5", xla]


def test_runs_are_in_a_scratch_folder_until_they_end(tmp_path: Path) -> None:
    """As scratch_dir of Elodin: the paths that a run gets are there, and what it leaves moves to the results."""
    script = (
        "import json, os, pathlib\n"
        "run = pathlib.Path(os.environ['ELODIN_MONTE_CARLO_RUN_DIR'])\n"
        "(run / 'where.txt').write_text(str(run))\n"
        "(run / 'result.json').write_text(json.dumps({'square': 1.0}))\n"
    )
    campaign = f'scratch_dir = "{tmp_path / "fast" / "disk"}"\n[hooks]\npost_run = "{tmp_path / "score.py"}"\n'
    files = {"main.py": script, "score.py": SCORE, "plan.csv": PLAN, "campaign.toml": campaign}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    given = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(tmp_path / "out")]) == 0
    runs = sorted((tmp_path / "out" / "runs").iterdir())
    assert [run.name for run in runs] == ["four", "one", "three", "two"]
    for run in runs:
        was = Path((run / "where.txt").read_text())
        assert was.is_relative_to(tmp_path / "fast" / "disk")
        assert was.name == run.name
        assert {"result.json", "metrics.json", "post_run_result.json", "logs"} <= {path.name for path in run.iterdir()}
    assert list((tmp_path / "fast" / "disk").iterdir()) == []


def test_a_run_that_cannot_be_moved_stays_in_its_scratch_folder_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of the results has a file where it needs a folder: the only copy of what the run made is kept."""
    script = (
        "import os, pathlib\n"
        "pathlib.Path(os.environ['ELODIN_MONTE_CARLO_RUN_DIR'], 'made.txt').write_text('worth')\n"
        "pathlib.Path(os.environ['IN_THE_WAY']).touch()\n"
    )
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    campaign = f'scratch_dir = "{scratch}"\nfail_on_run_errors = true\n[env]\nIN_THE_WAY = "{out / "runs"}"\n'
    for name, text in {"main.py": script, "plan.csv": "run_id\none\ntwo\n", "campaign.toml": campaign}.items():
        (tmp_path / name).write_text(text)
    given = ["--plan", str(tmp_path / "plan.csv"), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(out)]) == 1
    [folder] = scratch.iterdir()
    assert f"{folder / 'runs'} keeps what could not be moved to {out}: one, two" in capsys.readouterr().err
    with (out / "results.csv").open(newline="") as file:
        rows = {row["run_id"]: row for row in csv.DictReader(file)}
    for name in ("one", "two"):
        assert (folder / "runs" / name / "made.txt").read_text() == "worth"
        assert rows[name]["status"] == "failed"
        assert f"stays in {folder / 'runs' / name}" in rows[name]["failure_reason"]
        assert rows[name]["db_path"] == str(folder / "runs" / name / "db")


def test_what_toml_has_no_word_for_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Elodin finds out when the run begins."""
    (tmp_path / "main.py").write_text("")
    (tmp_path / "campaign.toml").write_text('[params_delivery]\nformat = "toml"\n')
    plan = tmp_path / "plan.csv"
    plan.write_text('run_id,param.x\none,1\ntwo,"[1, null]"\n')
    given = ["--plan", str(plan), "--campaign", str(tmp_path / "campaign.toml")]
    assert main(["sweep", str(tmp_path / "main.py"), *given, "-o", str(tmp_path / "out")]) == 2
    message = f'{plan}:3:1: param.x: is null, for which TOML has no word; deliver the parameters with format = "json"'
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


json_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values, max_size=4))
def test_delivered_toml_has_the_parameters(params: dict[str, Any]) -> None:
    found = pytest.importorskip("tomllib").loads(DELIVERED["toml"](params))
    np.testing.assert_equal(found, params)  # where not-a-numbers are equal


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("campaign.toml", '[retention]\nprune_on_pass = ["../a"]', "'../a' leads out of the folder of a run"),
        ("campaign.toml", '[retention]\nprune_on_fail = ["**"]', "'\\*\\*' is the folder of a run itself"),
        ("campaign.toml", '[params_delivery]\nfile = "/etc/x.json"', "'/etc/x.json' leads out of the folder of a run"),
        ("campaign.toml", '[params_delivery]\nformat = "yaml"', "params_delivery.format: found 'yaml'; allowed: json"),
        (
            "campaign.toml",
            "# x\nrampup = 1\n  [ resources . ports ]\n  'a' = 0\n",
            "campaign.toml:4:3: resources.ports.a: ",
        ),
        (
            "campaign.toml",
            "[[build]]\ncommand = 'a'\n[[build]]\nargs = []\n",
            "campaign.toml:3:1: build[1]: needs command",
        ),
        (
            "campaign.toml",
            "[quality]\nmax_real_time_factor = 'x'",
            "campaign.toml:2:1: quality.max_real_time_factor: a num",
        ),
        (
            "campaign.toml",
            "[quality]\nfail_on_degrade = true",
            "quality.fail_on_degrade: unknown key; did you mean fail_on_degraded?",
        ),
        ("campaign.toml", "env = 3", "campaign.toml:1:1: env: a table is needed, found 3"),
        ("campaign.toml", "scratch_dir = 3", 'scratch_dir: "auto", "off" or a folder is needed, found 3'),
        ("campaign.toml", "worker = 3", r"worker: unknown key; did you mean workers\?"),
        ("campaign.toml", "workers = 0", "workers: a whole number of at least 1 is needed, found 0"),
        ("campaign.toml", 'timeout = "soon"', "timeout: found 'soon'; a time such as 90s"),
        ("campaign.toml", "[resources.ports]\na = 70000", 'resources.ports.a: "auto" or a port from 1 to 65535'),
        ("campaign.toml", '[hooks]\npost_run = "no.py"', "hooks.post_run: there is no file 'no.py'"),
        ("campaign.toml", '[retention]\nkeep_run_db = "alway"', "found 'alway'; did you mean always?"),
        ("campaign.toml", "workers = x\n", "campaign.toml:1:11: Invalid value"),
        ("spec.toml", "[monte_carlo.variables]\na = { dist = 'gauss' }", "monte_carlo.variables.a.dist: found 'gauss'"),
        ("spec.toml", "[monte_carlo.variables]\na = { dist = 'normal', mean = 0 }", "variables.a: needs std"),
        ("spec.toml", "[monte_carlo]\nmethod = 'sobl'", "allowed: lhs, random"),
        (
            "spec.toml",
            "[sim_sweep]\nday = [1979-05-27]",
            "spec.toml:2:1: sim_sweep.day: 1979-05-27 is a time, for which",
        ),
        (
            "spec.toml",
            "[monte_carlo.variables]\na = { dist = 'choice', values = [] }",
            "there is nothing to choose from",
        ),
        ("spec.toml", "[sim_sweep]\na = []", "has no runs"),
        ("plan.csv", 'run_id,param.a\na,"two\nlines"\na,1\n', "plan.csv:4:1: run_id: 'a' is there twice"),
        ("plan.csv", "run_id,seed\na,x\n", r"plan\.csv:2:1: seed: 'x' is not a whole number"),
        ("plan.csv", "run_id\n../a\n", "'../a' is there twice, or no name of a folder"),
        ("plan.csv", "run_id\n", "has no runs"),
    ],
)
def test_a_wrong_file_is_one_error(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    read: Any = {"campaign.toml": read_campaign, "spec.toml": read_spec, "plan.csv": read_plan}[name]
    with pytest.raises(WorldError) as error:
        read(tmp_path / name)
    assert name in str(error.value)
    assert message.replace("\\", "") in str(error.value)
