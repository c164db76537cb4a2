"""Recipes of worlds in Python: when they are ready, what they wait for, and how they are built."""

from __future__ import annotations

import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim_node.extensions.elodin as el
from sim_node.recording import open_bag

Ready = el.s10.Ready
# Of any types, as scripts are not checked.
process: Any = el.s10.PyRecipe.process


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)


def python(name: str, text: str, **more: Any) -> Any:
    return process(name, sys.executable, ["-c", text], **more)


def run(*recipes: el.s10.PyRecipe, **more: Any) -> None:
    world = el.World()
    world.spawn(el.Body(), "ball")
    for each in recipes:
        world.recipe(each)
    world.run(el.six_dof(), **{"max_ticks": 1, "interactive": False, "log_level": "error", **more})


# Waits until it may, then is ready by the way that the test says; and lives on.
BEFORE = "import os, pathlib, socket, time\ntime.sleep(0.2)\n"
AFTER = "\ntime.sleep(100)"


@pytest.mark.parametrize(
    ("does", "ready"),
    [
        ("pathlib.Path('made').touch()", Ready.file("made")),
        ("print('it is ', end=''); print('ready now', flush=True)", Ready.log("ready now")),
        ("s = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))", Ready.tcp("127.0.0.1:${PORT}")),
        ("s = socket.socket(socket.AF_UNIX); s.bind('socket'); s.listen()", Ready.unix("socket")),
    ],
    ids=["file", "log", "tcp", "unix"],
)
def test_the_first_tick_comes_when_recipes_are_ready(does: str, ready: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # After it was ready, but before its first tick, the run has no other sign of it than this file.
    text = f"{BEFORE}pathlib.Path('about').touch()\n{does}{AFTER}"
    seen: list[bool] = []
    run(
        python("firmware", text, env={"PORT": str(port)}, ready=ready),
        pre_step=lambda tick, context: seen.append(Path("about").exists()),
    )
    assert seen == [True]


def test_a_delay_counts_from_the_start_of_the_process() -> None:
    before, seen = time.monotonic(), list[float]()
    firmware = process("firmware", "sleep", ["100"], ready=Ready.delay(300))
    run(firmware, pre_step=lambda *_: seen.append(time.monotonic()))
    assert seen[0] - before >= 0.3


def test_a_recipe_is_started_when_those_that_it_depends_on_are_ready() -> None:
    """Whatever the order in which they were added."""
    first = python("first", f"{BEFORE}pathlib.Path('made').touch(){AFTER}", ready=Ready.file("made"))
    text = "import pathlib; pathlib.Path('found' if pathlib.Path('made').exists() else 'missed').touch()"
    second = python("second", text + "; import time; time.sleep(100)", depends_on=["first"], ready=Ready.file("found"))
    run(second, first)
    assert Path("found").exists()


@pytest.mark.parametrize(
    ("recipes", "message"),
    [
        (
            lambda: [process("a", "sleep", ["100"], ready=Ready.file("never"), ready_timeout="50ms")],
            r"recipe 'a': is not ready after 0.05 s: file\('never'\); ready_timeout= gives it longer",
        ),
        (
            lambda: [process("a", "true", ready=Ready.file("never"))],
            r"recipe 'a': ended before it was ready: file\('never'\)",
        ),
        (lambda: [process("a", "true", depends_on=["flight"]), process("fligth", "true")], "did you mean fligth"),
        (
            lambda: [process("a", "true", depends_on=["b"]), process("b", "true", depends_on=["a"])],
            "depends_on goes in a circle: [ab] -> [ab] -> [ab]",
        ),
        (lambda: [process("a", "true", ready="delay")], "ready: 'delay' is not a s10.Ready"),
        (lambda: [process("a", "true", depends_on="b")], "depends_on: 'b' is not a list of names"),
        (lambda: [process("a", "true", ready_timeout="soon")], "ready_timeout: 'soon' is not a time such as 500ms"),
        (lambda: [process("a", "true", restart_policy="always")], "restart_policy: 'always' is not a s10.Restart"),
        (lambda: [process("a", "sleep", ["9"], ready=Ready.tcp("9000"))], r"tcp\('9000'\) is not HOST:PORT"),
    ],
)
def test_mistakes_are_told_with_the_line_of_the_recipe(recipes: Any, message: str) -> None:
    with pytest.raises(el.EcsError, match=message) as error:
        run(*recipes())
    assert "test_recipes.py:" in str(error.value)


def test_variables_are_those_of_the_recipe_and_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the tests of Elodin's s10 0.20."""
    environment = {"PORT": "9000", "EMPTY": ""}
    for text, value in {
        "--port=${PORT}": "--port=9000",
        "${MISSING}": "",
        "${MISSING:-31337}": "31337",
        "${PORT:-31337}": "9000",
        "${EMPTY:-fallback}": "",
        "a $$ b ${PORT}": "a $ b 9000",
        "no placeholders": "no placeholders",
        "${UNTERMINATED": "${UNTERMINATED",
        "$PORT": "$PORT",
    }.items():
        assert process("a", "true", [text], env=environment).startable().command == ("true", value)
    monkeypatch.setenv("NAME", "of the environment")
    run(process("a", "touch", ["${NAME}", "${OWN}"], env={"OWN": "its own"}, ready=Ready.file("its own")))
    assert Path("of the environment").exists()


# Takes seconds: make test has programs of other kinds that are awaited.
@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_rust_program_is_built_before_it_is_awaited() -> None:
    Path("rust/src").mkdir(parents=True)
    Path("rust/Cargo.toml").write_text('[package]\nname = "pilot"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n')
    main = 'fn main() { std::fs::write("made", std::env::args().nth(1).unwrap()).unwrap(); '
    Path("rust/src/main.rs").write_text(main + "std::thread::sleep(std::time::Duration::from_secs(100)); }")
    run(el.s10.PyRecipe.cargo("pilot", "rust", args=["${X:-x}"], ready=Ready.file("made"), ready_timeout="60s"))
    assert Path("made").read_text() == "x"
    Path("rust/src/main.rs").write_text("fn main() { nothing }")
    with pytest.raises(el.EcsError, match=r"recipe 'pilot': cargo build --release .*: exit code 101"):
        run(el.s10.PyRecipe.cargo("pilot", "rust"))


def test_a_run_of_1969_is_recorded_from_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times of bags are none before 1970; callbacks have the time of the run."""
    stamps: list[int] = []
    run(
        db_path=tmp_path / "bag",
        start_timestamp=-14_183_406_836_000,
        sim_time_step=0.5,
        max_ticks=3,
        log_level="warn",
        post_step=lambda tick, context: stamps.append(context.timestamp),
    )
    assert np.diff(stamps).tolist() == [500_000, 500_000]
    assert stamps[0] == -14_183_406_836_000
    assert "start_timestamp is before 1970; times of the recording count from the start" in capsys.readouterr().err
    with open_bag(tmp_path / "bag") as bag:
        assert bag.start_ns == 0
        assert bag.end_ns == 1_500_000_000
