"""Kernels work wherever the machine code can be kept, and where it cannot be kept at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = """
from numba import types

from sim_node.spatial.geometry.kernel import kernel


@kernel(nogil=True)
def lazy(x):
    return 3.0 * x


@kernel(types.float64(types.float64))
def eager(x):
    return lazy(x) + 1.0


if __name__ == "__main__":
    print(lazy(2.0), eager(2.0))
"""
ANSWER = "6.0 7.0\n"
WARNING = "compiled kernels cannot be cached"


LINEAR_ALGEBRA = """
import sys

import numpy as np
from sim_node.spatial.geometry.kernel import kernel


@kernel()
def summed(x):
    return x.sum()


@kernel()
def solved(a, b):
    return np.linalg.solve(a, b) @ b


print(summed(np.ones(3)), "scipy.linalg" in sys.modules, "numba.typed.typeddict" in sys.modules)
print(solved(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0])), sum(solved.stats.cache_hits.values()))
"""


BOUND = """
import numpy as np
from sim_node.spatial.geometry.kernel import bound, kernel


@kernel()
def scaled(x, by, out):
    for k in range(len(x)):
        out[k] = by * x[k]
    return len(x)


every = np.array([1.0, 9.0, 2.0])
x, out = every[::2], np.zeros(2)
call = bound(scaled, x, 3.0, out)
print(call(), *out)
every[0] = 5.0
print(call(), *out)
whole = np.zeros(3, dtype=np.int64)
print(bound(scaled, every, 2, whole)(), *whole)
try:
    bound(scaled, x, 3.0)
except TypeError:
    print("TypeError")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(KERNELS)
    return path


def run(script: Path, *before: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, str(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_machine_code_is_kept_beside_the_source(script: Path) -> None:
    ran = run(script)
    assert (ran.stdout, ran.stderr) == (ANSWER, "")
    assert {path.suffix for path in (script.parent / "__pycache__").iterdir()} >= {".nbi", ".nbc"}


def test_without_a_folder_to_keep_it_in_it_is_compiled_anew(script: Path) -> None:
    """Where __pycache__ is a file nobody can write into it, whoever they are."""
    (script.parent / "__pycache__").touch()
    ran = run(script, HOME="/proc/nonexistent", XDG_CACHE_HOME="/proc/nonexistent")
    assert (ran.stdout, ran.returncode) == (ANSWER, 0), ran.stderr
    assert ran.stderr.count(WARNING) == 1
    assert str(script.parent / "__pycache__") in ran.stderr


# Takes seconds: make test has code that is kept beside the source, and none that is kept.
@pytest.mark.nightly
def test_the_user_s_cache_folder_stands_in_for_a_read_only_source(script: Path, tmp_path: Path) -> None:
    (script.parent / "__pycache__").touch()
    ran = run(script, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (ran.stdout, ran.stderr) == (ANSWER, "")
    assert list((tmp_path / "cache").rglob("*.nbc"))


# make test compiles anew where a file has changed, above or below.
@pytest.mark.nightly
@pytest.mark.parametrize("kept", [20, 0])
def test_damaged_machine_code_is_compiled_anew(script: Path, kept: int) -> None:
    run(script)
    for path in (script.parent / "__pycache__").glob("*.nb?"):
        path.write_bytes(path.read_bytes()[:kept])
    ran = run(script)
    assert (ran.stdout, ran.returncode) == (ANSWER, 0), ran.stderr


# Takes seconds: make test has a folder that cannot be written.
@pytest.mark.nightly
def test_a_full_disk_stops_no_kernel(script: Path, tmp_path: Path) -> None:
    """An empty file can be made on a full disk, which is all that numba tries beforehand."""
    full = tmp_path / "full"
    full.mkdir()
    mount = f'mount -t tmpfs -o size=4k none {full} && head -c 4096 /dev/zero > {full}/filler && exec "$@"'
    namespace = ("unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]))
    before = (*namespace, "sh", "-c", mount, "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*before, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this machine allows no mount in a namespace")
    ran = run(script, *before, NUMBA_CACHE_DIR=str(full))
    assert (ran.stdout, ran.returncode) == (ANSWER, 0), ran.stderr
    assert "No space left on device" in ran.stderr
    assert ran.stderr.count(WARNING) == 1


ALGEBRA = """
from sim_node.spatial.geometry.kernel import kernel

SHIFT = {shift}


@kernel({options})
def scaled(x):
    return {factor} * x
"""
MIDDLE = """
from algebra import scaled
from sim_node.spatial.geometry.kernel import kernel


@kernel()
def twice(x):
    return scaled(x) + scaled(x)
"""
USER = """
import algebra
from middle import twice
from numba import types
from sim_node.spatial.geometry.kernel import kernel
{named}


@kernel()
def lazy(x):
    return _beside(x) + {shift}


@kernel(types.float64(types.float64))
def eager(x):
    return twice(x) + {shift}


@kernel()
def _beside(x):
    return twice(x)


if __name__ == "__main__":
    print(lazy(1.0), eager(1.0), sum(lazy.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("options", "named"),
    [("", "from algebra import SHIFT"), pytest.param('inline="always"', "", marks=pytest.mark.nightly)],
)
def test_code_is_compiled_anew_when_a_file_it_is_made_of_changes(tmp_path: Path, options: str, named: str) -> None:
    """Of kernels that are called, through others too, and of constants; as long as nothing changes it is kept."""
    user, algebra = tmp_path / "user.py", tmp_path / "algebra.py"
    (tmp_path / "middle.py").write_text(MIDDLE)
    user.write_text(USER.format(named=named, shift="SHIFT" if named else "algebra.SHIFT"))
    for factor, shift, compiled in ((3.0, 0.5, True), (3.0, 0.5, False), (4.0, 0.5, True), (4.0, 0.7, True)):
        algebra.write_text(ALGEBRA.format(options=options, factor=factor, shift=shift))
        answer = 2.0 * factor + shift
        # Python itself does not see a change within the second of the last one.
        ran = run(user, PYTHONDONTWRITEBYTECODE="1")
        assert ran.stdout.split() == [str(answer), str(answer), "0" if compiled else "1"], ran.stderr


@pytest.mark.nightly
def test_what_the_compiler_needs_is_loaded_where_a_kernel_is_compiled_alone(tmp_path: Path) -> None:
    """And scipy by kernels that use linear algebra alone, compiled or kept. To compile, numba loads its typed dict.

    [[2, 1], [1, 3]] x = [3, 5] for x = [0.8, 1.4], and x . [3, 5] = 9.4.
    """
    script = tmp_path / "script.py"
    script.write_text(LINEAR_ALGEBRA)
    for kept in (False, True):
        ran = run(script)
        assert ran.returncode == 0, ran.stderr
        *first, second, hits = ran.stdout.split()
        assert first == ["3.0", "False", str(not kept)]
        assert float(second) == pytest.approx(9.4)
        assert hits == str(int(kept))


def test_a_bound_kernel_reads_what_arrays_hold_when_it_is_called(script: Path) -> None:
    """Its machine code is kept, too: a second process writes none."""
    script.write_text(BOUND)
    written: list[set[tuple[str, int]]] = []
    for _ in range(2):
        ran = run(script)
        assert ran.stdout.splitlines() == ["2 3.0 6.0", "2 15.0 6.0", "3 10 18 4", "TypeError"], ran.stderr
        kept = (script.parent / "__pycache__").glob("*.nb?")
        written.append({(path.name, path.stat().st_mtime_ns) for path in kept})
    assert written[0] == written[1]
    assert len(written[0]) == 3  # an index, and each of the two calls
