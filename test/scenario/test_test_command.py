"""The command `test`: verdicts and exit codes, certificates that repeat, results that survive a kill."""

from __future__ import annotations

import json
import os
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from in_process import exit_code
from sweeping import start
from waiting import until

from sim_node.extensions.scenario.certificate import read_certificate
from sim_node.recording import open_bag

BALL = """\
world: ball                  # A ball that is thrown up.
physics: {{gravity: [0, 0, -10], timestep: 0.01}}
time: {{step: 0.01}}
bodies:
  - {{name: ball, joint: {{type: free, qd: [3, 0, 5, 0, 0, 0]}}, geometry: [{{sphere: 0.1, mass: 1.0}}]}}
expect:
  duration: 1
  every: 0.01
  must: ["{0}"]
"""
PASSES, FAILS, NEVER = "always altitude(ball) < 1.3 m", "always altitude(ball) < 1.2 m", "x(ball) > 9 m within 5 s"
VARY = ("--vary", "bodies[ball].joint.qd[2]=uniform(4.8,5.2)")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, must in {"passes": PASSES, "fails": FAILS, "never": NEVER}.items():
        Path(f"{name}.yaml").write_text(BALL.format(must))


def test_verdicts_have_exit_codes_and_say_how_to_repeat_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["test", "passes.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == ["PASS   passes  held by 0.05", "1 scenario, 1 run: 1 pass"]
    assert exit_code(["test", "fails.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    # 5 t - 5 t^2 = 1.2 at 0.4 s.
    assert lines[:2] == ["FAIL   fails", f"       {FAILS}: violated at 0.4 s by 0.05: altitude(ball) = 1.2"]
    again, view = (line.partition(":")[2].split() for line in lines[2:4])
    assert exit_code(again[1:]) == 0
    assert "the same, to the byte" in capsys.readouterr().out
    assert view[:2] == ["sim_node", "view"]
    assert view[3:] == ["--at", "0.4"]
    with open_bag(Path(view[2])) as bag:
        assert "/tf" in {topic.name for topic in bag.topics}
    assert exit_code(["view", view[2], "--at", "9"]) == 2
    assert "--at 9: the bag has 0 s to 1 s" in capsys.readouterr().err
    assert exit_code(["test", "never.yaml"]) == 2


def test_folders_names_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    Path("world.yaml").write_text("world: plain\n")
    assert exit_code(["test", ".", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "fails   A ball that is thrown up.",
        "never   A ball that is thrown up.",
        "passes  A ball that is thrown up.",
    ]
    assert exit_code(["test", ".", "-k", "pass"]) == 0
    assert "1 scenario, 1 run: 1 pass" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "SCENARIO is needed; --list lists the shipped ones"),
        (["world.yaml"], "no world"),
        (["passes.yaml", "-k", "nothing"], "-k nothing: none of passes"),
        (["passes.yaml", "--vary", "bodies[bal].inertial.mass=1,2"], "bal"),
        (["--again", "passes.yaml"], "passes.yaml: not a certificate of sim_node test"),
        (["--again", "none.jsonl:3"], "none.jsonl"),
    ],
)
def test_mistakes(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["test", *words]) == 2
    assert message in capsys.readouterr().err


def test_an_expectation_of_what_is_not_there_is_refused_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.yaml").write_text(BALL.format("always altitude(bal) < 1 m"))
    assert exit_code(["test", "wrong.yaml"]) == 2
    error = capsys.readouterr().err
    assert "wrong.yaml:9:10: expect.must[0]: no frame or vehicle 'bal'; did you mean ball?" in error


def test_reports_for_programs() -> None:
    assert exit_code(["test", ".", "--junit", "junit.xml", "--json", "verdicts.json"]) == 1
    suites = {suite.attrib["name"]: suite for suite in ET.parse("junit.xml").getroot()}
    assert [suites["fails"].attrib[key] for key in ("tests", "failures", "errors")] == ["1", "1", "0"]
    assert [suites["never"].attrib[key] for key in ("tests", "failures", "errors")] == ["1", "0", "1"]
    failure = suites["fails"].find("testcase/failure")
    assert failure is not None
    assert "violated at 0.4 s" in failure.attrib["message"]
    found = {each["scenario"]: each["runs"] for each in json.loads(Path("verdicts.json").read_text())}
    assert {name: runs[0]["verdict"] for name, runs in found.items()} == {
        "fails": "fail",
        "never": "error",
        "passes": "pass",
    }


def test_the_template_is_a_test_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["new", "test", "yard"]) == 0
    assert exit_code(["test", "yard"]) == 0
    assert "1 scenario, 1 run: 1 pass" in capsys.readouterr().out
    assert Path("yard/.github/workflows/test.yaml").is_file()


def test_a_certificate_notices_what_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["test", "passes.yaml"]) == 0
    Path("passes.yaml").write_text(BALL.format(PASSES).replace("qd: [3, 0, 5", "qd: [3, 0, 4.9"))
    capsys.readouterr()
    assert exit_code(["test", "--again", "sim_node_test/passes/certificates.jsonl:0"]) == 1
    error = capsys.readouterr().err
    assert "not the same:" in error
    for name in ("world_digest: ", "robustness: 0.04", "digest: "):
        assert name in error


# Takes seconds: make test has verdicts of several runs, and a search that goes on in test_search.py.
@pytest.mark.nightly
def test_runs_judged_before_a_kill_stay_judged(tmp_path: Path) -> None:
    words = ["test", "fails.yaml", "--runs", "150", *VARY, "-n", "1", "--keep", "0"]
    kept = tmp_path / "sim_node_test" / "fails" / "certificates.jsonl"
    process = start(words)
    until(lambda: kept.is_file() and kept.read_bytes().count(b"\n") > 3, "the first verdicts")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = kept.read_bytes()
    # As if it had been killed while it wrote.
    kept.write_bytes(before + b'{"certificate": 1, "scen')
    assert exit_code([*words, "--resume"]) == 1
    after = kept.read_bytes()
    assert after.startswith(before)
    lines = [json.loads(line) for line in after.splitlines()]
    assert sorted(line["case"] for line in lines) == list(range(150))
    assert exit_code([*words, "-o", "undisturbed"]) == 1
    undisturbed = Path("undisturbed/fails/certificates.jsonl").read_text().splitlines()
    assert sorted(map(json.dumps, lines)) == sorted(json.dumps(json.loads(line)) for line in undisturbed)
    # Each is that of its run alone.
    assert exit_code(["test", "--again", f"{kept}:149"]) == 0
    one = read_certificate(f"{kept}:149")
    assert one.values.keys() == {"bodies[ball].joint.qd[2]"}
    # Thrown up with v it rises to v^2 / 20: within the verdict's rounding to samples of 0.01 s.
    assert one.robustness == pytest.approx(1.2 - one.values["bodies[ball].joint.qd[2]"] ** 2 / 20, abs=1e-3)
