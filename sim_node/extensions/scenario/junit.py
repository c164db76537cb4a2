"""Verdicts as JUnit XML for CI servers: a test suite for each scenario, a test case for each run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from sim_node.extensions.scenario.testing import Tested
from sim_node.extensions.scenario.verdicts import ERROR, FAIL
from sim_node.text import printable

_TAGS = {FAIL: "failure", ERROR: "error"}


def junit(tested: Sequence[Tested]) -> str:
    """Return the XML of scenarios and their runs. Times are simulated times, so that equal runs give equal files."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for one in tested:
        verdicts = [each.verdict for each in one.certificates]
        counts = f'tests="{len(verdicts)}" failures="{verdicts.count(FAIL)}" errors="{verdicts.count(ERROR)}"'
        lines.append(f"  <testsuite name={_text(one.scenario.name)} {counts}>")
        for each in one.certificates:
            of = f"name={_text(f'run {each.case}, seed {each.seed}')} classname={_text(one.scenario.name)}"
            head = f'    <testcase {of} time="{each.duration_ns * 1e-9:g}"'
            if each.verdict not in _TAGS:
                lines.append(f"{head}/>")
                continue
            again = f"sim_node test --again {one.file}:{each.case}"
            lines.append(f"{head}>")
            lines.append(f"      <{_TAGS[each.verdict]} message={_text(each.reason)} type={_text(each.violated)}/>")
            lines.append(f"      <system-out>{escape(printable(again))}</system-out>")
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _text(text: str) -> str:
    return quoteattr(printable(text))
