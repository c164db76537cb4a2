"""Reports: a single HTML file that needs no server, with verdicts, signals, paths and statistics."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from sim_node.extensions.scenario.certificate import Certificate, tally
from sim_node.extensions.scenario.expectations import Expect, expected
from sim_node.extensions.scenario.formulas import Compared, Formula, NumberTerm, SignalTerm, signals_of, walk
from sim_node.extensions.scenario.judging import expect_of
from sim_node.extensions.scenario.report_plots import scatter, signal_plot
from sim_node.extensions.scenario.runs import JudgedRun
from sim_node.extensions.scenario.sampling import SignalRecorder
from sim_node.extensions.scenario.signals import kind_of
from sim_node.extensions.scenario.testing import Tested, run_again
from sim_node.extensions.scenario.verdicts import PASS, VERDICTS, VerdictFinding
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import printable
from sim_node.world import World
from sim_node.world.problems import counted

PAGE = "index.html"
# Limits: runs of a scenario shown in full, frames whose path is drawn, points of a path, rows of the worst runs.
MAX_SHOWN, MAX_FRAMES, MAX_POINTS, MAX_WORST = 2, 4, 600, 8
_ERROR = '<b class="error">error</b> '
# Limits: events in the table of a run, and instants marked in its plots.
MAX_EVENTS, MAX_MARKS = 60, 20


def write_report(tested: Sequence[Tested], folder: Path) -> Path:
    """Write a page about scenarios and their runs. The runs that are shown in full are repeated.

    Args:
        tested: The scenarios.
        folder: Where the page goes.

    Returns:
        The page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PAGE
    path.write_text(page_of(tested), encoding="utf-8")
    return path


def page_of(tested: Sequence[Tested]) -> str:
    """Return the page about scenarios and their runs. Equal runs give equal pages."""
    here = Path(__file__).parent
    style, script = ((here / f"report.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js"))
    found = [each for one in tested for each in one.certificates]
    worst = min((each.verdict for each in found), key=VERDICTS.index, default=PASS)
    versions = found[0].versions if found else {}
    parts = [
        f'<h1><b class="{worst}">{worst}</b> {counted(len(tested), "scenario")}, {counted(len(found), "run")}</h1>',
        f'<p class="soft">{tally(found)}</p>',
        _overview(tested),
        *(part for index, one in enumerate(tested) for part in _scenario(index, one)),
        f"<footer><p>{escape(', '.join(f'{name} {version}' for name, version in versions.items()))}</p></footer>",
    ]
    # The title should identify the page years later.
    title = escape(f"{worst}: {', '.join(one.scenario.name for one in tested)}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # The page must not load anything, whatever the names of a world contain.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{style}</style></head><body>{''.join(parts)}<script>{script}</script></body></html>\n"
    )


def _overview(tested: Sequence[Tested]) -> str:
    rows = []
    for index, one in enumerate(tested):
        worst, runs = one.worst, len(one.certificates)
        margins = [each.robustness for each in one.certificates if each.robustness is not None]
        least = f"{min(margins):.4g}" if margins else ""
        rows.append(
            f'<tr><td><b class="{worst}">{worst}</b></td><td><a href="#s{index}">{_text(one.scenario.name)}</a></td>'
            f'<td class="n">{runs - len(one.failed)} of {runs}</td><td class="n">{least}</td></tr>'
        )
    head = '<tr><th>Verdict</th><th>Scenario</th><th class="n">Passed</th><th class="n">Least robustness</th></tr>'
    return f"<table>{head}{''.join(rows)}</table>"


def _scenario(index: int, one: Tested) -> Iterator[str]:
    expect = expect_of(one.world)
    assert expect is not None
    about = one.scenario.about
    yield f'<section id="s{index}"><h2>{_text(one.scenario.name)}</h2>'
    if about:
        yield f"<p>{_text(about)}</p>"
    if len(one.certificates) > 1:
        yield from _statistics(one)
    for certificate in _shown(one):
        yield from _run(one, certificate, expect)
    yield "</section>"


def _statistics(one: Tested) -> Iterator[str]:
    certificates = one.certificates
    passed = len(certificates) - len(one.failed)
    rate, low, high = pass_rate(passed, len(certificates))
    yield (
        f"<p>{passed} of {len(certificates)} runs passed: <b>{rate:.2%}</b>, "
        f"and with 95 % confidence {low:.2%} to {high:.2%} of all such runs do.</p>"
        f'<div class="rate"><div style="width:{100 * rate:.2f}%"></div></div>'
    )
    judged = [each for each in certificates if each.robustness is not None]
    for path in judged[0].values if judged else ():
        plot = scatter(
            [each.values[path] for each in judged],
            [each.robustness or 0.0 for each in judged],
            [each.verdict for each in judged],
            path,
        )
        yield f"<figure><figcaption>Robustness against <b>{_text(path)}</b></figcaption>{plot}</figure>"
    worst = sorted(certificates, key=_badness)[:MAX_WORST]
    rows = "".join(
        f'<tr><td><b class="{each.verdict}">{each.verdict}</b></td><td class="n">{each.case}</td>'
        f'<td class="n">{"" if each.robustness is None else f"{each.robustness:.4g}"}</td></tr>'
        f'<tr><td colspan="3">{_text(each.reason)}'
        f'<div class="soft">{_varied(each)}</div></td></tr>'
        for each in worst
    )
    head = '<tr><th>Verdict</th><th class="n">Run</th><th class="n">Robustness</th></tr>'
    yield f"<h3>Worst runs</h3><table>{head}{rows}</table>"


def _varied(certificate: Certificate) -> str:
    return _text(", ".join(f"{path} = {value:.6g}" for path, value in certificate.values.items()))


def _badness(certificate: Certificate) -> tuple[int, float]:
    robustness = -math.inf if certificate.robustness is None else certificate.robustness
    return VERDICTS.index(certificate.verdict), robustness


def _shown(one: Tested) -> list[Certificate]:
    """Return the runs to show in full: the worst of those that did not pass, and one that did."""
    judged = sorted((each for each in one.certificates if each.digest), key=_badness)
    bad = [each for each in judged if each.verdict != PASS][:MAX_SHOWN]
    good = [each for each in judged if each.verdict == PASS][:1]
    return [*bad, *good]


def _run(one: Tested, certificate: Certificate, expect: Expect) -> Iterator[str]:
    """Yield a run: the finding for each expectation with its signals, the paths, and the log."""
    tracks: list[Tracks] = []
    run = run_again(one.world, certificate, watch=lambda simulation: tracks.append(Tracks(simulation)))
    verdict = run.verdict
    name = f"Run {certificate.case}, seed {certificate.seed}"
    yield f'<h3>{name}: <b class="{verdict.verdict}">{verdict.verdict}</b></h3>'
    if verdict.reason:
        yield f"<p>{_text(verdict.reason)}</p>"
    if run.events:
        yield _events(run)
    for expectation, finding in zip(expect.must, verdict.findings, strict=True):
        yield _finding(finding, expected(expectation.formula), run)
    first = verdict.first
    drawn = tracks[0].paths(None if first is None else first.violated_at)
    if drawn:
        data = escape(json.dumps(drawn, separators=(",", ":")), quote=True)
        yield (
            "<figure><figcaption>Paths; drag to turn</figcaption>"
            f'<canvas tabindex="0" aria-label="paths in 3D" data-paths="{data}"></canvas></figure>'
        )
    yield f"<details><summary>Log</summary><pre>{_text_lines(_log(run))}</pre></details>"
    yield f"<pre>{_text_lines([*filter(None, (one.again(certificate.case), one.view(certificate)))])}</pre>"


def _events(run: JudgedRun) -> str:
    """Return the events, numbered as in the plots."""
    rows = "".join(
        f'<tr><td class="n">{number}</td><td class="n">{each.time_ns * 1e-9:.6g} s</td><td>{_text(each.event)}</td>'
        f"<td>{_ERROR if each.error else ''}{_text(each.text)}</td></tr>"
        for number, each in enumerate(run.events[:MAX_EVENTS], 1)
    )
    more = len(run.events) - MAX_EVENTS
    rest = f'<p class="soft">and {counted(more, "more event")}</p>' if more > 0 else ""
    head = '<tr><th class="n">No.</th><th class="n">Time</th><th>Event</th><th></th></tr>'
    opened = " open" if any(each.error for each in run.events) else ""
    return (
        f"<details{opened}><summary>{counted(len(run.events), 'event')}</summary>"
        f"<table>{head}{rows}</table>{rest}</details>"
    )


def _marks(run: JudgedRun) -> list[tuple[float, int, int]]:
    """Return the instants of events, with their first and last number."""
    found: dict[int, list[int]] = {}
    for number, each in enumerate(run.events[:MAX_EVENTS], 1):
        found.setdefault(each.time_ns, []).append(number)
    return [(at * 1e-9, some[0], some[-1]) for at, some in list(found.items())[:MAX_MARKS]]


def _finding(finding: VerdictFinding, formula: Formula, run: JudgedRun) -> str:
    """Return an expectation with its signals, with one plot for each unit."""
    amount = f", robustness {finding.robustness:.4g}" if math.isfinite(finding.robustness) else ""
    head = f'<b class="{finding.verdict}">{finding.verdict}</b> <b>{_text(finding.title)}</b>{amount}'
    units: dict[str, list[str]] = {}
    for name in signals_of(formula):
        kind = kind_of(name)
        units.setdefault(kind.unit if kind else "", []).append(name)
    plots = []
    for unit, names in units.items():
        lines = [(name, run.samples[name]) for name in names]
        limits = [limit for name in names for limit in _limits(formula, name)]
        if any(kind is not None and kind.truth for kind in map(kind_of, names)):
            limits += [0.0, 1.0]
        legend = ", ".join(f'<span class="c{index % 4}">{_text(name)}</span>' for index, name in enumerate(names))
        plots.append(f"<figcaption>{legend}{f', {escape(unit)}' if unit else ''}</figcaption>")
        plots.append(signal_plot(run.times, lines, limits, finding.violated_at, _marks(run)))
    return f"<figure><figcaption>{head}</figcaption>{''.join(plots)}</figure>"


def _limits(formula: Formula, signal: str) -> list[float]:
    """Return the numbers with which a formula compares a signal."""
    found = []
    for part in walk(formula):
        if isinstance(part, Compared):
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, SignalTerm) and one.name == signal and isinstance(other, NumberTerm):
                    found.append(other.value)
    return list(dict.fromkeys(found))


def _log(run: JudgedRun) -> list[str]:
    """Return the messages, events and violations of the run in chronological order."""
    events = ((each.time_ns * 1e-9, each.line) for each in run.events)
    lines = [
        *run.log,
        *events,
        *((each.violated_at or 0.0, each.reason) for each in run.verdict.findings if each.reason),
    ]
    end = float(run.times[-1]) if len(run.times) else 0.0
    return [f"{at:10.3f} s  {text}" for at, text in [*sorted(lines), (end, run.verdict.ended or "end of the run")]]


class Tracks:
    """Positions of the moving frames of a run: vehicles and bases, or else bodies, or else other moving frames.

    Args:
        simulation: The run, before its start.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._names = tracked(simulation.world, simulation)[:MAX_FRAMES]
        self._start_s = simulation.world.time.start_ns * 1e-9
        step_ns = simulation.world.time.step_ns
        self._period_ns = max(1, round(20e6 / step_ns)) * step_ns
        signals = [f"{axis}({name})" for name in self._names for axis in "xyz"]
        self._recorder = SignalRecorder(simulation, signals, self._period_ns, {}) if signals else None
        if self._recorder is not None:
            simulation.connect(self._recorder)
            self._recorder.begin()

    def paths(self, violated_at: float | None) -> list[dict[str, object]]:
        """Return the path of each frame, and its position at an instant (s), as data for the page."""
        values = {} if self._recorder is None else self._recorder.values()
        found: list[dict[str, object]] = []
        for name in self._names:
            points = np.stack([values[f"{axis}({name})"] for axis in "xyz"], axis=1)
            points = points[np.isfinite(points).all(axis=1)]
            if not len(points):
                continue
            path: dict[str, object] = {"name": printable(name), "points": _rounded(_evenly(points))}
            if violated_at is not None:
                row = min(len(points) - 1, round((violated_at - self._start_s) * 1e9 / self._period_ns))
                path["violated"] = _rounded(points[row : row + 1])[0]
            found.append(path)
        return found


def tracked(world: World, simulation: Simulation) -> list[str]:
    """Return the frames whose paths are shown."""
    own = [*(vehicle.body for vehicle in world.vehicles), *(base.body for base in world.bases)]
    frames = simulation.frames
    coordinates = simulation.columns.column("qpos").entities or () if "qpos" in simulation.columns else ()
    free = [name.removesuffix(".qw") for name in coordinates if name.endswith(".qw")]
    moving = [name for name, static in zip(frames.names, frames.static, strict=True) if not static]
    plain = [name for name in own or free or moving if name in frames.names and not set("(),") & set(name)]
    return list(dict.fromkeys(plain))


def _evenly(points: FloatArray) -> FloatArray:
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), MAX_POINTS)).round().astype(int))
    return np.asarray(points[chosen])


def _rounded(points: FloatArray) -> list[list[float]]:
    return [[float(f"{value:.5g}") for value in point] for point in points.tolist()]


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _text_lines(lines: Sequence[str]) -> str:
    return "\n".join(_text(line) for each in lines for line in each.split("\n"))


# The normal quantile of a two-sided 95 % interval.
_Z = 1.959963984540054


def pass_rate(passed: int, runs: int) -> tuple[float, float, float]:
    """Return the pass rate and its 95 % confidence interval by Wilson's score (1927).

    Unlike the normal approximation, the interval stays within 0 and 1, and has a nonzero width if all runs passed.
    """
    if not runs:
        return math.nan, 0.0, 1.0
    rate, square = passed / runs, _Z * _Z / runs
    middle = (rate + square / 2.0) / (1.0 + square)
    half = _Z / (1.0 + square) * math.sqrt(rate * (1.0 - rate) / runs + square / (4.0 * runs))
    return rate, max(0.0, middle - half), min(1.0, middle + half)
