"""`make bench`: its table of rows and misses, what it keeps, and that nothing can hold it up."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from waiting import PATIENCE, until_ended

BENCH = Path(__file__).parents[1] / "bench"
BENCHES = re.findall(
    r'"(\w+)"', (BENCH / "__main__.py").read_text(encoding="utf-8").partition("BENCHES = (")[2].partition(")")[0]
)
HISTORY = "# Rounds\n\n- what was measured before\n"
KEEPS = 'print("row one   1 ms   limit 2 ms", flush=True)'
MISSES = 'print("row two   3 ms   limit 2 ms   MISSED", flush=True)\nraise SystemExit(1)'
FAILS = "raise SystemExit('no such thing')"
# A child that has its output, too, outlives a process that waits for ever.
HANGS = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print("row three   child", child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of what runs benchmarks, with benchmarks that keep their limit."""
    (tmp_path / "bench").mkdir()
    for name in ("__init__.py", "__main__.py", "pairs.py"):
        shutil.copy(BENCH / name, tmp_path / "bench")
    (tmp_path / "bench" / "history.md").write_text(HISTORY, encoding="utf-8")
    for name in BENCHES:
        write(tmp_path, name, KEEPS)
    return tmp_path


def write(folder: Path, name: str, program: str) -> None:
    (folder / "bench" / f"{name}.py").write_text(program + "\n", encoding="utf-8")


def limit(folder: Path, seconds: float) -> None:
    path = folder / "bench" / "__init__.py"
    text = path.read_text(encoding="utf-8")
    assert "LIMIT_S = 900.0\n" in text
    path.write_text(text.replace("LIMIT_S = 900.0\n", f"LIMIT_S = {seconds}\n"), encoding="utf-8")


def run(folder: Path, *words: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "bench", *words]
    ran = subprocess.run(
        command, cwd=folder, env=os.environ, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False
    )
    return ran.returncode, ran.stdout.partition("-- all rows\n")[2].splitlines()


# Takes seconds: make test has rows that are kept.
@pytest.mark.nightly
def test_a_full_run_ends_with_all_rows_and_keeps_them_with_the_machine(folder: Path) -> None:
    code, table = run(folder, "--keep")
    assert code == 0
    assert table == [line for name in BENCHES for line in (f"-- {name}", KEEPS.split('"')[1])] + ["-- 0 missed"]
    kept = (folder / "bench" / "history.md").read_text(encoding="utf-8")
    assert kept.startswith(HISTORY)
    assert "\n".join(table) in kept.partition("## The last full run of `make bench`\n")[2]
    assert f", {platform.python_version()}, " in kept
    assert f", {platform.platform()}: 0 of {len(BENCHES)} rows missed\n" in kept


def test_misses_and_failures_end_the_table_and_the_exit_code_is_1(folder: Path) -> None:
    write(folder, "tree", MISSES)
    write(folder, "snap", FAILS)
    code, table = run(folder, "frames", "tree", "snap")
    missed = MISSES.split('"')[1]
    assert code == 1
    assert table == [
        "-- frames", KEEPS.split('"')[1], "-- tree", missed, "-- snap", "-- 1 missed", missed, "-- snap failed",
    ]  # fmt: skip
    assert (folder / "bench" / "history.md").read_text(encoding="utf-8") == HISTORY


def test_a_benchmark_that_waits_for_ever_fails_and_the_next_one_runs(folder: Path) -> None:
    """The limit is that of each benchmark: it does not end what runs them."""
    limit(folder, 3.0)
    write(folder, "frames", HANGS)
    code, table = run(folder, "frames", "tree")
    assert code == 1
    child = table[1].split()[-1]
    assert table == ["-- frames", f"row three   child {child}", "-- tree", table[3], "-- 0 missed", "-- frames failed"]
    if psutil.pid_exists(int(child)):
        until_ended(psutil.Process(int(child)))


def test_what_imports_a_part_of_it_is_not_ended_at_the_limit(folder: Path) -> None:
    """As a process of the tests does, which would end in the middle of another test."""
    limit(folder, 0.2)
    words = ["-c", "import time, bench.pairs; time.sleep(1.0)"]
    assert subprocess.run([sys.executable, *words], cwd=folder, check=False).returncode == 0
    write(folder, "frames", f"import time; time.sleep({PATIENCE})")
    assert run(folder, "frames")[0] == 1


def test_only_a_full_run_is_kept(folder: Path) -> None:
    assert run(folder, "frames", "--keep")[0] == 2
    assert (folder / "bench" / "history.md").read_text(encoding="utf-8") == HISTORY


def test_every_benchmark_is_listed_or_part_of_another() -> None:
    """A module with a `main` that `make bench` runs, or `make stress`."""
    stress = (BENCH.parent / "Makefile").read_text(encoding="utf-8").partition("\nstress:")[2].partition("\n\n")[0]
    stressed = set(re.findall(r"bench\.(\w+)", stress))
    programs = {path.stem for path in BENCH.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")}
    assert programs - {"__main__", "compare"} == {*BENCHES, *stressed}


def test_every_row_says_in_one_way_that_it_missed() -> None:
    """Else the table at the end would not list it."""
    for path in BENCH.glob("*.py"):
        if path.name not in ("pairs.py", "__main__.py"):
            text = path.read_text(encoding="utf-8")
            assert "MISSED" not in text, path.name
            assert not re.search(r"\((target|limit) \{", text), path.name
