"""A pytest plug-in: the fixture `sim`, which runs worlds in tests, and scenario files as tests.

    def test_lands(sim):
        run = sim.run("quadrotor.yaml")
        run.until("landed(drone)", 60)

Nothing else of sim_node is imported before a test uses it. Every pytest in an environment with sim_node loads this
module, so it is restricted to features of pytest 6.2, the version of Ubuntu 22.04 and ROS Humble.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sim_node.extensions.scenario.fixture import Sim

_EXPECT = re.compile(r"^expect\s*:", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare --sim-seed and --sim-output."""
    group = parser.getgroup("sim_node")
    group.addoption("--sim-seed", type=int, default=0, metavar="N", help="seed of simulated runs (default 0)")
    where = "folder of the bags and certificates of failed runs (default: sim_node_test)"
    group.addoption("--sim-output", default="sim_node_test", metavar="DIR", help=where)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "sim(seed=0, sensors=True): how the runs of the fixture `sim` are simulated")


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Iterator[Sim]:
    """Worlds run in a test: `sim.run(world)`. Runs are closed at its end; if it fails, it shows how to repeat them."""
    from sim_node.extensions.scenario.fixture import Sim

    marker = request.node.get_closest_marker("sim")
    options: dict[str, Any] = dict(marker.kwargs) if marker else {}
    options.setdefault("seed", request.config.getoption("--sim-seed"))
    made = Sim(_path(request).parent, **options)
    request.node.sim_node_runs = made
    try:
        yield made
    finally:
        made.close()


@pytest.hookimpl(hookwrapper=True)  # also works with pluggy before 1.2
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Add a description of the runs of a failed test to its report."""
    outcome = yield
    report = outcome.get_result()
    runs = getattr(item, "sim_node_runs", None)
    if report.failed and runs is not None and call.when == "call":
        report.sections.append(("sim_node", runs.summary()))


if hasattr(pytest, "version_tuple"):

    def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect worlds with a section `expect` that are named like tests, test_*.yaml, or given explicitly."""
        given = parent.session.isinitpath(file_path)
        return ScenarioFile.from_parent(parent, path=file_path) if _is_test(file_path, given=given) else None

else:  # before pytest 7

    def pytest_collect_file(path: Any, parent: Any) -> Any:  # type: ignore[misc]
        """Collect the same files."""
        given = parent.session.isinitpath(path)
        return ScenarioFile.from_parent(parent, fspath=path) if _is_test(Path(path), given=given) else None


def _is_test(path: Path, *, given: bool) -> bool:
    if path.suffix not in (".yaml", ".yml") or not (given or path.name.startswith("test_")):
        return False
    try:
        return _EXPECT.search(path.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _path(of: Any) -> Path:
    """Return the path of a node or request, which has a different name before pytest 7."""
    return of.path if hasattr(of, "path") else Path(of.fspath)


class ScenarioFile(pytest.File):
    """A world with a section `expect`: one test."""

    def collect(self) -> Iterable[pytest.Item]:
        """Return its test."""
        yield ScenarioItem.from_parent(self, name=_path(self).stem)


class ScenarioFailed(Exception):
    """A run of a scenario did not pass. The message says why, and how to repeat it."""


class ScenarioItem(pytest.Item):
    """A run of a scenario as a test, which passes if the verdict is pass."""

    def runtest(self) -> None:
        """Run it and judge it."""
        from sim_node.extensions.scenario.command import lines_of
        from sim_node.extensions.scenario.scenarios import Scenario
        from sim_node.extensions.scenario.testing import RunPlan, judge_scenario

        output = Path(self.config.getoption("--sim-output"))
        folder = output / self.nodeid.replace("::", "/").replace("/", "_").replace(".", "_")
        plan = RunPlan(seed=self.config.getoption("--sim-seed"), workers=1)
        tested = judge_scenario(Scenario(self.name, str(_path(self))), plan, folder)
        if tested.certificates[0].verdict != "pass":
            raise ScenarioFailed("\n".join(line.strip() for line in lines_of(tested)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return why it failed, without a traceback for a verdict or an invalid world."""
        from sim_node.world import WorldError

        if isinstance(excinfo.value, (ScenarioFailed, WorldError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return its location."""
        return _path(self), 0, self.name
