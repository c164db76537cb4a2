"""What all tests share: hypothesis profiles, a corner of the ROS graph of their own, and the marker `upstream`."""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import hypothesis
import psutil
import pytest
from claims import CLAIMS, free_domain
from forked import Forks, forks

HERE = Path(__file__).parent

# Before anything creates a DDS participant: nothing leaves this machine.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ.pop("ROS_LOCALHOST_ONLY", None)

# A shell that runs the tests in the background ignores SIGINT, and nohup ignores SIGHUP; programs would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No search for cycles while tests are collected: a quarter of the time went into that.
gc.disable()

# Timings say nothing on a shared machine, and the same examples every time make a failure everybody's.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    max_examples=25,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
# What make test-nightly runs: other examples each night, and more.
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))


@pytest.fixture(autouse=True, scope="session")
def _apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps this worker apart from all others of this machine: its own DDS domain and its own ROS logs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(free_domain()))
        patch.setenv("ROS_LOG_DIR", str(tmp_path_factory.mktemp("log")))
        # Packages are fetched by the set-up, and by it alone.
        patch.setenv("PIP_NO_INDEX", "1")
        yield


# Markers of tests that `make test` skips, and why.
ASKED_FOR = {
    "nightly": "takes seconds, where another test runs the same code on other data or in less time",
    "peers": "needs other programs than set-up fetches",
    "wheel": "downloads packages into environments of its own",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips what is run only when asked for, and says so; mixes what waits into what computes."""
    mix(items)
    skipped = {
        marker: pytest.mark.skip(reason=f"{reason}: make test-{marker}")
        for marker, reason in ASKED_FOR.items()
        if marker not in config.getoption("markexpr")
    }
    for item in items:
        marked = {mark.name for mark in item.iter_markers()}
        for marker, skip in skipped.items():
            if marker in marked:
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Search for cycles again, but not among thousands of collected tests and all that they have imported.

    Nor once before: a second for each worker, which gives no memory back.
    """
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    gc.enable()


# What a worker may grow by until its garbage is looked for, bytes: cycles that hold large arrays, models and compiled
# functions are not many objects, and made 4.7 GB of a worker.
GROWTH = 300 << 20
_occupied = 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Give memory back to the system where a test has left much of it."""
    global _occupied
    if resident() > _occupied + GROWTH:
        gc.collect()
        with suppress(OSError, AttributeError):  # of glibc alone
            ctypes.CDLL(None).malloc_trim(0)
        _occupied = resident()


THIS = psutil.Process()


def resident() -> int:
    """Memory of this process, bytes."""
    return int(THIS.memory_info().rss)


# Rooms whose tests mostly wait: for programs, or for time to pass.
WAITING = {"autopilot", "system"}


def mix(items: list[pytest.Item]) -> None:
    """Spread the modules of the waiting rooms evenly among the others, so that cores are busy from start to end.

    Each worker begins with a part of the list. Not in the order of the alphabet, in which the last one has the browsers
    of `system` and `viewing`, which all wait for in the end.
    """
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    rooms = {True: 0, False: 0}
    begins: dict[str, tuple[bool, int]] = {}
    # Each worker collects from another room on.
    for module in sorted(modules, key=lambda module: (crc32(module.encode()), module)):
        waits = Path(module).parent.name in WAITING
        begins[module] = waits, rooms[waits]
        rooms[waits] += len(modules[module])

    def part(module: str) -> float:
        waits, begin = begins[module]
        return begin / rooms[waits]

    items[:] = [item for module in sorted(begins, key=part) for item in modules[module]]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Handles signals after a test as before it: a command that was run in this process may leave its own way."""
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)
    handlers = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _claims() -> Iterator[None]:
    """Frees what a test has claimed after it."""
    before = len(CLAIMS)
    yield
    CLAIMS.release(kept=before)


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> int:
    """A DDS domain for this test and the processes that it starts."""
    domain = free_domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    return domain


@pytest.fixture(scope="session")
def forked() -> Iterator[Forks]:
    """Runs commands in forks of one process, which takes two seconds to import what they use."""
    with forks() as made:
        yield made


@pytest.fixture(scope="session")
def opengl() -> None:
    """Skips where nothing can be drawn."""
    from sim_node.viewing.framebuffer import Framebuffer, NoOpenGL

    try:
        with Framebuffer((16, 16)):
            pass
    except NoOpenGL as error:
        pytest.skip(f"no OpenGL here: {error}")


@pytest.fixture
def one_sun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of `sim_node render` in this process have hard and coarse shadows, a tenth of the work of soft ones."""
    from sim_node.cli import render
    from sim_node.viewing import renderer

    monkeypatch.setattr(render, "SUNS_OF_A_PICTURE", 1)
    monkeypatch.setattr(renderer, "_SHADOW_PIXELS", 512)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-upstream", action="store_true", help="fail, instead of skip, what lacks upstream ROS 2 packages"
    )


def pytest_configure(config: pytest.Config) -> None:
    share_collection(config)
    config.addinivalue_line(
        "markers",
        "upstream(*modules): part of `make test-ros`; needs these modules of launch, launch_ros, ros2cli or geometry2",
    )


def share_collection(config: pytest.Config) -> None:
    """Let each worker collect from another room on.

    To rewrite the assertions of all modules takes half a minute, and what one worker has rewritten the others read.
    """
    if [Path(arg).resolve() for arg in config.args] != [HERE] or not hasattr(config, "workerinput"):
        return
    rooms = sorted(str(path) for path in HERE.iterdir() if path.is_dir() or path.name.startswith("test_"))
    worker = int(config.workerinput["workerid"].removeprefix("gw"))
    first = worker * len(rooms) // config.workerinput["workercount"]
    config.args[:] = [*rooms[first:], *rooms[:first]]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without its upstream packages a test is skipped, and fails in `make test-ros`."""
    needed = [name for marker in item.iter_markers("upstream") for name in marker.args]
    lacking = [why for name in needed if (why := why_not_here(name)) is not None]
    if not lacking:
        return
    if item.config.getoption("--require-upstream"):
        pytest.fail("; ".join(lacking), pytrace=False)
    pytest.skip(f"{'; '.join(lacking)} (no package index has it: see `make test-ros`)")


@functools.cache
def why_not_here(module: str) -> str | None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return f"needs {module}: {error}"
    return None
