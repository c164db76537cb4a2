"""Sweeps: many cases of a world with numbers that differ, on one machine or on Ray, with their results as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.sweep.case_run import Run
    from sim_node.sweep.dataset import DatasetFault, read
    from sim_node.sweep.driver import run
    from sim_node.sweep.engine import SWEEP_ENGINES, EngineFault, SweepEngine, sweep_engine
    from sim_node.sweep.functions import records
    from sim_node.sweep.job import Keep
    from sim_node.sweep.measures import MEASURES, Measure, measure
    from sim_node.sweep.signals import MeasureFault

__all__ = [
    "MEASURES",
    "SWEEP_ENGINES",
    "DatasetFault",
    "EngineFault",
    "Keep",
    "Measure",
    "MeasureFault",
    "Run",
    "SweepEngine",
    "measure",
    "read",
    "records",
    "run",
    "sweep_engine",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "MEASURES": "measures",
        "SWEEP_ENGINES": "engine",
        "DatasetFault": "dataset",
        "SweepEngine": "engine",
        "EngineFault": "engine",
        "Keep": "job",
        "Measure": "measures",
        "MeasureFault": "signals",
        "Run": "case_run",
        "measure": "measures",
        "read": "dataset",
        "records": "functions",
        "run": "driver",
        "sweep_engine": "engine",
    },
)
