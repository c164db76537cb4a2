"""The command as a whole: version, former names, colours, completion in a shell, worlds, templates, doctor."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from nightly import only

from sim_node.cli.colours import coloured
from sim_node.cli.commands import COMMANDS, SHIPPED
from sim_node.cli.doctor import Finding, ports
from sim_node.cli.main import main
from sim_node.cli.parser import StrictParser
from sim_node.world import load
from sim_node.world.locate import shipped_worlds


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    python = ".".join(map(str, sys.version_info[:3]))
    assert capsys.readouterr().out == f"sim_node {version('sim_node')} (Python {python})\n"


def test_without_a_command_it_says_what_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "sim_node: a command is needed; sim_node --help lists them\n"


@pytest.mark.parametrize(
    ("command", "former", "now"),
    [
        ("render", ["--out", "a.png"], ["--output", "a.png"]),
        ("sweep", ["--out", "a"], ["-o", "a"]),
        ("replay", ["--rate", "max", "--step"], ["--speed", "max", "--paused"]),
        ("mcp", ["--http", "0"], ["--port", "0"]),
        ("run", ["--record-topics", "/tf", "/a", "--recipes"], ["--topics", "/tf", "/a", "--processes"]),
        ("run", ["--record-exclude", "/tf"], ["--exclude", "/tf"]),
    ],
)
def test_former_names_of_options(command: str, former: list[str], now: list[str]) -> None:
    parser = StrictParser()
    COMMANDS[command].add_arguments(parser)
    positional = ["x"] if command in ("render", "replay") else []
    assert parser.parse_args([*former, *positional]) == parser.parse_args([*now, *positional])


# To run it imports more than to check it.
@pytest.mark.parametrize(
    "command", only([["check", "orbit"], ["run", "orbit", "--speed", "max", "--duration", "0.02"]], 1)
)
def test_a_world_that_only_follows_motions_imports_no_compiler(command: list[str], tmp_path: Path) -> None:
    """Numba alone takes a third of the time in which a command starts."""
    code = f"import sys; from sim_node.cli.main import main; main({command}); print('numba.core' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    leader, follower = os.openpty()
    with os.fdopen(leader), os.fdopen(follower, "w") as terminal, open(os.devnull, "w") as file:
        red = "\x1b[31mtext\x1b[0m"
        assert coloured("text", "red", terminal) == red
        assert coloured("text", "red", file) == "text"
        monkeypatch.setenv("TERM", "dumb")
        assert coloured("text", "red", terminal) == "text"
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert coloured("text", "red", file) == red
        monkeypatch.setenv("NO_COLOR", "1")
        assert coloured("text", "red", terminal) == "text"


def test_places_and_counts_of_errors_have_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("world: w\nfrmes: []\n", encoding="utf-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["check", str(path)]) == 2
    line, count = capsys.readouterr().err.splitlines()
    assert line.startswith(f"\x1b[1m{path}:2:1: \x1b[0mfrmes: unknown key; did you mean")
    assert count == "\x1b[31m1 error\x1b[0m"


def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By bash itself, as it asks for completions: the words so far, and the number of the one to complete."""
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "sim_node.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    (tmp_path / "orchard.yaml").touch()

    def completed(*words: str) -> list[str]:
        ask = f"COMP_WORDS=({' '.join(map(repr, words))}) COMP_CWORD={len(words) - 1}\n_shtab_sim_node\n"
        code = f'source {script}\n{ask}printf "%s\\n" "${{COMPREPLY[@]}}"\n'
        ran = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        return ran.stdout.split()

    assert completed("sim_node", "re") == ["replay", "record", "render", "remove", "resume", "reset", "repair"]
    assert set(completed("sim_node", "")) >= set(SHIPPED)
    assert completed("sim_node", "run", "or") == ["orbit", "orchard.yaml"]
    assert completed("sim_node", "replay", "--sp") == ["--speed"]
    assert completed("sim_node", "new", "pl") == ["plugin"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed: apt install fish")
def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    script = tmp_path / "sim_node.fish"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    (tmp_path / "orchard.yaml").touch()

    def completed(line: str) -> list[str]:
        code = f"source {script}; complete -C '{line}'"
        ran = subprocess.run(["fish", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        return [row.partition("\t")[0] for row in ran.stdout.splitlines()]

    assert set(completed("sim_node re")) == {"replay", "record", "render", "remove", "resume", "reset", "repair"}
    assert set(completed("sim_node run or")) == {"orbit", "orchard.yaml"}
    assert completed("sim_node replay --sp") == ["--speed"]


def test_worlds_are_listed_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worlds", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"]: Path(row["file"]) for row in rows} == shipped_worlds()
    assert [row["name"] for row in rows if not row["about"].endswith(".")] == []
    assert main(["worlds"]) == 0
    text = capsys.readouterr().out
    assert all(f"{name} " in text for name in shipped_worlds())


@pytest.mark.parametrize(("kind", "frames"), [("world", {"ball", "drone/IMU"}), ("robot", {"it/head", "it/HEAD_IMU"})])
def test_a_new_world_runs_as_it_is(
    kind: str, frames: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, "it", "-o", str(tmp_path)]) == 0
    path = tmp_path / "it.yaml"
    assert str(path) in capsys.readouterr().out
    assert main(["tree", str(path), "--at", "0.5", "--json"]) == 0
    assert frames <= json.loads(capsys.readouterr().out).keys()
    assert load(path).name == "it"
    before = path.read_bytes()
    assert main(["new", kind, "it", "-o", str(tmp_path)]) == 2
    assert "exists; nothing was written" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_new_folder_is_open_as_any_that_is_made(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    assert main(["new", "test", "gusty", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "gusty").stat().st_mode == (tmp_path / "made").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gusty", "made"]


# Of pip's ten seconds; test_contributing and test_plugin_page import such packages.
@pytest.mark.nightly
def test_a_new_plugin_installs_and_passes_its_test(tmp_path: Path) -> None:
    """By pip, into a folder of its own."""
    assert main(["new", "plugin", "kite_sensors", "-o", str(tmp_path)]) == 0
    project, site = tmp_path / "kite_sensors", tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(project)], check=True, timeout=600)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    shutil.rmtree(project / "kite_sensors")  # what is installed is tried, not the sources
    test = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(project), str(project)],
        env=environment, cwd=project, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert test.returncode == 0, test.stdout + test.stderr
    assert "1 passed" in test.stdout


@pytest.mark.parametrize("name", ["Kite", "1kite", "../kite", "kite sensors", "", "k" * 65])
def test_a_name_that_is_none_makes_nothing(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "plugin", name, "-o", str(tmp_path)]) == 2
    assert "is not a name; use lower-case letters" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"rclpy", "MuJoCo", "EGL", "viewer", "PyAV", "port 8080", "DDS", "shared memory", "disk"} <= rows.keys()
    assert rows["sim_node"]["detail"] == version("sim_node")
    assert rows["MuJoCo"]["detail"] == version("mujoco")


def test_doctor_sees_a_port_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        table = ((socket.SOCK_STREAM, port, "tests", "take another"),)
        monkeypatch.setattr("sim_node.cli.doctor.PORTS", table)
        [found] = ports()
    assert found == Finding(f"port {port}", "optional", "in use by another program (tests)", "take another")
