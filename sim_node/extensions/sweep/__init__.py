"""Sweeps: many cases of a world with different parameters, on one machine or on Ray, with results as Parquet."""

from sim_node.lazy import public

with public(__name__, Run="CaseRun"):
    from sim_node.cli.arguments import seed as seed
    from sim_node.extensions.sweep.case_run import CaseRun as CaseRun
    from sim_node.extensions.sweep.command import Bar as Bar
    from sim_node.extensions.sweep.components import varied as varied
    from sim_node.extensions.sweep.dataset import DatasetFault as DatasetFault
    from sim_node.extensions.sweep.dataset import read as read
    from sim_node.extensions.sweep.driver import Driver as Driver
    from sim_node.extensions.sweep.driver import run as run
    from sim_node.extensions.sweep.engine import SWEEP_ENGINES as SWEEP_ENGINES
    from sim_node.extensions.sweep.engine import EngineFault as EngineFault
    from sim_node.extensions.sweep.engine import Finished as Finished
    from sim_node.extensions.sweep.engine import SweepEngine as SweepEngine
    from sim_node.extensions.sweep.engine import sweep_engine as sweep_engine
    from sim_node.extensions.sweep.functions import records as records
    from sim_node.extensions.sweep.job import Case as Case
    from sim_node.extensions.sweep.job import Cases as Cases
    from sim_node.extensions.sweep.job import Keep as Keep
    from sim_node.extensions.sweep.job import Outcome as Outcome
    from sim_node.extensions.sweep.measures import MEASURES as MEASURES
    from sim_node.extensions.sweep.measures import Measure as Measure
    from sim_node.extensions.sweep.measures import measure as measure
    from sim_node.extensions.sweep.options import add_vary as add_vary
    from sim_node.extensions.sweep.options import count as count
    from sim_node.extensions.sweep.options import variation_option as variation_option
    from sim_node.extensions.sweep.signals import MeasureFault as MeasureFault
    from sim_node.extensions.sweep.signals import signal as signal
    from sim_node.extensions.sweep.study import Prepared as Prepared
    from sim_node.extensions.sweep.study import Study as Study
    from sim_node.extensions.sweep.study import prepare as prepare
    from sim_node.extensions.sweep.variations import USAGE as USAGE
    from sim_node.extensions.sweep.variations import Variation as Variation
    from sim_node.extensions.sweep.variations import quantiles as quantiles
    from sim_node.extensions.sweep.variations import variation as variation
    from sim_node.extensions.sweep.worker import CaseWorker as CaseWorker
