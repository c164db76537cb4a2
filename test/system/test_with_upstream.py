"""`make test-ros`: where upstream packages come from, and what happens without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import only

ROOT = Path(__file__).parents[2]


def with_upstream(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("ROS_DISTRO", "PEERS")}
    return run([sys.executable, ROOT / "tools" / "with_upstream.py", *words], {**inherited, **environment})


def run(words: list[str | Path], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    install = tmp_path / "a workspace" / "install"
    install.mkdir(parents=True)
    (install / "setup.sh").write_text('echo sourcing; export FROM_PEERS="two\nlines"\n', encoding="utf-8")
    return install.parent


SHOW = (sys.executable, "-c", "import os; print(os.environ.get('FROM_PEERS'))")


@pytest.mark.parametrize("folder", ["", "install"])
def test_the_command_runs_in_the_workspace_s_environment(workspace: Path, folder: str) -> None:
    ran = with_upstream(workspace / folder, *SHOW)
    assert (ran.returncode, ran.stdout) == (0, "two\nlines\n")


def test_the_exit_code_is_the_command_s(workspace: Path) -> None:
    assert with_upstream(workspace, sys.executable, "-c", "raise SystemExit(7)").returncode == 7


def test_a_sourced_ros_needs_no_workspace() -> None:
    assert with_upstream("", *SHOW, ROS_DISTRO="jazzy").stdout == "None\n"


def test_with_neither_one_sentence_says_what_to_do() -> None:
    ran = with_upstream("", *SHOW)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "source a ROS 2" in ran.stderr
    assert "PEERS=" in ran.stderr


def test_a_folder_that_is_no_workspace_is_named(tmp_path: Path) -> None:
    ran = with_upstream(tmp_path, *SHOW)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert f"PEERS={tmp_path}: no setup.sh" in ran.stderr


def test_a_set_up_file_that_fails_is_named(workspace: Path) -> None:
    (workspace / "install" / "setup.sh").write_text("false\n", encoding="utf-8")
    ran = with_upstream(workspace, *SHOW)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "setup.sh failed" in ran.stderr


# Takes seconds: make test has what the command finds.
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "code", "outcome"), only([([], 0, "1 skipped"), (["--require-upstream"], 1, "1 error")], 0)
)
def test_without_a_package_a_test_is_skipped_and_in_make_test_ros_fails(
    tmp_path: Path, options: list[str], code: int, outcome: str
) -> None:
    (tmp_path / "tf2_py.py").write_text("raise ImportError('not compiled')\n", encoding="utf-8")
    test = "test/nodes/test_buffer.py::test_the_exceptions_are_tf2_py_s_own_where_it_is_installed"
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command: list[str | Path] = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, test]
    ran = run(command, {**os.environ, "PYTHONPATH": paths})
    assert (ran.returncode, outcome in ran.stdout) == (code, True), ran.stdout
    assert "needs tf2_py: not compiled" in ran.stdout
