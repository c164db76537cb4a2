"""A pytest plug-in: the fixture `sim`, which runs worlds in tests, and scenario files as tests.

    def test_lands(sim):
        run = sim.run("quadrotor.yaml")
        run.until("landed(drone)", 60)

Nothing of sim_node is imported before a test uses it.
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
    made = Sim(request.path.parent, **options)
    request.node.sim_node_runs = made
    try:
        yield made
    finally:
        made.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the runs of a failed test were to its report."""
    report = yield
    runs = getattr(item, "sim_node_runs", None)
    if report.failed and runs is not None and call.when == "call":
        report.sections.append(("sim_node", runs.summary()))
    return report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect worlds with a section `expect`, whose names begin as those of tests: test_*.yaml, or that are given."""
    given = parent.session.isinitpath(file_path)
    if file_path.suffix not in (".yaml", ".yml") or not (given or file_path.name.startswith("test_")):
        return None
    try:
        text = file_path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return ScenarioFile.from_parent(parent, path=file_path) if _EXPECT.search(text) else None


class ScenarioFile(pytest.File):
    """A world with a section `expect`: one test."""

    def collect(self) -> Iterable[pytest.Item]:
        """Return its test."""
        yield ScenarioItem.from_parent(self, name=self.path.stem)


class ScenarioFailed(Exception):
    """A run of a scenario did not pass. The message says why, and how to repeat it."""


class ScenarioItem(pytest.Item):
    """A run of a scenario, which passes if it does."""

    def runtest(self) -> None:
        """Run it and judge it."""
        from sim_node.extensions.scenario.command import lines_of
        from sim_node.extensions.scenario.scenarios import Scenario
        from sim_node.extensions.scenario.testing import RunPlan, judge_scenario

        output = Path(self.config.getoption("--sim-output"))
        folder = output / self.nodeid.replace("::", "/").replace("/", "_").replace(".", "_")
        plan = RunPlan(seed=self.config.getoption("--sim-seed"), workers=1)
        tested = judge_scenario(Scenario(self.name, str(self.path)), plan, folder)
        if tested.certificates[0].verdict != "pass":
            raise ScenarioFailed("\n".join(line.strip() for line in lines_of(tested)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return why it failed: no traceback for a verdict, or for a world that is invalid."""
        from sim_node.world import WorldError

        if isinstance(excinfo.value, (ScenarioFailed, WorldError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where it is."""
        return self.path, 0, self.name
