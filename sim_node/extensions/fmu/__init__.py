"""Functional Mock-up Units (FMI 2 and 3): models of other tools that step with a run, each in its own process."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.extensions.fmu.description import Description as Description
    from sim_node.extensions.fmu.description import FmuFault as FmuFault
    from sim_node.extensions.fmu.description import description_of as description_of
    from sim_node.extensions.fmu.engine import FmuHandle as FmuHandle
    from sim_node.extensions.fmu.engine import fmus_of as fmus_of
    from sim_node.extensions.fmu.engine import start_fmus as start_fmus
    from sim_node.extensions.fmu.part import Fmu as Fmu
    from sim_node.extensions.fmu.part import FmuFrame as FmuFrame
    from sim_node.extensions.fmu.part import FmuInput as FmuInput
