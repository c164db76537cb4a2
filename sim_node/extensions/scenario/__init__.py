"""Scenarios: events of a run, expectations on it, and reproducible verdicts."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.extensions.scenario.expectations import Expect as Expect
    from sim_node.extensions.scenario.expectations import Expectation as Expectation
    from sim_node.extensions.scenario.formula_error import FormulaError as FormulaError
    from sim_node.extensions.scenario.formulas import robustness as robustness
    from sim_node.extensions.scenario.runs import JudgedRun as JudgedRun
    from sim_node.extensions.scenario.runs import run_alone as run_alone
    from sim_node.extensions.scenario.sampling import SignalCondition as SignalCondition
    from sim_node.extensions.scenario.sampling import SignalRecorder as SignalRecorder
    from sim_node.extensions.scenario.signals import SIGNALS as SIGNALS
    from sim_node.extensions.scenario.signals import SignalKind as SignalKind
    from sim_node.extensions.scenario.signals import SignalReading as SignalReading
    from sim_node.extensions.scenario.signals import formula as formula
    from sim_node.extensions.scenario.signals import signal_kind as signal_kind
    from sim_node.extensions.scenario.verdicts import Verdict as Verdict
    from sim_node.extensions.scenario.verdicts import VerdictFinding as VerdictFinding
    from sim_node.extensions.scenario.verdicts import judge as judge
    from sim_node.extensions.scenario.zones import Zone as Zone
